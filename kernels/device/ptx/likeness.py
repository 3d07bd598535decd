"""Where a kernel does what some blocks cannot show for the others.

Where all that a kernel decides, and all its addresses, move evenly with the place of the block in the grid, the
blocks at the ends of a row of blocks show what those between them do. That is not so where a loaded value decides, or
a division, a remainder or an equality of block numbers: then any block may be the odd one out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum

from kernels.device.ptx.module import Address, Immediate, Instruction, Operand, Register
from kernels.device.ptx.program import Program, reads, results


class Kind(IntEnum):
    """How a value depends on the place of the block."""

    SAME = 0
    EVEN = 1
    ODD = 2


_MEMORY = re.compile(r"(ld|ldu|st|atom|red|cp)\.")
_FETCHES = re.compile(r"(ld|ldu|atom)\.(?!param\b)")
_SPECIAL = {"%ctaid": Kind.EVEN, "%clock": Kind.ODD, "%clock64": Kind.ODD, "%globaltimer": Kind.ODD}
_SUMS = re.compile(
    r"(mov|cvt|cvta|neg|add|sub|min|max|selp|ld\.param|st\.param)\.|(not|and|or)\.pred"
    r"|setp\.(lt|le|gt|ge|lo|ls|hi|hs)\b"
)
_PRODUCTS = re.compile(r"(mul|mad)(24)?\.(lo|wide)\b|(mul|fma)\.(rn|f)|shl\.|or\.b")
"""A bitwise "or" is the compiler's way to add what has no bits in common."""

_LARGE = 2**24


def unforeseen_lines(program: Program) -> frozenset[int | None]:
    """The lines that decide, or form an address, in a way that may single out any block."""
    kinds = _kinds(program)
    return frozenset(
        item.line
        for item in program.instructions
        if any(kinds.get(name, Kind.SAME) is Kind.ODD for name in _deciding(item))
    )


def _deciding(item: Instruction) -> Iterator[str]:
    """The registers that say whether, where or how much an instruction does."""
    if item.guard is not None:
        yield item.guard.register.name
    if item.opcode.startswith("brx"):
        yield from reads(item)
    if _MEMORY.match(item.opcode):
        for operand in item.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register):
                yield operand.base.name
    if item.opcode.startswith("cp.") and len(item.operands) > 3:
        yield from _names(item.operands[3])


def _kinds(program: Program) -> dict[str, Kind]:
    """The kind of each register and of each variable that passes a call's arguments, by name."""
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
    return results(item)


def _sources(item: Instruction) -> tuple[str, ...]:
    if item.opcode.startswith("ld.param"):
        return _names(item.operands[1])
    return reads(item)


def _names(operand: Operand) -> tuple[str, ...]:
    if isinstance(operand, Address):
        return () if operand.base is None else (operand.base.name,)
    return (operand.name.lstrip("!"),) if isinstance(operand, Register) else ()


def _kind(item: Instruction, kinds: Mapping[str, Kind]) -> Kind:
    """What an instruction makes of its sources, by its guard too."""
    opcode = item.opcode
    each = [_of(name, kinds) for name in _sources(item)]
    each += [
        _SPECIAL.get(name.split(".")[0], Kind.SAME) for operand in item.operands for name in _names(operand)
    ]
    most = max(each, default=Kind.SAME)
    if _FETCHES.match(opcode):
        constant = opcode.startswith("ld.const") and most is Kind.SAME
        return Kind.SAME if constant else Kind.ODD
    if most is not Kind.EVEN or _SUMS.match(opcode) or (_PRODUCTS.match(opcode) and not _jumps(item, kinds)):
        return most
    return Kind.ODD


def _jumps(item: Instruction, kinds: Mapping[str, Kind]) -> bool:
    """Whether a product does not move evenly though its factors do.

    Both factors move with the block, or one is so large that products wrap, which is how compilers test for multiples
    of a number; of a shift, the number of bits moves.
    """
    factors = item.operands[1:3]
    first, second = (max((_of(name, kinds) for name in _names(each)), default=Kind.SAME) for each in factors)
    wraps = any(isinstance(each, Immediate) and abs(each.value) >= _LARGE for each in factors)
    return wraps or (second is not Kind.SAME and (first is not Kind.SAME or item.opcode.startswith("shl")))


def _of(name: str, kinds: Mapping[str, Kind]) -> Kind:
    return kinds.get(name, Kind.SAME)
