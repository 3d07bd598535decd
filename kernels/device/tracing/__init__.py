"""A run that is followed value by value."""
