"""One attempt at one step: the task from its message to a result that somebody has confirmed."""
