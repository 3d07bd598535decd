"""Loads that the compiler makes for all threads, although the source makes them for some.

`t == 0 ? s[0] : 0` becomes a load by all threads, followed by a selection. A thread that doesn't select the loaded
value has not read it. This holds only if the value has no other use and the predicate doesn't depend on it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.device.ptx.dataflow import successors
from kernels.device.ptx.module import Guard, Instruction, Register
from kernels.device.ptx.program import Block, Program

_CHANGES = re.compile(r"(st|atom|red|cp|bar|barrier|membar|fence|call|mbarrier)\b")
_ORDERED = {"volatile", "relaxed", "acquire", "mmio"}


@dataclass(frozen=True, slots=True)
class Choice:
    """How a loaded value is selected: by a predicate, and the instruction to which its load may be delayed."""

    guard: Guard
    pc: int


def chosen_loads(program: Program) -> dict[int, Choice]:
    """Return the loads whose value is only used in a selection."""
    uses = Counter(name for item in program.instructions for name in item.reads)
    makers: dict[str, list[int]] = defaultdict(list)
    for pc, item in enumerate(program.instructions):
        for name in item.results:
            makers[name].append(pc)
    before = _blocks_before(program)
    found: dict[int, Choice] = {}
    for at, block in enumerate(program.blocks):
        for pc in range(block.start, block.end):
            for name, guard in _choices(program.instructions[pc]):
                if uses[name] != 1:
                    continue
                here = [maker for maker in makers[name] if block.start <= maker < pc]
                if len(here) == len(makers[name]) == 1 and _can_wait(program, here[0], pc):
                    found[here[0]] = Choice(guard, pc)
                elif not here:
                    chosen = makers[guard.register.name]
                    found |= {
                        maker: Choice(guard, maker)
                        for maker in _made_just_before(before[at], makers[name], chosen, block)
                        if _loads_one(program.instructions[maker])
                    }
    return found


def _blocks_before(program: Program) -> dict[int, list[Block]]:
    """Return the blocks from which control may come to each block, by its number."""
    index_of = {block.start: at for at, block in enumerate(program.blocks)}
    found: dict[int, list[Block]] = defaultdict(list)
    for block in program.blocks:
        for successor in successors(program, block, index_of):
            found[successor].append(block)
    return found


def _made_just_before(
    before: Sequence[Block], makers: Sequence[int], predicate: Sequence[int], block: Block
) -> list[int]:
    """Return the instructions that compute a value on every way into a block.

    None unless all ways compute it again, after the single computation of the predicate.
    """
    made = [[pc for pc in makers if each.start <= pc < each.end] for each in before]
    decided = len(predicate) == 1 and not any(each.start <= predicate[0] < each.end for each in (*before, block))
    return [pc for pcs in made for pc in pcs] if decided and all(made) else []


def _can_wait(program: Program, load: int, until: int) -> bool:
    """Whether a load may be delayed until an instruction.

    Nothing between them may change its value or its address, or be ordered with other threads.
    """
    address = set(program.instructions[load].reads)
    between = program.instructions[load + 1 : until]
    quiet = not any(_CHANGES.match(item.opcode) or _is_ordered(item) or address & set(item.results) for item in between)
    return quiet and _loads_one(program.instructions[load])


def _loads_one(item: Instruction) -> bool:
    """Whether it is a plain load of one value."""
    plain = item.opcode.startswith("ld.") and not _is_ordered(item)
    return plain and item.guard is None and len(item.results) == 1


def _is_ordered(item: Instruction) -> bool:
    return not _ORDERED.isdisjoint(item.opcode.split("."))


def _choices(item: Instruction) -> list[tuple[str, Guard]]:
    """Return the registers between which a selection chooses, each with the predicate that selects it."""
    if not item.opcode.startswith("selp.") or item.guard is not None or len(item.operands) != 4:
        return []
    _, first, second, predicate = item.operands
    if not isinstance(predicate, Register):
        return []
    return [
        (operand.name, Guard(predicate, negated))
        for operand, negated in ((first, False), (second, True))
        if isinstance(operand, Register)
    ]
