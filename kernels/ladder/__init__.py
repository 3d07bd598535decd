"""Reference kernels from the slowest to the fastest, and where a speed stands among them."""

from __future__ import annotations

from kernels.ladder.table import Figures, Ladder, LadderError, Rung, parse_ladder, place, read_ladder

__all__ = [
    "Figures",
    "Ladder",
    "LadderError",
    "Rung",
    "parse_ladder",
    "place",
    "read_ladder",
]
