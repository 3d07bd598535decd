"""The source with counts and findings at its lines."""
