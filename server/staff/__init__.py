"""Pages for course staff: roster, assignments, submissions, grades, audit."""
