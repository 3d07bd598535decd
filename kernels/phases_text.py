"""The phases of a small run as text: for each thread what it fetches and what it adds up, phase by phase."""

from __future__ import annotations

import textwrap

from kernels.evidence import BlockPhase, Phase, PhaseTable
from kernels.report_text import Style
from kernels.subject import sizes_text
from kernels.text_safety import safe

_BOLD, _DIM = "1", "2"
_MOST_PHASES = 4
_MOST_THREADS = 4

Place = tuple[int, int, int]


def phases_text(found: PhaseTable, style: Style) -> list[str]:
    """The first block's first phases; the whole table is in the JSON and on the page."""
    if not found.phases:
        return textwrap.wrap(safe(found.note), style.width) if found.note else []
    out = [
        style.paint("Phases", _BOLD)
        + style.paint(f" (a run at {sizes_text(found.sizes)}, tile {found.tile})", _DIM)
    ]
    for phase in found.phases[:_MOST_PHASES]:
        out += _phase(phase, style)
    left = len(found.phases) - _MOST_PHASES
    if left > 0:
        out.append(f"  ... and {left} more; --json has all blocks and phases")
    return out + (textwrap.wrap(safe(found.note), style.width) if found.note else [])


def _phase(phase: Phase, style: Style) -> list[str]:
    if not phase.blocks:
        return []
    block = phase.blocks[0]
    threads = list(dict.fromkeys([f.thread for f in block.fetches] + [a.thread for a in block.accumulations]))
    out = [f"  phase {phase.number}, block {_place(block.block)}"]
    for thread in threads[:_MOST_THREADS]:
        out += textwrap.wrap(
            f"thread {_place(thread)}  {_work(block, thread)}", style.width,
            initial_indent="    ", subsequent_indent=" " * 18,
        )  # fmt: skip
    left = len(threads) - _MOST_THREADS
    return [*out, *([f"    ... and {left} more threads"] if left > 0 else [])]


def _work(block: BlockPhase, thread: Place) -> str:
    fetched = [f"{f.element} -> {f.cell}" for f in block.fetches if f.thread == thread]
    added = [f"{a.target} += {a.cells}" for a in block.accumulations if a.thread == thread]
    return safe("; ".join([*fetched, *added]))


def _place(numbers: Place) -> str:
    return f"({','.join(map(str, numbers[: 2 if numbers[2] == 0 else 3]))})"
