"""Tiers of an assignment: the share of the points for a measured speed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from kernels.exercise import read_exercise
from kernels.ladder import Rung, shipped_ladder
from kernels.ladder.table import LEVEL
from kernels.rendering.measured_numbers import one_size
from server.courses.models import Assignment, SpeedBy
from server.text import typed_number

MOST_TIERS = 10
LONGEST_TIERS = 200
_WORDS: Mapping[SpeedBy, str] = {
    SpeedBy.GFLOPS: "{} GFLOPS",
    SpeedBy.GBPS: "{} GB/s",
    SpeedBy.CUBLAS: "{} % of cuBLAS",
    SpeedBy.RUNG: "rung {}",
}


class TierError(ValueError):
    """Tiers that can't be used. The text says why."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A share of the points for accepted kernels that are at least this fast.

    least: the speed, as in the result's column; words: the same for people
    """

    least: float
    percent: float
    words: str


def read_tiers(text: str) -> tuple[tuple[float, float], ...]:
    """Read tiers such as "0:60 2000:80 5000:100": the least speed and its percentage. Raises TierError."""
    try:
        pairs = [tuple(map(float, word.split(":"))) for word in text.split()]
        tiers = tuple((least, percent) for least, percent in pairs)
    except ValueError:
        raise TierError("Write each tier as SPEED:PERCENT, such as 0:60 2000:80 5000:100.") from None
    numbers = [number for tier in tiers for number in tier]
    if not all(math.isfinite(number) for number in numbers) or not 1 <= len(tiers) <= MOST_TIERS:
        raise TierError(f"Use 1 to {MOST_TIERS} tiers with plain numbers.")
    if tiers[0][0] != 0:
        raise TierError("Begin with the tier 0, for accepted kernels that are slower or not measured.")
    for (low, less), (high, more) in pairwise(tiers):
        if low >= high or less > more:
            raise TierError("Speeds must increase from tier to tier, and percentages must not decrease.")
    if not all(0 <= percent <= 100 for _, percent in tiers):
        raise TierError("Percentages must be between 0 and 100.")
    return tiers


def tiers_of(assignment: Assignment) -> tuple[Tier, ...]:
    """The tiers of an assignment, the slowest first; () for none."""
    if assignment.speed_by is None:
        return ()
    exercise = assignment.exercise if assignment.speed_by is SpeedBy.RUNG else None
    return _tiers(
        assignment.speed_by, assignment.speed_tiers, assignment.device_class,
        () if exercise is None else (exercise.name, exercise.definition, exercise.course_id is None),
    )  # fmt: skip


def wrong_tiers(assignment: Assignment, by: SpeedBy | None, text: str) -> str:
    """Why an assignment can't have these tiers; "" if it can. text: valid tiers."""
    if by is None:
        return ""
    device, exercise = assignment.device_class, assignment.exercise
    if not device:
        return "No GPU measures this assignment, so speed can’t earn points."
    if by is SpeedBy.RUNG:
        shipped = exercise.course_id is None
        rungs = [one.number for one, _ in measured_rungs(exercise.name, exercise.definition, device, shipped=shipped)]
        missing = [least for least, _ in read_tiers(text)[1:] if least not in rungs]
        if missing:
            measured = ", ".join(map(str, rungs)) or "none"
            rung = typed_number(missing[0])
            return f"The ladder has no rung {rung} measured on {device}. Measured rungs: {measured}."
    return ""


@lru_cache(maxsize=64)
def measured_rungs(name: str, definition: str, device_class: str, *, shipped: bool) -> tuple[tuple[Rung, float], ...]:
    """The rungs that were measured on this device, with their GFLOPS at the ranking size.

    shipped: whether the exercise comes with Tilelab; others have no ladder
    """
    ladder = shipped_ladder(name) if shipped else None
    size = one_size(read_exercise(name, definition).ranking)
    if ladder is None or size is None:
        return ()
    return tuple((rung, rung.figures[device_class].at(size)) for rung in ladder.rungs if device_class in rung.figures)


@lru_cache(maxsize=256)
def _tiers(by: SpeedBy, text: str, device_class: str, exercise: tuple[str, str, bool] | tuple[()]) -> tuple[Tier, ...]:
    speeds: dict[float, float] = {0.0: 0.0}
    if exercise:
        name, definition, shipped = exercise
        for rung, gflops in measured_rungs(name, definition, device_class, shipped=shipped):
            # As on the ladder, a speed that is hardly lower reaches the rung.
            speeds[rung.number] = (1 - LEVEL) * gflops
    words = _WORDS[by]
    found = []
    for least, percent in read_tiers(text):
        speed = least / 100 if by is SpeedBy.CUBLAS else least
        if by is SpeedBy.RUNG:
            speed = speeds.get(least, math.inf)
        found.append(Tier(speed, percent, words.format(typed_number(least, ","))))
    return tuple(found)
