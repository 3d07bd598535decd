"""The arithmetic of points: what a kernel is worth by an assignment's rules, and why."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.wording import plural
from server.courses.models import Assignment
from server.courses.rubric import criteria_of
from server.submissions.rules.tiers import Tier, tiers_of
from server.text import typed_number


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


def rubric_points(rubric: str, given: Mapping[str, float]) -> float | None:
    """The points by a rubric; None if no criterion has points yet.

    given: the points by the criteria's keys; a criterion never counts more than its most points
    """
    found = [min(given[each.key], each.most) for each in criteria_of(rubric) if each.key in given]
    return sum(found, 0.0) if found else None


def with_rubric(kernel: Worth, given: float | None, most: float) -> Worth:
    """Add the points by a rubric, which lateness, speed and goals don't change.

    given: None if not graded by the rubric yet; most: of the rubric, 0 for none
    """
    if not most:
        return kernel
    why = "rubric not graded yet" if given is None else f"rubric {typed_number(given)} of {typed_number(most)}"
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
