"""The totals of the launch in three groups, with their meanings and the PTX's counts if they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.counters import COUNTERS, GLOBAL, SHARED, WORK, Counter, Kind, Totals, by_ptx
from kernels.rendering.page import numbers


@dataclass(frozen=True, slots=True)
class Row:
    """One number. ptx: the PTX's count; "" if it is equal or missing."""

    title: str
    value: str
    unit: str
    meaning: str
    ptx: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The numbers under one heading."""

    title: str
    rows: tuple[Row, ...]

    @property
    def differs(self) -> bool:
        """Whether the assembler changed any number."""
        return any(row.ptx for row in self.rows)


def groups(totals: Totals) -> tuple[Group, ...]:
    """Global memory, shared memory, work; without empty groups."""
    found = (Group(title, _rows(title, totals)) for title in (GLOBAL, SHARED, WORK))
    return tuple(group for group in found if group.rows)


def _rows(section: str, totals: Totals) -> tuple[Row, ...]:
    """The rows of a section. Unused kinds of memory access are left out; instructions come first."""
    entries = [counter for counter in COUNTERS.values() if counter.section == section and counter.title]
    leads = [entry for entry in entries if entry.column == 0]
    unused = {lead.row for lead in leads if not lead.of(totals) and not by_ptx(lead, totals)}
    if section == WORK:
        entries.sort(key=lambda each: each.row != "instructions")
        unused = set()
    if len(unused) == len(leads):
        return ()
    return tuple(_row(entry, totals) for entry in entries if entry.row not in unused)


_TEXT: Mapping[Kind, Callable[[float], str]] = {
    Kind.COUNT: numbers.count,
    Kind.RATIO: numbers.ratio,
    Kind.SHARE: numbers.percent,
    Kind.LANES: lambda share: numbers.ratio(32 * share),
}


def _row(counter: Counter, totals: Totals) -> Row:
    value, ptx = counter.of(totals), by_ptx(counter, totals)
    return Row(
        counter.title,
        "–" if value is None else _TEXT[counter.kind](value),
        counter.unit,
        counter.meaning,
        "" if ptx is None or ptx == value else numbers.count(ptx),
    )
