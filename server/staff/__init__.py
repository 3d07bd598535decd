"""The desk of a course's staff: roster, assignments, submissions, grades, and what was done by whom."""
