"""Announcements of course staff."""
