"""Loops that only wait: as long as other threads do nothing, each round is like the one before."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from kernels.device.ptx.module import Immediate, Instruction, Operand, Register, Symbol
from kernels.device.ptx.program import Program
from kernels.device.state.operands import CLOCK

_ACTS = re.compile(
    r"st|atom|red|cp|bar|barrier|call|wgmma|wmma|mma|stmatrix|trap|brkpt|ret|exit|refuse|mbarrier\.(?!(test|try)_wait)"
)
_WAIT = re.compile(r"mbarrier\.(test|try)_wait\b")
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {"setp.eq": operator.eq, "setp.ne": operator.ne}
_LONGEST_WAY = 200
_LOADS = {"ld", "mbarrier"}


def only_waits(program: Program, first: int, last: int) -> bool:
    """Whether the loop of these instructions has no effect, and nothing changes from round to round."""
    region = program.instructions[first : last + 1]
    written = {name for item in region for name in item.results}
    known: set[str] = set()
    for item in region:
        clock = any(isinstance(each, Register) and CLOCK.fullmatch(each.name) for each in item.operands)
        if clock or _ACTS.match(item.opcode + ".") or not known.issuperset(written.intersection(item.reads)):
            return False
        if item.guard is None:
            known.update(item.results)
    return True


@lru_cache(maxsize=8)
def looks(program: Program) -> frozenset[int]:
    """Return the waits for barriers in shared memory that aren't simply repeated until they succeed."""
    waits = (pc for pc, item in enumerate(program.instructions) if _WAIT.match(item.opcode))
    return frozenset(pc for pc in waits if not _only_repeats(program, pc))


def _only_repeats(program: Program, wait: int) -> bool:
    """Whether all ways from the failure of a wait lead back to it, and nothing shows how often it failed."""
    items = program.instructions
    ways = [(wait + 1, dict.fromkeys(items[wait].results, 0))]
    passed: set[tuple[int, frozenset[tuple[str, int]]]] = set()
    while ways:
        pc, known = ways.pop()
        way = pc, frozenset(known.items())
        if pc == wait or way in passed:
            continue
        passed.add(way)
        if len(passed) > _LONGEST_WAY or pc == len(items) or _ACTS.match(items[pc].opcode + "."):
            return False
        ways += _ways(program, pc, known)
    loop = {pc for pc, _ in passed}
    changing = _changing([items[pc] for pc in sorted(loop)])
    return all(changing.isdisjoint(item.reads) for pc, item in enumerate(items) if pc not in loop)


def _changing(loop: Sequence[Instruction]) -> set[str]:
    """Return the registers that don't have the same values in each round of a loop, perhaps computed again."""
    makers: dict[str, list[Instruction]] = {}
    for item in loop:
        for name in item.results:
            makers.setdefault(name, []).append(item)
    left = {name: made[0] for name, made in makers.items() if len(made) == 1 and made[0].head not in _LOADS}
    changing = set(makers)
    while same := [name for name, item in left.items() if changing.isdisjoint(item.reads)]:
        changing.difference_update(same)
        left = {name: item for name, item in left.items() if name in changing}
    return changing


def _ways(program: Program, pc: int, known: dict[str, int]) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield where a thread may go on, with the values that it then knows."""
    item = program.instructions[pc]
    guard = None if item.guard is None else known.get(item.guard.register.name)
    may = item.guard is None or guard is None or bool(guard) != item.guard.negated
    must = may and (item.guard is None or guard is not None)
    if item.head in {"bra", "brx"}:
        names = [each.name for each in item.operands if may and isinstance(each, Symbol)]
        for label in (label for name in names for label in program.tables.get(name, (name,))):
            yield program.targets[label], known
        if not must:
            yield pc + 1, known
        return
    changed = item.results if may else ()
    left = {name: value for name, value in known.items() if name not in changed}
    if must and (value := _value(item, known)) is not None:
        left |= dict.fromkeys(changed, value)
    yield pc + 1, left


def _value(item: Instruction, known: Mapping[str, int]) -> int | None:
    """Return the result of an instruction, if it follows from these values."""
    values = [_constant(each, known) for each in item.operands[1:]]
    if item.head == "selp":
        one, other, condition = values
        return None if condition is None else one if condition else other
    if item.head == "mov":
        return values[0]
    compare = _COMPARISONS.get(item.opcode.rpartition(".")[0])
    if compare is None or len(values) != 2:
        return None
    one, other = values
    return None if one is None or other is None else int(compare(one, other))


def _constant(operand: Operand, known: Mapping[str, int]) -> int | None:
    if isinstance(operand, Immediate):
        return operand.value
    return known.get(operand.name) if isinstance(operand, Register) else None
