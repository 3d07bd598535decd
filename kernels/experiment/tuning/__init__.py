"""A search for the best point of an experiment."""
