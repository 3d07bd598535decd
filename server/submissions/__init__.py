"""Submissions: their limits, acceptance, progress and results."""
