"""A run in which each value is followed from its source to the output."""
