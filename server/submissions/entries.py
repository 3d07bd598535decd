"""Read submissions as entries, from which the points are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from math import isfinite
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Row,
    Select,
    Subquery,
    and_,
    bindparam,
    case,
    false,
    func,
    literal,
    or_,
    select,
    union,
)
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
from server.teams.credit import counts_for, teams_of
from server.teams.models import TeamMember

_Judged, _Last = aliased(Job), aliased(Job)
NEWEST = 5
"""How many of the newest submissions a page shows."""

_AT_ONCE = 2_000
_NOT_MEASURED = -1e300
_NOT_RELIED_ON = "This measurement cannot be relied on."


def entries_of(session: Session, assignment: Assignment, person_id: int) -> Sequence[Entry]:
    """One person's submissions to an assignment, the first one first."""
    return own_entries(session, [assignment], person_id).get(assignment.id, ())


def own_entries(session: Session, assignments: Iterable[Assignment], person_id: int) -> Mapping[int, Sequence[Entry]]:
    """One person's submissions to each of these assignments, by the assignment's ID, the first one first.

    Those of the person's teams are the person's, too, as everywhere in this module.
    """
    assignments = list(assignments)
    mine = counts_for(person_id, teams_of(session, assignments, person_id))
    ways = {assignment.id: (metric_of(assignment.exercise), assignment.device_class) for assignment in assignments}
    query = _ENTRIES.where(Submission.assignment_id.in_(ways), mine)
    entries: dict[int, list[Entry]] = defaultdict(list)
    for row in session.execute(query):
        entries[row.assignment_id].append(_entry(row, *ways[row.assignment_id]))
    return dict(entries)


def numbered_entries(
    session: Session, assignment: Assignment, person_id: int, numbered: Subquery
) -> Sequence[tuple[int, Entry]]:
    """The submissions that a query of IDs and numbers names, the first one first, with their numbers."""
    way = metric_of(assignment.exercise), assignment.device_class
    query = _ENTRIES.add_columns(numbered.c.number).join(numbered, numbered.c.id == Submission.id)
    theirs = (
        Submission.assignment_id == assignment.id,
        counts_for(person_id, teams_of(session, [assignment], person_id)),
    )
    return [(row.number, _entry(row, *way)) for row in session.execute(query.where(*theirs))]


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
    metrics: dict[Metric, list[int]] = defaultdict(list)
    for number, (metric, _) in ways.items():
        metrics[metric].append(number)
    by_metric = tuple((metric, tuple(numbers)) for metric, numbers in list(metrics.items())[1:])
    tiers = tuple((each.id, each.speed_by, _bounds(each)) for each in assignments if each.speed_by is not None)
    given = {"assignments": list(ways), "person": person_id, "also": list(also)}
    if teams := teams_of(session, assignments, person_id):
        given["teams"] = list(teams)
    query = _decide(next(iter(metrics)), by_metric, tiers, in_teams=bool(teams))
    for row in session.connection().execute(query, given):
        deciding = found[row.assignment_id]
        deciding.number = row.number
        deciding.entries.append(_entry(row, *ways[row.assignment_id]))
    return found


_Metrics = tuple[tuple[Metric, tuple[int, ...]], ...]
_Tiers = tuple[tuple[int, SpeedBy, tuple[float, ...]], ...]


@lru_cache(maxsize=64)
def _decide(metric: Metric, others: _Metrics, tiers: _Tiers, *, in_teams: bool) -> Select[Any]:
    """The query of deciding submissions. Made once for equal rules, because that takes as long as to run it.

    metric: of all assignments that `others` don't name by their IDs
    in_teams: whether the person has teams
    """
    listed = _listed(metric, others, tiers, in_teams=in_teams).subquery()
    better = or_(listed.c.best_before.is_(None), listed.c.score > listed.c.best_before)
    decides = or_(
        listed.c.newest <= NEWEST,
        and_(listed.c.judged, listed.c.newest_alike == 1),
        and_(listed.c.right, better),
        listed.c.chosen_at.is_not(None),
        listed.c.under_way,
        listed.c.id.in_(bindparam("also", expanding=True)),
    )
    # The few are chosen before anything else of them is read.
    few = select(listed.c.id, listed.c.number).where(decides).cte().prefix_with("MATERIALIZED", dialect="postgresql")
    return _ENTRIES.add_columns(few.c.number).join(few, few.c.id == Submission.id)


def _listed(metric: Metric, others: _Metrics, tiers: _Tiers, *, in_teams: bool) -> Select[Any]:
    """All submissions of a person, each with its place among them.

    newest: its place from the end; newest_alike: the same among those of its mode, with or without a verdict
    under_way: whether its first verdict is still to come
    right: whether it may count; score, best_before: its own, and the best of earlier ones with the same rules
    """
    judged = and_(Submission.verdict.is_not(None), Submission.verdict != Verdict.SYSTEM_ERROR)
    right = and_(Submission.mode == Mode.RANK, judged, Submission.verdict == Verdict.ACCEPTED)
    comparable = and_(Result.ranked, _Judged.device_class == Assignment.device_class)
    other_scores = [(and_(comparable, Assignment.id.in_(numbers)), _SCORES[other]) for other, numbers in others]
    score = func.coalesce(case(*other_scores, (comparable, _SCORES[metric])), _NOT_MEASURED)
    reached = [_tier(by, bounds, and_(comparable, Assignment.id == number)) for number, by, bounds in tiers]
    rules = (Submission.late_days, Submission.team_due_at, func.coalesce(Result.goals_missed, 0) > 0, *reached)
    mine: ColumnElement[bool] = Submission.person_id == bindparam("person")
    if in_teams:
        mine = or_(mine, Submission.team_id.in_(bindparam("teams", expanding=True)))
    own, first = Submission.assignment_id, (Submission.created_at, Submission.id)
    last = tuple(column.desc() for column in first)
    alike = (own, Submission.mode, judged)
    # Of the last job. PostgreSQL would answer an EXISTS by reading all jobs.
    last_job = select(_Last.ended_at.is_(None)).where(_Last.submission_id == Submission.id).order_by(_Last.id.desc())
    is_open = last_job.limit(1).correlate(Submission).scalar_subquery()
    return (
        select(
            Submission.id,
            Submission.chosen_at,
            judged.label("judged"),
            case((judged, false()), else_=is_open).label("under_way"),
            right.label("right"),
            score.label("score"),
            func.count().over(partition_by=own).label("number"),
            func.row_number().over(partition_by=own, order_by=last).label("newest"),
            func.row_number().over(partition_by=alike, order_by=last).label("newest_alike"),
            func.max(score)
            .over(partition_by=(own, right, *rules), order_by=first, rows=(None, -1))
            .label("best_before"),
        )
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .outerjoin(_Judged, and_(_Judged.id == Submission.judged_job_id, right))
        .outerjoin(Result, Result.job_id == _Judged.id)
        .where(Submission.assignment_id.in_(bindparam("assignments", expanding=True)), mine)
    )


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

    These are each accepted kernel that measured better than earlier ones with the same late days, tier, goals and
    deadline of a team. Among these, points only fall with time. The last one with a verdict is included too, and chosen
    ones if these count. Rows are read in pieces, because a course's attempts may not fit into memory.

    staged: the ID of a staged regrade, to read the entries as they will be once it is applied
    """
    metric = metric_of(assignment.exercise)
    right = judged_verdict(staged) == Verdict.ACCEPTED
    kept = _candidates(assignment, people, staged).subquery()
    person = kept.c.person_id
    alike, order = (person, right), (Submission.created_at, Submission.id)
    comparable = and_(Result.ranked, Job.device_class == assignment.device_class)
    score = func.coalesce(case((comparable, _SCORES[metric])), _NOT_MEASURED)
    following = func.lead(Submission.id).over(partition_by=person, order_by=order)
    found = (
        select(
            *_COLUMNS,
            person.label("whose"),
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
        .order_by(found.c.whose, found.c.created_at, found.c.id)
        .execution_options(yield_per=_AT_ONCE)
    )
    for person, rows in groupby(session.execute(query), key=attrgetter("whose")):
        yield person, [_entry(row, metric, assignment.device_class) for row in rows]


def _candidates(assignment: Assignment, people: Select[int], staged: int | None) -> CompoundSelect[Any]:
    """The IDs of accepted, last and chosen submissions, each with a person for whom it counts.

    Found by look-ups in indexes: most attempts fail and never count.
    """
    verdict = judged_verdict(staged)
    judged = (
        Submission.assignment_id == assignment.id,
        Submission.mode == Mode.RANK,
        verdict.is_not(None),
        verdict != Verdict.SYSTEM_ERROR,
    )
    chosen = Submission.chosen_at.is_not(None)
    one = people.subquery()
    parts: list[Select[*tuple[Any, ...]]] = []
    for whose, query in _credited(assignment):
        last = (
            query.where(*judged, whose == one.c[0])
            .with_only_columns(Submission.id)
            .order_by(Submission.created_at.desc(), Submission.id.desc())
            .limit(1)
            .correlate(one)
            .scalar_subquery()
        )
        theirs = query.where(*judged, whose.in_(people))
        parts += [theirs.where(verdict == Verdict.ACCEPTED), select(last.label("id"), one.c[0].label("person_id"))]
        if assignment.counts is Counts.CHOSEN:
            parts.append(theirs.where(chosen))
    return union(*parts)


def _credited(assignment: Assignment) -> list[tuple[InstrumentedAttribute[int], Select[*tuple[Any, ...]]]]:
    """Queries of submissions and the people for whom they count: the authors, and the members of teams."""
    own = Submission.person_id
    found: list[tuple[InstrumentedAttribute[int], Select[*tuple[Any, ...]]]]
    found = [(own, select(Submission.id, own.label("person_id")))]
    if assignment.team_size > 1:
        mate = TeamMember.person_id
        in_team = TeamMember.team_id == Submission.team_id
        found.append((mate, select(Submission.id, mate.label("person_id")).join(TeamMember, in_team)))
    return found


def _rules(assignment: Assignment, comparable: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """What else points depend on: late days, the team's deadline, the reached tier, and whether a goal is missed."""
    rules: list[ColumnElement[Any]] = [Submission.late_days.expression, Submission.team_due_at.expression]
    if assignment.goals_percent < 100:
        rules.append(func.coalesce(Result.goals_missed, 0) > 0)
    if assignment.speed_by is not None and len(bounds := _bounds(assignment)) > 1:
        rules.append(_tier(assignment.speed_by, bounds, comparable))
    return rules


def _bounds(assignment: Assignment) -> tuple[float, ...]:
    return tuple(tier.least for tier in tiers_of(assignment))


def _tier(by: SpeedBy, bounds: Sequence[float], comparable: ColumnElement[bool]) -> ColumnElement[Any]:
    """The place of the reached tier. `bounds` are their least speeds."""
    column = _SPEEDS[by]
    reached = [
        (and_(comparable, column >= least), place) for place, least in enumerate(bounds) if place and isfinite(least)
    ]
    return case(*reversed(reached), else_=0) if reached else literal(0)


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
    Submission.created_at, Submission.mode, Submission.chosen_at, Submission.late_days, Submission.team_due_at,
    Job.state, Job.verdict, Job.device_class, Result.gflops, Result.gbps, Result.melements, Result.ms_median,
    Result.ms_low, Result.ms_high, Result.cublas_share, Result.ranked, Result.not_ranked, Result.goals_missed,
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
        team_due_at=row.team_due_at,
        ms_median=row.ms_median,
        ms_low=row.ms_low,
        ms_high=row.ms_high,
        remark="" if row.ms_median is None or comparable else _remark(row),
    )


def _remark(row: Row[*tuple[Any, ...]]) -> str:
    if not row.ranked:
        return row.not_ranked or _NOT_RELIED_ON
    return f"Measured on {row.device_class.upper()}: accepted, but ranked only on that device's leaderboard."
