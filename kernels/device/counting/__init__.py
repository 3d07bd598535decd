"""A run in which everything is counted."""
