"""The values for the templates of an analysis, for a whole page or sections of another page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernels.analysis.model import Analysis
from kernels.rendering.checklist import STATES
from kernels.rendering.page.bounds import RESOURCES, occupancy_view, roofline_of
from kernels.rendering.page.listing.margin import listing, parts
from kernels.rendering.page.listing.marks import marks
from kernels.rendering.page.phases_view import phases_view
from kernels.rendering.page.summary import facts, figures, ran_text
from kernels.rendering.page.totals import groups


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
        "Requests of warps to global memory, and sectors of 32 bytes per request. The mark shows the fewest possible. "
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
        "views": VIEWS,
        "lines": lines,
        "parts": parts(lines),
        "last": line_count(source),
        "groups": groups(evidence.totals) if evidence.extent else (),
        "roofline": roofline_of(analysis),
        "occupancy": occupancy_view(analysis),
        "resources": RESOURCES,
        "states": STATES,
        "phases": phases_view(evidence.phases) if evidence.phases else None,
        "measured": None,
    }


def line_count(source: str) -> int:
    return source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").count("\n") + 1
