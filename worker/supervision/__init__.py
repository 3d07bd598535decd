"""Supervised processes ("parts") with their output and heartbeats, restarted when they die or hang."""
