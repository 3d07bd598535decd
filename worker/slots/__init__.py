"""A worker: the parent that tests the machine, and the slots that it keeps alive."""
