"""Which neighbouring accesses the assembler may make one of."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.device.program import Program


@dataclass(frozen=True, slots=True)
class Merge:
    """Accesses by one address register that together are `width` bytes from `displacement` on.

    pcs: the instructions in the order in which they run
    """

    pcs: tuple[int, ...]
    displacement: int
    width: int


def candidates(program: Program) -> tuple[Merge, ...]:
    """All groups of two and of four that may become one access."""
    return ()
