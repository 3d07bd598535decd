"""Processes that are kept alive: parts with their output and their beats, restarted when they die or hang."""
