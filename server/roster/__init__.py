"""The people of a course, for its staff."""
