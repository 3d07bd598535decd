"""Read submissions as entries, from which the points are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from math import isfinite
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Row, Select, and_, case, func, or_, select, union
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from kernels.exercise.model import Metric
from kernels.verdict import Verdict
from server.courses.models import Assignment, Counts, SpeedBy
from server.grades.points import tiers_of
from server.grading.metric import metric_of, score_of
from server.grading.models import Job, JobState, Result
from server.submissions.counted_submission import Entry
from server.submissions.models import Mode, Submission
from server.submissions.verdicts import judged_job_id, judged_verdict, latest_job_id

_Judged = aliased(Job)
NEWEST = 5
"""How many of the newest submissions a page shows."""

_AT_ONCE = 2_000
_NOT_MEASURED = -1e300
_NOT_RELIED_ON = "This measurement cannot be relied on."


def entries_of(session: Session, assignment: Assignment, person_id: int) -> Sequence[Entry]:
    """One person's submissions to an assignment, the first one first."""
    return own_entries(session, [assignment], person_id).get(assignment.id, ())


def own_entries(session: Session, assignments: Iterable[Assignment], person_id: int) -> Mapping[int, Sequence[Entry]]:
    """One person's submissions to each of these assignments, by the assignment's ID, the first one first."""
    ways = {assignment.id: (metric_of(assignment.exercise), assignment.device_class) for assignment in assignments}
    query = _ENTRIES.where(Submission.assignment_id.in_(ways), Submission.person_id == person_id)
    entries: dict[int, list[Entry]] = defaultdict(list)
    for row in session.execute(query):
        entries[row.assignment_id].append(_entry(row, *ways[row.assignment_id]))
    return dict(entries)


@dataclass(slots=True)
class Deciding:
    """The submissions of a person to an assignment that decide the grade and what the person may do next.

    entries: those that may count, the last check with a verdict, those under way and the newest; the first one first
    number: how many submissions and checks there are, with those left out
    """

    entries: list[Entry] = field(default_factory=list)
    number: int = 0


def deciding_entries(
    session: Session, assignments: Sequence[Assignment], person_id: int, also: Collection[int] = ()
) -> Mapping[int, Deciding]:
    """One person's deciding submissions, by the assignment's ID. The page of a thousand attempts reads few of them.

    also: the IDs of submissions to read in any case
    """
    found = {assignment.id: Deciding() for assignment in assignments}
    if not found:
        return found
    ways = {assignment.id: (metric_of(assignment.exercise), assignment.device_class) for assignment in assignments}
    listed = _listed(assignments, person_id).subquery()
    better = or_(listed.c.best_before.is_(None), listed.c.score > listed.c.best_before)
    decides = (
        listed.c.newest <= NEWEST,
        and_(listed.c.judged, listed.c.newest_alike == 1),
        and_(listed.c.right, better),
        Submission.chosen_at.is_not(None),
        and_(~listed.c.judged, Job.ended_at.is_(None)),
        *([Submission.id.in_(also)] if also else ()),
    )
    query = _ENTRIES.add_columns(listed.c.number).join(listed, listed.c.id == Submission.id).where(or_(*decides))
    for row in session.execute(query):
        deciding = found[row.assignment_id]
        deciding.number = row.number
        deciding.entries.append(_entry(row, *ways[row.assignment_id]))
    return found


def _listed(assignments: Sequence[Assignment], person_id: int) -> Select[Any]:
    """All submissions of a person, each with its place among them.

    newest: its place from the end; newest_alike: the same among those of its mode, with or without a verdict
    right: whether it may count; score, best_before: its own, and the best of earlier ones with the same rules
    """
    judged = and_(Submission.verdict.is_not(None), Submission.verdict != Verdict.SYSTEM_ERROR)
    right = and_(Submission.mode == Mode.RANK, judged, Submission.verdict == Verdict.ACCEPTED)
    comparable = and_(Result.ranked, _Judged.device_class == Assignment.device_class)
    score = func.coalesce(case((comparable, _score_in(assignments))), _NOT_MEASURED)
    tiers = [tier for each in assignments for tier in _tier(each, and_(comparable, Assignment.id == each.id))]
    rules = (Submission.late_days, func.coalesce(Result.goals_missed, 0) > 0, *tiers)
    own, first = Submission.assignment_id, (Submission.created_at, Submission.id)
    last = tuple(column.desc() for column in first)
    earlier = {"order_by": first, "rows": (None, -1)}
    return (
        select(
            Submission.id,
            judged.label("judged"),
            right.label("right"),
            score.label("score"),
            func.count().over(partition_by=own).label("number"),
            func.row_number().over(partition_by=own, order_by=last).label("newest"),
            func.row_number().over(partition_by=(own, Submission.mode, judged), order_by=last).label("newest_alike"),
            func.max(score).over(partition_by=(own, right, *rules), **earlier).label("best_before"),
        )
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .outerjoin(_Judged, and_(_Judged.id == Submission.judged_job_id, right))
        .outerjoin(Result, Result.job_id == _Judged.id)
        .where(Submission.assignment_id.in_([each.id for each in assignments]), Submission.person_id == person_id)
    )


def _score_in(assignments: Sequence[Assignment]) -> ColumnElement[Any]:
    """The score by each assignment's metric."""
    by_metric: dict[Metric, list[int]] = defaultdict(list)
    for each in assignments:
        by_metric[metric_of(each.exercise)].append(each.id)
    first, *others = by_metric
    cases = [(Submission.assignment_id.in_(by_metric[metric]), _SCORES[metric]) for metric in others]
    return case(*cases, else_=_SCORES[first]) if cases else _SCORES[first]


def times_since(session: Session, assignments: Collection[int], person_id: int, since: datetime) -> Sequence[datetime]:
    """When a person submitted or checked at these assignments."""
    return session.scalars(
        select(Submission.created_at).where(
            Submission.assignment_id.in_(assignments), Submission.person_id == person_id, Submission.created_at >= since
        )
    ).all()


def ranked_entries(
    session: Session, assignment: Assignment, people: Select[int], staged: int | None = None
) -> Iterator[tuple[int, list[Entry]]]:
    """For each of these people, the submissions that may count.

    These are each accepted kernel that measured better than earlier ones with the same late days, tier and goals.
    Points only fall with time. The last one with a verdict is included too, and chosen ones if these count. Rows are
    read in pieces, because a course's attempts may not fit into memory.

    staged: the ID of a staged regrade, to read the entries as they will be once it is applied
    """
    metric = metric_of(assignment.exercise)
    right = judged_verdict(staged) == Verdict.ACCEPTED
    alike, order = (Submission.person_id, right), (Submission.created_at, Submission.id)
    comparable = and_(Result.ranked, Job.device_class == assignment.device_class)
    score = func.coalesce(case((comparable, _SCORES[metric])), _NOT_MEASURED)
    following = func.lead(Submission.id).over(partition_by=Submission.person_id, order_by=order)
    kept = _candidates(assignment, people, staged).subquery()
    found = (
        select(
            *_COLUMNS,
            right.label("right"),
            following.label("next"),
            score.label("score"),
            func.max(score)
            .over(partition_by=(*alike, *_rules(assignment, comparable)), order_by=order, rows=(None, -1))
            .label("best_before"),
        )
        .select_from(Submission)
        .join(Job, Job.id == judged_job_id(staged))
        .outerjoin(Result, Result.job_id == Job.id)
        .join(kept, kept.c.id == Submission.id)
        .where(Submission.assignment_id == assignment.id)
        .subquery()
    )
    better = or_(found.c.best_before.is_(None), found.c.score > found.c.best_before)
    query = (
        select(found)
        .where(or_(and_(found.c.right, better), found.c.chosen_at.is_not(None), found.c.next.is_(None)))
        .order_by(found.c.person_id, found.c.created_at, found.c.id)
        .execution_options(yield_per=_AT_ONCE)
    )
    for person, rows in groupby(session.execute(query), key=attrgetter("person_id")):
        yield person, [_entry(row, metric, assignment.device_class) for row in rows]


def _candidates(assignment: Assignment, people: Select[int], staged: int | None) -> CompoundSelect[int]:
    """The IDs of accepted, last and chosen submissions, by look-ups in indexes: most attempts fail and never count."""
    verdict = judged_verdict(staged)
    judged = (
        Submission.assignment_id == assignment.id,
        Submission.mode == Mode.RANK,
        verdict.is_not(None),
        verdict != Verdict.SYSTEM_ERROR,
    )
    theirs = (*judged, Submission.person_id.in_(people))
    person = people.subquery()
    last = (
        select(Submission.id)
        .where(*judged, Submission.person_id == person.c[0])
        .order_by(Submission.created_at.desc(), Submission.id.desc())
        .limit(1)
        .correlate(person)
        .scalar_subquery()
    )
    parts = [
        select(Submission.id).where(*theirs, verdict == Verdict.ACCEPTED),
        select(last.label("id")).select_from(person),
    ]
    if assignment.counts is Counts.CHOSEN:
        parts.append(select(Submission.id).where(*theirs, Submission.chosen_at.is_not(None)))
    return union(*parts)


def _rules(assignment: Assignment, comparable: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """What else points depend on: the late days, the reached tier, and whether a goal is missed."""
    rules: list[ColumnElement[Any]] = [Submission.late_days.expression]
    if assignment.goals_percent < 100:
        rules.append(func.coalesce(Result.goals_missed, 0) > 0)
    return [*rules, *_tier(assignment, comparable)]


def _tier(assignment: Assignment, comparable: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """The place of the reached tier; empty for an assignment without tiers."""
    tiers = tiers_of(assignment)
    if assignment.speed_by is None or len(tiers) < 2:
        return []
    column = _SPEEDS[assignment.speed_by]
    reached = [
        (and_(comparable, column >= tier.least), place)
        for place, tier in enumerate(tiers)
        if place and isfinite(tier.least)
    ]
    return [case(*reversed(reached), else_=0)]


_SPEEDS: Mapping[SpeedBy, ColumnElement[Any]] = {
    SpeedBy.GFLOPS: Result.gflops.expression,
    SpeedBy.GBPS: Result.gbps.expression,
    SpeedBy.CUBLAS: Result.cublas_share.expression,
    SpeedBy.RUNG: Result.gflops.expression,
}

_SCORES: Mapping[Metric, ColumnElement[Any]] = {
    Metric.GFLOPS: Result.gflops.expression,
    Metric.GBPS: Result.gbps.expression,
    Metric.ELEMENTS: Result.melements.expression,
    Metric.TIME: -Result.ms_median,
}

_COLUMNS: tuple[ColumnElement[Any] | InstrumentedAttribute[Any], ...] = (
    Submission.id, Submission.public_id, Submission.assignment_id, Submission.person_id,
    Submission.created_at, Submission.mode, Submission.chosen_at, Submission.late_days, Job.state, Job.verdict,
    Job.device_class, Result.gflops, Result.gbps, Result.melements, Result.ms_median, Result.ms_low, Result.ms_high,
    Result.cublas_share, Result.ranked, Result.not_ranked, Result.goals_missed,
)  # fmt: skip


_ENTRIES = (
    select(*_COLUMNS)
    .outerjoin(_Judged, _Judged.id == Submission.judged_job_id)
    .join(Job, Job.id == case((_Judged.verdict != Verdict.SYSTEM_ERROR, _Judged.id), else_=latest_job_id()))
    .outerjoin(Result, Result.job_id == Job.id)
    .order_by(Submission.created_at, Submission.id)
)
"""Submissions as entries. After a system error, the last job decides the state, because a retry may be queued."""


def _entry(row: Row[*tuple[Any, ...]], metric: Metric, device_class: str) -> Entry:
    """device_class: the assignment's own; speeds on other devices aren't comparable."""
    comparable = row.ranked and row.device_class == device_class
    return Entry(
        submission_id=row.id,
        public_id=row.public_id,
        created_at=row.created_at,
        mode=row.mode,
        chosen_at=row.chosen_at,
        verdict=row.verdict,
        cancelled=row.state is JobState.CANCELLED,
        score=score_of(metric, row.gflops, row.gbps, row.ms_median, row.melements) if comparable else None,
        gflops=row.gflops,
        gbps=row.gbps,
        melements=row.melements,
        cublas_share=row.cublas_share,
        goals_missed=row.goals_missed,
        late_days=row.late_days,
        ms_median=row.ms_median,
        ms_low=row.ms_low,
        ms_high=row.ms_high,
        remark="" if row.ms_median is None or comparable else _remark(row),
    )


def _remark(row: Row[*tuple[Any, ...]]) -> str:
    if not row.ranked:
        return row.not_ranked or _NOT_RELIED_ON
    return f"Measured on {row.device_class.upper()}: accepted, but ranked only on that device's leaderboard."
