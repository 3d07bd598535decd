"""The views between which a reader switches the margin of the source."""

from __future__ import annotations

from dataclasses import dataclass


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
