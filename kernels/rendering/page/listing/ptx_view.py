"""PTX or machine code next to the source, each line with its partners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kernels.evidence import MOST_LINES, CodeLine
from kernels.rendering.page.listing.syntax import Piece, coloured
from kernels.report import Report
from kernels.wording import byte_size, plural


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive code of one line of the source. line: None if unknown."""

    line: int | None
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PtxView:
    """The two sides.

    name: PTX or SASS
    source: the lines that have such code, with the lines between them; with their numbers, code and amounts
    cut: whether the list is at its limit
    uses: registers and spills, in one sentence
    """

    name: str
    source: Sequence[tuple[int, Sequence[Piece], int]]
    groups: Sequence[Group]
    count: int
    cut: bool
    uses: str


def ptx_view(report: Report, source: str) -> PtxView | None:
    return _view("PTX", report.ptx, report, source) if report.ptx else None


def sass_view(report: Report, source: str) -> PtxView | None:
    listed = report.evidence.sass
    return _view("SASS", listed, report, source) if listed else None


def _view(name: str, listed: Sequence[CodeLine], report: Report, source: str) -> PtxView:
    amounts: dict[int, int] = {}
    for each in listed:
        if each.line is not None:
            amounts[each.line] = amounts.get(each.line, 0) + 1
    pieces = coloured(source)
    first, last = min(amounts, default=1), max(amounts, default=0)
    shown = range(first, min(last + 1, len(pieces) + 1, first + MOST_LINES))
    return PtxView(
        name,
        [(number, pieces[number - 1], amounts.get(number, 0)) for number in shown],
        [
            Group(line, tuple(line.text for line in lines))
            for line, lines in groupby(listed, key=lambda each: each.line)
        ],
        len(listed),
        len(listed) >= MOST_LINES,
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
