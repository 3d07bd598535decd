"""What students hand in, and how it is accepted."""
