"""The reference ladder: kernels from the slowest to the fastest, and the place of a speed among them."""

from __future__ import annotations

from kernels.ladder.table import (
    Figures,
    Ladder,
    LadderError,
    Rung,
    modelled_place,
    parse_ladder,
    place,
    read_ladder,
    shipped_ladder,
)

__all__ = [
    "Figures",
    "Ladder",
    "LadderError",
    "Rung",
    "modelled_place",
    "parse_ladder",
    "place",
    "read_ladder",
    "shipped_ladder",
]
