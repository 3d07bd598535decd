"""Similar submissions of the students of a course."""
