"""Find lines that may behave differently in any block, so that all blocks have to run.

Usually all decisions and addresses of a kernel change linearly with the block's position in the grid. Then the blocks
at the ends of a row show what the blocks between them do.

This fails if a decision depends on a loaded value, a division, a remainder or an equality. Then any block may be
different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum

from kernels.device.ptx.module import Address, Immediate, Instruction, Operand, Register
from kernels.device.ptx.program import Program


class Kind(IntEnum):
    """How a value depends on the block's position."""

    SAME = 0
    EVEN = 1
    ODD = 2


_MEMORY = re.compile(r"(ld|ldu|st|atom|red|cp)\.")
_FETCHES = re.compile(r"(ld|ldu|atom|wmma\.load|ldmatrix)\.(?!param\b)")
_SPECIAL = {"%ctaid": Kind.EVEN, "%clock": Kind.ODD, "%clock64": Kind.ODD, "%globaltimer": Kind.ODD}
_SUMS = re.compile(
    r"(mov|cvt|cvta|neg|add|sub|min|max|selp|ld\.param|st\.param)\.|(not|and|or)\.pred"
    r"|setp\.(lt|le|gt|ge|lo|ls|hi|hs)\b"
)
_PRODUCTS = re.compile(r"(mul|mad)(24)?\.(lo|wide)\b|(mul|fma)\.(rn|f)|shl\.|or\.b")
"""Compilers add numbers without common bits with a bitwise "or"."""

_LARGE = 2**24


def unforeseen_lines(program: Program) -> frozenset[int | None]:
    """Return the lines that decide, or compute an address, in a way that may single out any block."""
    kinds = _kinds(program)
    return frozenset(
        item.line
        for item in program.instructions
        if any(kinds.get(name, Kind.SAME) is Kind.ODD for name in _deciding(item))
    )


def _deciding(item: Instruction) -> Iterator[str]:
    """Yield the registers that decide whether, where or how much an instruction does."""
    if item.guard is not None:
        yield item.guard.register.name
    if item.opcode.startswith("brx"):
        yield from item.reads
    if _MEMORY.match(item.opcode):
        for operand in item.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register):
                yield operand.base.name
    if item.opcode.startswith("cp.") and len(item.operands) > 3:
        yield from _names(item.operands[3])


def _kinds(program: Program) -> dict[str, Kind]:
    """Return the kind of each register, and of each variable that passes a call's arguments, by name."""
    readers: dict[str, list[Instruction]] = {}
    for item in program.instructions:
        for name in _sources(item):
            readers.setdefault(name, []).append(item)
    kinds: dict[str, Kind] = {}
    waiting = list(program.instructions)
    while waiting:
        item = waiting.pop()
        kind = _kind(item, kinds)
        for name in _targets(item):
            if kind > kinds.get(name, Kind.SAME):
                kinds[name] = kind
                waiting += readers.get(name, ())
    return kinds


def _targets(item: Instruction) -> tuple[str, ...]:
    if item.opcode.startswith("st.param"):
        return _names(item.operands[0])
    return item.results


def _sources(item: Instruction) -> tuple[str, ...]:
    if item.opcode.startswith("ld.param"):
        return _names(item.operands[1])
    return item.reads


def _names(operand: Operand) -> tuple[str, ...]:
    if isinstance(operand, Address):
        return () if operand.base is None else (operand.base.name,)
    return (operand.name.lstrip("!"),) if isinstance(operand, Register) else ()


def _kind(item: Instruction, kinds: Mapping[str, Kind]) -> Kind:
    """Return the kind of an instruction's results, from its sources and its guard."""
    opcode = item.opcode
    each = [_of(name, kinds) for name in _sources(item)]
    each += [_SPECIAL.get(name.split(".")[0], Kind.SAME) for operand in item.operands for name in _names(operand)]
    most = max(each, default=Kind.SAME)
    if _FETCHES.match(opcode):
        constant = opcode.startswith("ld.const") and most is Kind.SAME
        return Kind.SAME if constant else Kind.ODD
    if most is not Kind.EVEN or _SUMS.match(opcode) or (_PRODUCTS.match(opcode) and not _jumps(item, kinds)):
        return most
    return Kind.ODD


def _jumps(item: Instruction, kinds: Mapping[str, Kind]) -> bool:
    """Whether a product is not linear, although its factors are.

    This happens if both factors depend on the block. It also happens if one factor is so large that products wrap, as
    in a compiler's test for multiples. For a shift, it happens if the number of bits depends on the block.
    """
    factors = item.operands[1:3]
    first, second = (max((_of(name, kinds) for name in _names(factor)), default=Kind.SAME) for factor in factors)
    wraps = any(isinstance(factor, Immediate) and abs(factor.value) >= _LARGE for factor in factors)
    return wraps or (second is not Kind.SAME and (first is not Kind.SAME or item.opcode.startswith("shl")))


def _of(name: str, kinds: Mapping[str, Kind]) -> Kind:
    return kinds.get(name, Kind.SAME)
