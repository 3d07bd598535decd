"""The points of an assignment, and how long students take to be accepted, for the class and for each section."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import Session

from kernels.rendering.page.experiment_page import PlotView
from kernels.verdict import Verdict
from server.courses.models import Assignment
from server.database.base import one_of
from server.grades.gradebook import Line, gradebook
from server.roster.service import Member
from server.standings.class_speeds import histogram
from server.submissions.models import Mode
from server.teams.credit import credited

_BINS = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Students of a section, or of the whole class. Means and medians are None without any value.

    graded: the students with points, also 0
    accepted: the students with an accepted submission; seconds: their median time since the first attempt
    """

    section: str
    students: int
    graded: int
    mean: float | None
    median: float | None
    accepted: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Scores:
    """The class and its sections, if it has several, and the distribution of points; None before anybody has points."""

    groups: tuple[Group, ...]
    plot: PlotView | None


def scores(session: Session, assignment: Assignment, members: Sequence[Member]) -> Scores:
    """The scores of these students. Excused ones don't count."""
    book = gradebook(session, assignment.course_id, members, [assignment.slug])
    lines = [line for line in book.lines if line.cells and not line.cells[0].grade.excused]
    times = _times(session, assignment, [line.member.person_id for line in lines])
    by_section: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_section[line.member.section].append(line)
    named = sorted(by_section.items(), key=lambda item: (not item[0], item[0].casefold()))
    groups = [_group("", lines, times)]
    if len(named) > 1:
        groups += [_group(name, own, times) for name, own in named]
    points = _points(lines)
    plot = None
    if points:
        rows = distribution(points, assignment.most_points)
        plot = histogram("points", "Students by points", f"Points of {assignment.most_points:g}", "Students", rows)
    return Scores(tuple(groups), plot)


def distribution(points: Sequence[float], most: float) -> list[tuple[str, int]]:
    """Students by tenths of the most points possible; the last range has its end, and one follows for a bonus."""
    step = most / _BINS or 1.0
    counts = Counter(_BINS if one > most else min(int(one / step), _BINS - 1) for one in points)
    rows = [(f"{place * step:g}–{(place + 1) * step:g}", counts[place]) for place in range(_BINS)]
    return [*rows, (f"above {most:g}", counts[_BINS])] if counts[_BINS] else rows


def _group(section: str, lines: Sequence[Line], times: Mapping[int, float]) -> Group:
    points = _points(lines)
    seconds = [times[line.member.person_id] for line in lines if line.member.person_id in times]
    return Group(
        section, len(lines), len(points),
        statistics.mean(points) if points else None, statistics.median(points) if points else None,
        len(seconds), statistics.median(seconds) if seconds else None,
    )  # fmt: skip


def _points(lines: Sequence[Line]) -> list[float]:
    return [grade.points for line in lines if (grade := line.cells[0].grade).points is not None]


def _times(session: Session, assignment: Assignment, people: Sequence[int]) -> Mapping[int, float]:
    """The seconds from each student's first attempt to the first accepted submission."""
    one = credited([assignment])
    accepted = and_(one.mode == Mode.RANK, one.verdict == Verdict.ACCEPTED)
    query = (
        select(one.person_id, func.min(one.created_at), func.min(case((accepted, one.created_at))))
        .where(one.assignment_id == assignment.id, one_of(one.person_id, people))
        .group_by(one.person_id)
    )
    found: dict[int, float] = {}
    for person, first, solved in session.execute(query):
        if isinstance(first, datetime) and isinstance(solved, datetime):
            found[person] = (solved - first).total_seconds()
    return found
