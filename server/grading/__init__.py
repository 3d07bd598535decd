"""Jobs, their steps and attempts, and the queue that they form."""
