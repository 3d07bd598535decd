"""Leaderboards, one for each assignment and device class."""
