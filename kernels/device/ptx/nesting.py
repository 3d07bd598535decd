"""How deep in branches an instruction stands, as far as control flow tells."""

from __future__ import annotations

from kernels.device.ptx.dataflow import successors
from kernels.device.ptx.program import Program

_MOST_BLOCKS = 1_000


def branch_depth(program: Program, pc: int) -> int:
    """How many branches decide whether control comes to an instruction; 0 in programs too large to look at.

    A branch decides if one of its ways always leads there and another may lead past it; whatever decides about that
    branch decides too.
    """
    blocks = program.blocks
    if len(blocks) > _MOST_BLOCKS:
        return 0
    index_of = {block.start: at for at, block in enumerate(blocks)}
    ways = [successors(program, block, index_of) for block in blocks]
    waiting = [next(at for at, block in enumerate(blocks) if block.start <= pc < block.end)]
    found: set[int] = set()
    while waiting:
        always = _always_reach(ways, waiting.pop())
        for at, after in enumerate(ways):
            reached = {always[way] for way in after}
            if len(reached) == 2 and at not in found:
                found.add(at)
                waiting.append(at)
    return len(found)


def _always_reach(ways: list[list[int]], here: int) -> list[bool]:
    """For each block whether every way from it comes to the block `here`; loops are taken to end."""
    reaches = [True] * len(ways)
    changed = True
    while changed:
        changed = False
        for at in range(len(ways) - 1, -1, -1):
            now = at == here or (bool(ways[at]) and all(reaches[way] for way in ways[at]))
            if now != reaches[at]:
                reaches[at] = now
                changed = True
    return reaches
