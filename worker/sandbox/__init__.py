"""The sandbox: runs one step of a job in a new process without files, network or other processes.

Imports nothing, because each child imports this package, and every submission waits for its start.
"""
