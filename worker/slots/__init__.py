"""A worker: the parent process that tests the machine, and its slots."""
