"""The progress of a class in an assignment, for course staff."""
