"""How a thread waits for other threads: loads that it repeats until a value changes."""

from __future__ import annotations

import re

from kernels.device.ptx.module import Symbol
from kernels.device.ptx.program import Program

_VOLATILE = re.compile(r"ld\.volatile\b")
_CHANGES = re.compile(r"(st|atom|red|cp|bar|barrier|call)\b")


def polling_loads(program: Program) -> frozenset[int]:
    """Return the volatile loads that alone decide whether a loop continues, if the loop changes nothing itself."""
    found: set[int] = set()
    for pc, item in enumerate(program.instructions):
        label = item.operands[0] if item.opcode.startswith("bra") and item.operands else None
        target = program.targets.get(label.name) if isinstance(label, Symbol) else None
        if item.guard is not None and target is not None and target <= pc:
            found |= _deciding(program, range(target, pc + 1))
    return frozenset(found)


def _deciding(program: Program, loop: range) -> set[int]:
    """Return the volatile loads that decide whether a loop continues; none if the loop does anything else."""
    items = program.instructions
    if any(_CHANGES.match(items[pc].opcode) for pc in loop):
        return set()
    makers = {name: pc for pc in loop for name in items[pc].results}
    waiting, seen = [loop[-1]], set[int]()
    while waiting:
        pc = waiting.pop()
        if pc not in seen:
            seen.add(pc)
            waiting += [makers[name] for name in items[pc].reads if name in makers]
    loads = {pc for pc in seen if _VOLATILE.match(items[pc].opcode)}
    counted = any(set(items[pc].results) & set(items[pc].reads) for pc in seen)
    return set() if counted else loads
