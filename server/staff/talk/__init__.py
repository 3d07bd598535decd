"""Staff pages of what course staff and students write to each other."""
