"""Execution of a program: blocks in chunks, threads in lanes, one step after the other."""
