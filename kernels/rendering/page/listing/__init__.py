"""The source with its margin."""
