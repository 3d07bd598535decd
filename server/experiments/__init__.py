"""Runs of kernels that no student handed in."""
