"""Experiments on one machine: each point is graded once, and its result is kept in a folder."""
