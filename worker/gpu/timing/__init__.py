"""Timing of launches, and checks whether the times are plausible."""
