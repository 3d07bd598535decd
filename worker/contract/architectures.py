from __future__ import annotations

ARCHES = tuple(f"sm_{number}" for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
"""Oldest first."""


def of_capability(arch: str) -> str:
    """`sm_90` for `sm_90a` too, which has instructions of this compute capability alone."""
    return arch.removesuffix("a")
