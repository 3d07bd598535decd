"""What helps against a data race, by its sentence and the source around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernels.verdict import Finding


@dataclass(frozen=True, slots=True)
class Race:
    """A data race with its surroundings.

    name: of the array, or ""
    lines: of the graded source
    outside: whether the array is in global memory
    tiles: whether it is a shared array of a matrix product
    rows: whether the threads of a block have two indices
    in_warps: whether `__syncwarp()` is enough for this race and all others
    """

    finding: Finding
    name: str
    lines: Sequence[str]
    outside: bool
    tiles: bool
    rows: bool
    in_warps: bool

    def says(self, pattern: str) -> bool:
        """Whether the finding's sentence holds the pattern."""
        return re.search(pattern, self.finding.message) is not None

    def uses(self, pattern: str) -> bool:
        """Whether a line of the source holds the pattern; NAME stands for the array."""
        wanted = re.compile(pattern.replace("NAME", re.escape(self.name)))
        return any(wanted.search(line) for line in self.lines)

    @property
    def one_store(self) -> bool:
        """Whether two threads store in the same line."""
        return self.finding.other_line in {None, self.finding.line} and self.says(r"\bboth write\b")


_ATOMIC_OF_IT = r"\batomic\w+\s*\(\s*&?\s*NAME\b"
_FLAG_OR_LOCK = r"\batomic(CAS|Exch)\b|\bwhile\s*\([^;]*[!=]=|\bvolatile\b"

_SET_ELSEWHERE = (
    "Set `NAME` in another launch, or let the block that owns the element set it before a barrier. Blocks run in any "
    "order, so the store may come after the atomic."
)
_FENCES = (
    "Read and write a flag or a lock with atomics (`atomicExch`, `atomicCAS`). Put `__threadfence()` after taking it "
    "and before releasing it."
)
_OWN_ELEMENT = (
    "Let one thread own each element of `NAME`, or add to it with `atomicAdd`. Inside a block `__syncthreads()` orders "
    "two accesses; blocks run in any order."
)
_OWN_CELL = (
    "Give each thread its own cell: does the index use both `threadIdx.x` and `threadIdx.y`? Or let one thread "
    "store it."
)
_TILE = (
    "Put `__syncthreads()` between the two accesses, where every thread of the block reaches it. A tile needs two in "
    "each phase: one after loading it, and one after using it."
)

_ADVICE: tuple[tuple[Callable[[Race], bool], str], ...] = (
    (lambda race: race.outside and race.uses(_ATOMIC_OF_IT), _SET_ELSEWHERE),
    (lambda race: race.outside and race.uses(_FLAG_OR_LOCK), _FENCES),
    (lambda race: race.outside, _OWN_ELEMENT),
    (
        lambda race: race.says(r"\basynchronous|\bthe copy\b"),
        "Wait for the copy (`__pipeline_wait_prior(0)`) before the barrier.",
    ),
    (lambda race: race.one_store and race.rows, _OWN_CELL),
    (lambda race: race.one_store, "Give each thread its own cell, or let one thread store it."),
    (lambda race: race.in_warps, "Put `__syncwarp()` between the steps."),
    (lambda race: race.tiles, _TILE),
)
"""The first that fits helps."""


def race_advice(race: Race) -> str:
    """What to try next; "" where a barrier between the two accesses is all there is to say."""
    found = next((text for fits, text in _ADVICE if fits(race)), "")
    return found.replace("NAME", race.name)
