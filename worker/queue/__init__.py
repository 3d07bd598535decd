"""A worker's attempt at a step: the task, from the message to a confirmed result."""
