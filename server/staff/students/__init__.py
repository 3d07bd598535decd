"""One student of a course: attempts, points, extensions, notes of course staff."""
