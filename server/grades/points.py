"""The arithmetic of points: what a kernel is worth by an assignment's rules and tiers of speed, and why."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from kernels.exercise import read_exercise
from kernels.ladder import Rung, shipped_ladder
from kernels.ladder.table import LEVEL
from kernels.rendering.measured_numbers import one_size
from kernels.wording import plural
from server.courses.models import Assignment, SpeedBy
from server.grades.criteria import Given, criteria_of
from server.text import typed_number

MOST_TIERS = 10
NOT_GRADED = "rubric not graded yet"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """What the points of a submission depend on.

    late_days: started days after the deadline; covered: how many of these are paid by the student's late days
    speed: as the tiers compare it; None without a ranked measurement on the assignment's device
    goals_missed: None if no goals were counted
    """

    accepted: bool
    late_days: int = 0
    covered: int = 0
    speed: float | None = None
    goals_missed: int | None = None


@dataclass(frozen=True, slots=True)
class Worth:
    """Points, and the reason for each change to the full points."""

    points: float
    why: tuple[str, ...] = ()


def points_for(assignment: Assignment, days: int, *, accepted: bool) -> float:
    """The most points of a submission with a late penalty for `days`."""
    if not accepted:
        return 0.0
    return max(0.0, assignment.points * (1 - _late_percent(assignment, days) / 100))


def worth(assignment: Assignment, achieved: Achieved) -> Worth:
    """The points of a submission: the shares for speed, goals and lateness are multiplied."""
    if not achieved.accepted:
        return Worth(0.0, ("not accepted",))
    why: list[str] = []
    points = points_for(assignment, achieved.late_days - achieved.covered, accepted=True)
    tiers = tiers_of(assignment)
    if tiers:
        tier = reached(tiers, achieved.speed)
        points *= tiers[tier].percent / 100
        why += _speed_reason(tiers, tier, achieved.speed)
    if achieved.goals_missed and assignment.goals_percent < 100:
        points *= assignment.goals_percent / 100
        why.append(f"{typed_number(assignment.goals_percent)} % with a missed goal")
    return Worth(points, (*why, *_late_reasons(assignment, achieved)))


def reachable(assignment: Assignment, days: int) -> float:
    """The most points of a submission, with a late penalty for `days`, in the fastest tier."""
    return worth(assignment, Achieved(accepted=True, late_days=days, speed=sys.float_info.max)).points


def rubric_points(rubric: str, given: Given | None) -> float | None:
    """The points by a rubric, never below 0; None if no criterion is graded yet."""
    if given is None:
        return None
    graded = [points for each in criteria_of(rubric) if (points := each.points(given)) is not None]
    return max(0.0, sum(graded, given.adjustment)) if graded or given.adjustment else None


def with_rubric(kernel: Worth, given: float | None, most: float) -> Worth:
    """Add the points by a rubric, which lateness, speed and goals don't change.

    given: None if not graded by the rubric yet; most: of the rubric, 0 for none
    """
    if not most:
        return kernel
    why = NOT_GRADED if given is None else f"rubric {typed_number(given)} of {typed_number(most)}"
    return Worth(kernel.points + (given or 0.0), (*kernel.why, why))


def reached(tiers: Sequence[Tier], speed: float | None) -> int:
    """The place of the tier that this speed reaches; the first without a speed."""
    if speed is None:
        return 0
    return max(place for place, tier in enumerate(tiers) if place == 0 or speed >= tier.least)


def _late_percent(assignment: Assignment, days: int) -> float:
    return min(assignment.late_percent_most, assignment.late_percent_per_day * days)


def _speed_reason(tiers: Sequence[Tier], place: int, speed: float | None) -> list[str]:
    percent = tiers[place].percent
    if percent == 100:
        return []
    if speed is None:
        return [f"{typed_number(percent)} % without a measured speed"]
    if place + 1 < len(tiers):
        return [f"{typed_number(percent)} % below {tiers[place + 1].words}"]
    return [f"{typed_number(percent)} % from {tiers[place].words}"]


def _late_reasons(assignment: Assignment, achieved: Achieved) -> list[str]:
    found = []
    if achieved.covered:
        found.append(f"{plural(achieved.covered, 'late day')} spent")
    days = achieved.late_days - achieved.covered
    each, most = assignment.late_percent_per_day, assignment.late_percent_most
    if days and not each:
        found.append(f"{plural(days, 'day')} late, no penalty")
    elif days:
        limit = f", at most {typed_number(most)} %" if each * days > most else ""
        found.append(f"{plural(days, 'day')} late, {typed_number(each)} % a day{limit}")
    return found
