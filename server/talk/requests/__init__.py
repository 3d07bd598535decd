"""Regrade requests of students."""
