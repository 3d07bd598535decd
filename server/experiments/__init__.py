"""Experiments: jobs that no student submitted."""
