"""Assignments, extensions, updates of exercises."""
