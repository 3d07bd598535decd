"""The PTX next to the source, each line with its partners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kernels.rendering.page.listing.syntax import Piece, coloured
from kernels.report import Report
from kernels.wording import byte_size, plural


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive PTX of one line of the source.

    line: None if unknown
    """

    line: int | None
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PtxView:
    """The two sides.

    source: the lines that have PTX, with the lines between them; with their numbers, code and amounts of PTX
    uses: registers and spills, in one sentence
    """

    source: Sequence[tuple[int, Sequence[Piece], int]]
    groups: Sequence[Group]
    count: int
    uses: str


def ptx_view(report: Report, source: str) -> PtxView | None:
    """None without PTX."""
    if not report.ptx:
        return None
    amounts: dict[int, int] = {}
    for each in report.ptx:
        if each.line is not None:
            amounts[each.line] = amounts.get(each.line, 0) + 1
    pieces = coloured(source)
    shown = range(min(amounts, default=1), min(max(amounts, default=0), len(pieces)) + 1)
    return PtxView(
        [(number, pieces[number - 1], amounts.get(number, 0)) for number in shown],
        [
            Group(line, tuple(each.text for each in lines))
            for line, lines in groupby(report.ptx, key=lambda each: each.line)
        ],
        len(report.ptx),
        _uses(report),
    )


def _uses(report: Report) -> str:
    if report.resources is None:
        return ""
    use = report.resources
    registers = f"A thread uses {plural(use.registers, 'register')}."
    if not use.spill_store_bytes + use.spill_load_bytes:
        return f"{registers} None is spilled to local memory."
    return (
        f"{registers} The assembler spills registers to local memory: it stores {byte_size(use.spill_store_bytes)} "
        f"and loads {byte_size(use.spill_load_bytes)} per thread."
    )
