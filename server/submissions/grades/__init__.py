"""A student's grade for an assignment."""
