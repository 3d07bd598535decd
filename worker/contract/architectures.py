from __future__ import annotations

ARCHES = tuple(f"sm_{number}" for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
"""Oldest first."""
