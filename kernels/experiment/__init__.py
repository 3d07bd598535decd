"""Experiments: one thing is varied, and each point is graded, counted and measured."""
