"""Courses, who is in them, and what is to be handed in."""
