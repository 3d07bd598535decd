"""What course staff and students write to each other."""
