"""Where a slot does its steps: on this machine's CPU, or on one GPU."""
