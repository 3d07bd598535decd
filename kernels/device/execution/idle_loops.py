"""Loops that only wait: as long as other threads do nothing, each round is like the one before."""

from __future__ import annotations

import re

from kernels.device.ptx.module import Register
from kernels.device.ptx.program import Program, reads, results
from kernels.device.state.operands import CLOCK

_ACTS = re.compile(
    r"st|atom|red|cp|bar|barrier|call|wgmma|wmma|mma|stmatrix|trap|brkpt|ret|exit|refuse|mbarrier\.(?!(test|try)_wait)"
)


def only_waits(program: Program, first: int, last: int) -> bool:
    """Whether the loop of these instructions has no effect, and nothing changes from round to round."""
    region = program.instructions[first : last + 1]
    written = {name for item in region for name in results(item)}
    known: set[str] = set()
    for item in region:
        clock = any(isinstance(each, Register) and CLOCK.fullmatch(each.name) for each in item.operands)
        if clock or _ACTS.match(item.opcode + ".") or not known.issuperset(written.intersection(reads(item))):
            return False
        if item.guard is None:
            known.update(results(item))
    return True
