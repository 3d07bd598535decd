"""Elements of `wmma` fragments, whose places in the registers of a warp CUDA leaves open.

A kernel that relies on the places of one device has other results if they change. Elements that are all treated alike
don't show where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernels.device.ptx.module import Instruction, Register, Vector
from kernels.device.ptx.program import Program
from kernels.device.tensor.forms import ELSEWHERE

_EXCHANGES = frozenset({"atom", "shfl", "vote", "match", "redux", "elect", "activemask"})
_OF_THREADS = ("%tid", "%laneid", "%warpid", "%lanemask")
_ALIKE = ("ld.param", "ld.const")


def elsewhere(program: Program) -> Program:
    """The same kernel on a device with other places."""
    moved = (
        replace(item, opcode=item.opcode + ELSEWHERE) if item.head == "wmma" else item for item in program.instructions
    )
    return replace(program, instructions=tuple(moved))


def first_use(program: Program) -> Instruction | None:
    """The first instruction that may rely on these places. None if `wmma` alone uses fragments, or equal values."""
    items = program.instructions
    if not any(item.head == "wmma" for item in items):
        return None
    held = {name for item in items if item.head == "wmma" for name in item.results}
    copies = [item for item in items if item.head == "mov"]
    while more := {name for item in copies if held & {*item.reads} for name in item.results} - held:
        held |= more
    others = (item for item in items if item.head not in {"wmma", "mov"})
    reader = next((item for item in others if held & {*item.reads}), None)
    return reader or _first_writer(items)


def _first_writer(items: Sequence[Instruction]) -> Instruction | None:
    """The first instruction that makes an element of a fragment from a value that differs between threads."""
    makers: dict[str, list[int]] = defaultdict(list)
    for pc, item in enumerate(items):
        for name in item.results:
            makers[name].append(pc)
    given = {name for item in items if item.head == "wmma" for name in _fragment_names(item)}
    differing = [pc for pc in _behind(items, makers, given) if _differs(items[pc])]
    return items[min(differing)] if differing else None


def _fragment_names(item: Instruction) -> Iterator[str]:
    """The registers of the fragments that an instruction reads."""
    if ".load." in item.opcode:
        return
    given = item.operands[1:2] if ".store." in item.opcode else item.operands[1:]
    for operand in given:
        for part in operand.items if isinstance(operand, Vector) else (operand,):
            if isinstance(part, Register):
                yield part.name


def _behind(items: Sequence[Instruction], makers: Mapping[str, Sequence[int]], names: set[str]) -> set[int]:
    """All instructions from which these registers come, except for those of `wmma` and what they read."""
    waiting, found = list(names), set[int]()
    while waiting:
        for pc in makers.get(waiting.pop(), ()):
            if pc not in found and items[pc].head != "wmma":
                found.add(pc)
                waiting += items[pc].reads
    return found


def _differs(item: Instruction) -> bool:
    loads = item.head == "ld" and not item.opcode.startswith(_ALIKE)
    return loads or item.head in _EXCHANGES or any(name.startswith(_OF_THREADS) for name in item.reads)
