"""A course's submissions: list, filter, regrade."""
