"""The dispatcher: sends steps to workers, and queues lost steps again."""
