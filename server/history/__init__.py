"""A student's history in an assignment: all attempts, which one counts, and comparisons of two attempts."""
