"""Assignments: settings, due times, extensions, and the page on which a student submits."""
