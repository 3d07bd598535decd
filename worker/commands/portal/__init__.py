"""Verbs that talk to a course's portal."""
