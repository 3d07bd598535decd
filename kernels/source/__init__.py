"""A submission's text, read before anything is compiled."""
