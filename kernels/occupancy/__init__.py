"""How many blocks and warps a multiprocessor holds, and what limits their number."""

from __future__ import annotations

from kernels.occupancy.calculation import (
    LIMITS,
    STATIC_SHARED,
    Limits,
    Occupancy,
    Resource,
    UnknownCapability,
    blocks_per_multiprocessor,
    limits_of,
    occupancy,
    resource_title,
)

__all__ = [
    "LIMITS",
    "STATIC_SHARED",
    "Limits",
    "Occupancy",
    "Resource",
    "UnknownCapability",
    "blocks_per_multiprocessor",
    "limits_of",
    "occupancy",
    "resource_title",
]
