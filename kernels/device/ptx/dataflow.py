"""Facts about registers without running: which may be read unset, and which are used inside one block only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernels.device.ptx.module import Symbol
from kernels.device.ptx.program import Block, Program, is_jump


@lru_cache(maxsize=8)
def maybe_unset(program: Program) -> frozenset[str]:
    """Return the registers that some path reads without writing them first.

    Few correct kernels have such registers. So the device follows only these at run time, not all.
    """
    inside = block_local(program)
    crossing = {name: bit for bit, name in enumerate(sorted(set(program.registers) - inside))}
    index_of = {block.start: at for at, block in enumerate(program.blocks)}
    written = [_written(program, block, crossing) for block in program.blocks]
    unset: dict[int, int] = {0: (1 << len(crossing)) - 1}
    waiting = [0]
    while waiting:
        at = waiting.pop()
        leaving = unset[at] & ~written[at]
        for successor in successors(program, program.blocks[at], index_of):
            before = unset.get(successor)
            if before is None or before | leaving != before:
                unset[successor] = (before or 0) | leaving
                waiting.append(successor)
    found: set[str] = set()
    for at, mask in unset.items():
        _unset_reads(program, program.blocks[at], mask, crossing, found)
    return frozenset(found)


def _written(program: Program, block: Block, crossing: Mapping[str, int]) -> int:
    mask = 0
    for instruction in program.instructions[block.start : block.end]:
        if instruction.guard is None:
            for name in instruction.results:
                if name in crossing:
                    mask |= 1 << crossing[name]
    return mask


def _unset_reads(program: Program, block: Block, unset: int, crossing: Mapping[str, int], found: set[str]) -> None:
    for instruction in program.instructions[block.start : block.end]:
        for name in instruction.reads:
            if name in crossing and unset >> crossing[name] & 1:
                found.add(name)
        if instruction.guard is None:
            for name in instruction.results:
                if name in crossing:
                    unset &= ~(1 << crossing[name])


def successors(program: Program, block: Block, index_of: Mapping[int, int]) -> list[int]:
    """Return the numbers of the blocks to which control may go from a block."""
    last = program.instructions[block.end - 1]
    found: list[int] = []
    if last.head == "bra":
        found += [program.targets[operand.name] for operand in last.operands if isinstance(operand, Symbol)]
    elif last.head == "brx":
        for each in last.operands:
            if isinstance(each, Symbol) and each.name in program.tables:
                found += [program.targets[label] for label in program.tables[each.name]]
    if not is_jump(last) or last.guard is not None:
        found.append(block.end)
    return [index_of[start] for start in found if start in index_of]


@lru_cache(maxsize=8)
def block_local(program: Program) -> frozenset[str]:
    """Return the registers that only one block uses, and that it writes before it reads.

    Threads that don't run the block never read such a register, so a write need not keep their value.
    """
    home: dict[str, int] = {}
    shared: set[str] = set()
    for at, block in enumerate(program.blocks):
        written: set[str] = set()
        for instruction in program.instructions[block.start : block.end]:
            for name in instruction.reads:
                if name not in written:
                    shared.add(name)
            for name in instruction.results:
                if home.setdefault(name, at) != at:
                    shared.add(name)
                if instruction.guard is None:
                    written.add(name)
                elif name not in written:
                    shared.add(name)
    return frozenset(name for name in home if name not in shared)
