"""The values for the templates of an analysis, for a whole page or sections of another page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernels.analysis.model import Analysis
from kernels.counters import COUNTERS, GLOBAL, SHARED, WORK, Counter, Kind, Totals, by_ptx
from kernels.evidence import Evidence
from kernels.rendering.checklist import STATES
from kernels.rendering.page import numbers
from kernels.rendering.page.bounds import RESOURCES, occupancy_view, roofline_of
from kernels.rendering.page.listing.margin import listing, parts
from kernels.rendering.page.listing.marks import marks
from kernels.rendering.page.phases_view import PhasesView, phases_view, stages_view
from kernels.rendering.page.summary import facts, figures, ran_text


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


_ALWAYS = frozenset({"instructions", "branches", "operations"})


def groups(totals: Totals) -> tuple[Group, ...]:
    """Global memory, shared memory, work; without empty groups."""
    found = (Group(title, _rows(title, totals)) for title in (GLOBAL, SHARED, WORK))
    return tuple(group for group in found if group.rows)


def _rows(section: str, totals: Totals) -> tuple[Row, ...]:
    """The rows of a section. Unused kinds of memory access and of work are left out; instructions come first."""
    entries = [counter for counter in COUNTERS.values() if counter.section == section and counter.title]
    leads = [entry for entry in entries if entry.column == 0]
    unused = {lead.row for lead in leads if not lead.of(totals) and not by_ptx(lead, totals)} - _ALWAYS
    if section == WORK:
        entries.sort(key=lambda each: each.row != "instructions")
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


@dataclass(frozen=True, slots=True)
class View:
    """One of the margin's views. columns: the headings of its numbers, three at most."""

    key: str
    title: str
    columns: tuple[str, ...]
    meaning: str


VIEWS = (
    View(
        "cost",
        "Cost",
        ("share", "what stands out"),
        "Each line's share of the kernel's cost. A rough model adds up instructions, sectors and passes in cycles.",
    ),
    View(
        "global",
        "Global memory",
        ("requests", "sectors each", "used"),
        "Requests of warps to global memory and bulk copies, with sectors of 32 bytes each. The mark shows the fewest. "
        "Used: the share of loaded bytes that threads use.",
    ),
    View(
        "shared",
        "Shared memory",
        ("requests", "passes each", "conflict"),
        "Requests of warps to shared memory, and passes per request. Conflict: by how much bank conflicts multiply "
        "the passes.",
    ),
    View(
        "tensor",
        "Tensor cores",
        ("products", "flops", "bytes"),
        "Matrix products of warps, their operations, and the bytes that they read from shared memory themselves. "
        "The bar is the line's share of all such work.",
    ),
    View(
        "branches",
        "Divergence",
        ("warps", "split", "share"),
        "Warps that reached the line's branches, and warps whose threads went both ways.",
    ),
    View(
        "work",
        "Instructions",
        ("of warps", "flops", "active"),
        "Instructions that warps executed, floating-point operations, and the share of a warp's 32 threads that were "
        "active.",
    ),
)


BASES = {
    "counted": "exact numbers of accesses and branches, from a run on Tilelab's CPU device",
    "modelled": "computed from counts and a device's limits: a bound, not a prediction",
    "measured": "timed on a GPU",
}


def context(analysis: Analysis, source: str) -> Mapping[str, Any]:
    """The values of all sections. last: the number of lines of the source."""
    evidence = analysis.evidence
    lines = listing(source, evidence.lines, marks(analysis.findings))
    return {
        "analysis": analysis,
        "evidence": evidence,
        "advice": evidence.advice,
        "facts": facts(analysis),
        "figures": figures(analysis),
        "ran": ran_text(evidence.extent) if evidence.extent else "",
        "views": [view for view in VIEWS if view.key != "tensor" or evidence.totals.tensor_instructions],
        "lines": lines,
        "parts": parts(lines),
        "last": line_count(source),
        "groups": groups(evidence.totals) if evidence.extent else (),
        "roofline": roofline_of(analysis),
        "occupancy": occupancy_view(analysis),
        "resources": RESOURCES,
        "states": STATES,
        "phases": _phases(evidence),
        "measured": None,
    }


def _phases(evidence: Evidence) -> PhasesView | None:
    if evidence.stages is not None:
        return stages_view(evidence.stages)
    return phases_view(evidence.phases) if evidence.phases else None


def line_count(source: str) -> int:
    return source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").count("\n") + 1
