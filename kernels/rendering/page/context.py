"""What the templates of an analysis are given, on a page of its own and as a part of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernels.analysis.model import Analysis
from kernels.evidence import State
from kernels.rendering.page.bounds import light_bars, occupancy_view, roofline_of
from kernels.rendering.page.listing.margin import listing
from kernels.rendering.page.listing.marks import marks
from kernels.rendering.page.phases_view import phases_view
from kernels.rendering.page.summary import facts, figures, ran_text
from kernels.rendering.page.totals import groups


@dataclass(frozen=True, slots=True)
class View:
    """One of the margin's views.

    columns: the headings of its numbers, three at most
    """

    key: str
    title: str
    columns: tuple[str, ...]
    meaning: str


VIEWS = (
    View(
        "cost",
        "Cost",
        ("share", "what stands out"),
        "Each line's share of the kernel's cost, by a rough model: instructions, sectors and passes, in cycles of "
        "one multiprocessor.",
    ),
    View(
        "global",
        "Global memory",
        ("requests", "sectors each", "used"),
        "Requests of warps to global memory, the sectors of 32 bytes that each touches (the mark shows how few would "
        "do), and how much of what is moved is used.",
    ),
    View(
        "shared",
        "Shared memory",
        ("requests", "passes each", "conflict"),
        "Requests of warps to shared memory, the passes that each takes, and how many times as many that is as "
        "without bank conflicts.",
    ),
    View(
        "branches",
        "Divergence",
        ("warps", "split", "share"),
        "Warps that came to the line's branches, and how many of them went both ways.",
    ),
    View(
        "work",
        "Instructions",
        ("of warps", "flops", "at work"),
        "Instructions that warps executed, floating-point operations, and the share of a warp's 32 threads that was "
        "at work.",
    ),
)


_STATES = {
    State.YES: ("good", "✓", "yes"),
    State.PARTLY: ("fair", "◐", "partly"),
    State.NO: ("poor", "✗", "no"),
    State.NOT_NEEDED: ("none", "–", "not needed"),
}
BASES = {
    "counted": "by running the kernel on Tilelab's CPU device: exact for the accesses and branches that it makes",
    "modelled": "from the counts and a device's limits: what it could do at best, not what it will do",
    "measured": "on a GPU, with a clock; nothing on this page is, unless it says so",
}


def context(analysis: Analysis, source: str) -> Mapping[str, Any]:
    """Everything that the sections show.

    last: how many lines the source has
    """
    evidence = analysis.evidence
    lines = listing(source, evidence.lines, marks(analysis.findings))
    return {
        "analysis": analysis,
        "evidence": evidence,
        "bases": BASES,
        "facts": facts(analysis),
        "figures": figures(analysis),
        "ran": ran_text(evidence.extent) if evidence.extent else "",
        "views": VIEWS,
        "lines": lines,
        "last": line_count(source),
        "groups": groups(evidence.totals) if evidence.extent else (),
        "roofline": roofline_of(analysis),
        "lights": tuple(light_bars(light) for light in evidence.light),
        "occupancy": occupancy_view(analysis),
        "states": _STATES,
        "phases": phases_view(evidence.phases) if evidence.phases else None,
        "measured": None,
    }


def line_count(source: str) -> int:
    """Lines as the listing numbers them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").count("\n") + 1
