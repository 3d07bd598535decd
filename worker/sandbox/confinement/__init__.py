"""How a process gives up, for good, all that its step does not need."""
