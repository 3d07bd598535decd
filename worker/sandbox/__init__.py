"""Runs one step of a job in a fresh process that can reach nothing: no file, no network, no other process.

Nothing is imported here: a child imports this package too, and its start is part of every submission's wait.
"""
