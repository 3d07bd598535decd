"""Runs jobs: the sandbox that a student's code is compiled and run in, and the commands around it."""
