"""Boards: each person's best on one device class, kept up to date by whoever records a result.

A board is read from its own rows, never from all results. Of a submission only the last verdict counts: a regrade that
comes out otherwise moves its person, down as well as up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, tuple_
from sqlalchemy.orm import Session, aliased, undefer

from kernels.exercise.model import Metric
from kernels.report import Report
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment
from server.database.upsert import insert_into
from server.grading.models import Job, JobState, Result
from server.grading.reports import unpack
from server.standings.models import Standing
from server.submissions.models import Mode, Submission


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of a board.

    score: by the exercise's metric, turned so that more is better; a time in ms stands there below 0
    submission: the public name of what reached it
    """

    rank: int
    person_id: int
    name: str
    score: float
    reached_at: datetime
    job_id: int
    submission: str


@dataclass(frozen=True, slots=True)
class Board:
    """A part of a board.

    own: the line of the person who asked, wherever it is; None for one who has none
    around: own line with its neighbours, where it is not among `rows`
    more: whether lines follow the last of `rows`; then `board(after=rows[-1])` gives them
    """

    rows: tuple[Ranked, ...]
    own: Ranked | None = None
    around: tuple[Ranked, ...] = ()
    more: bool = False


def score_of(metric: str, gflops: float | None, gbps: float | None, ms_median: float | None) -> float | None:
    """What a measurement is worth on a board; None where it says nothing."""
    if metric == Metric.TIME:
        return None if ms_median is None else -ms_median
    return gflops if metric == Metric.GFLOPS else gbps


def stand(session: Session, job: Job, result: Result, report: Report) -> None:
    """Let a job's result count on its board, in the transaction that records it.

    Only what was handed in for the ranking counts, for the exercise as the assignment has it now. A fault of our own
    leaves what there was.
    """
    if job.submission_id is None or result.verdict is Verdict.SYSTEM_ERROR or not job.device_class:
        return
    submission = session.get_one(Submission, job.submission_id)
    if submission.mode is not Mode.RANK:
        return
    # Whoever else records something of this person waits here, so that neither overlooks what the other wrote.
    session.execute(
        select(Person.id).where(Person.id == submission.person_id).with_for_update(key_share=True)
    )
    if _judged_before(session, job):
        restand(session, submission.assignment, job.device_class, submission.person_id)
    elif result.ranked and job.exercise_digest == submission.assignment.exercise_digest:
        measured = report.measurement
        assert measured is not None, "nothing else is ranked"
        score = score_of(measured.metric, measured.gflops, measured.gbps, measured.ms_median)
        if score is not None:
            _raise(session, _Best(job.id, score, submission.created_at), submission, job.device_class)


def restand(session: Session, assignment: Assignment, device_class: str, person: int) -> None:
    """Put a person's standing on one board right, from all results."""
    best = _best(session, assignment, device_class, person)
    session.execute(
        delete(Standing).where(
            Standing.assignment_id == assignment.id,
            Standing.device_class == device_class,
            Standing.person_id == person,
        )
    )
    if best is not None:
        values = _values(best, assignment.id, device_class, person)
        session.execute(insert_into(session, Standing).values(**values))


def rebuild(session: Session, assignment: Assignment) -> None:
    """Put all boards of an assignment right, as after its exercise was changed."""
    session.execute(delete(Standing).where(Standing.assignment_id == assignment.id))
    pairs = select(Submission.person_id, Job.device_class).join(Job, Job.submission_id == Submission.id)
    found = session.execute(
        pairs.where(Submission.assignment_id == assignment.id, Submission.mode == Mode.RANK).distinct()
    )
    for person, device_class in found.all():
        if device_class:
            restand(session, assignment, device_class, person)


def board(
    session: Session,
    assignment: int,
    device_class: str,
    *,
    limit: int = 50,
    after: Ranked | None = None,
    person: int | None = None,
    neighbours: int = 2,
) -> Board:
    """The best of an assignment on a device class, from the first or from after a line that was shown before.

    person: whose own line and neighbours are wanted
    """
    on_board = and_(
        Standing.assignment_id == assignment,
        Standing.device_class == device_class,
        Standing.before_freeze.is_(False),
    )
    query = _lines().where(on_board)
    if after is not None:
        query = query.where(_behind(after.score, after.reached_at, after.person_id))
    found = session.execute(query.order_by(*_BEST_FIRST).limit(limit + 1)).all()
    rows = _ranked(found[:limit], after.rank + 1 if after else 1)
    own = None if person is None else _own(session, on_board, person)
    around: tuple[Ranked, ...] = ()
    if own is not None and all(row.person_id != own.person_id for row in rows):
        around = _around(session, on_board, own, neighbours)
    return Board(rows, own, around, more=len(found) > limit)


@dataclass(frozen=True, slots=True)
class _Best:
    job: int
    score: float
    reached_at: datetime


_BEST_FIRST = (Standing.score.desc(), Standing.reached_at, Standing.person_id)
_BEST_LAST = (Standing.score, Standing.reached_at.desc(), Standing.person_id.desc())


def _behind(score: float, reached_at: datetime, person: int) -> ColumnElement[bool]:
    """Standings that come after this one; of two that are equal the earlier stands first."""
    later = tuple_(Standing.reached_at, Standing.person_id) > tuple_(reached_at, person)
    return and_(Standing.score <= score, or_(Standing.score < score, later))


def _before(score: float, reached_at: datetime, person: int) -> ColumnElement[bool]:
    earlier = tuple_(Standing.reached_at, Standing.person_id) < tuple_(reached_at, person)
    return and_(Standing.score >= score, or_(Standing.score > score, earlier))


def _lines() -> Any:
    return (
        select(Standing, Person.name, Submission.public_id)
        .join(Person, Person.id == Standing.person_id)
        .join(Job, Job.id == Standing.job_id)
        .join(Submission, Submission.id == Job.submission_id)
    )


def _ranked(found: Sequence[Any], first: int) -> tuple[Ranked, ...]:
    return tuple(
        Ranked(
            first + i,
            standing.person_id,
            name,
            standing.score,
            standing.reached_at,
            standing.job_id,
            submission,
        )
        for i, (standing, name, submission) in enumerate(found)
    )


def _own(session: Session, on_board: ColumnElement[bool], person: int) -> Ranked | None:
    found = session.execute(_lines().where(on_board, Standing.person_id == person)).one_or_none()
    if found is None:
        return None
    standing = found[0]
    before = _before(standing.score, standing.reached_at, person)
    better = session.scalar(select(func.count()).select_from(Standing).where(on_board, before)) or 0
    return _ranked([found], better + 1)[0]


def _around(session: Session, on_board: ColumnElement[bool], own: Ranked, count: int) -> tuple[Ranked, ...]:
    here = (own.score, own.reached_at, own.person_id)
    lines = _lines().where(on_board)
    above = session.execute(lines.where(_before(*here)).order_by(*_BEST_LAST).limit(count)).all()[::-1]
    below = session.execute(lines.where(_behind(*here)).order_by(*_BEST_FIRST).limit(count)).all()
    return (*_ranked(above, own.rank - len(above)), own, *_ranked(below, own.rank + 1))


def _judged_before(session: Session, job: Job) -> bool:
    """Whether an earlier job of the same submission had a verdict, which this one replaces."""
    earlier = and_(Job.submission_id == job.submission_id, Job.id != job.id, _judged(Job))
    return bool(session.scalar(select(exists().where(earlier))))


def _judged(job: Any) -> ColumnElement[bool]:
    return and_(job.state == JobState.DONE, job.verdict != Verdict.SYSTEM_ERROR)


def _best(session: Session, assignment: Assignment, device_class: str, person: int) -> _Best | None:
    """The person's best among the last verdicts of their submissions. For each metric that is the shortest time."""
    later = aliased(Job)
    replaced = exists().where(later.submission_id == Submission.id, later.id > Job.id, _judged(later))
    query = (
        select(Result, Submission.created_at)
        .join(Job, Job.id == Result.job_id)
        .join(Submission, Submission.id == Job.submission_id)
        .where(
            Submission.assignment_id == assignment.id,
            Submission.person_id == person,
            Submission.mode == Mode.RANK,
            Job.device_class == device_class,
            Job.exercise_digest == assignment.exercise_digest,
            Result.ranked,
            _judged(Job),
            ~replaced,
        )
        .order_by(Result.ms_median, Submission.created_at)
        .limit(1)
        .options(undefer(Result.report))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    result, reached_at = found
    measured = unpack(result.report)["measurement"]
    score = score_of(measured["metric"], measured["gflops"], measured["gbps"], measured["ms_median"])
    return None if score is None else _Best(result.job_id, score, reached_at)


def _raise(session: Session, best: _Best, submission: Submission, device_class: str) -> None:
    """Replace what is worse, or equal and later."""
    insert = insert_into(session, Standing).values(
        **_values(best, submission.assignment_id, device_class, submission.person_id)
    )
    new = insert.excluded
    better = or_(
        new.score > Standing.score, and_(new.score == Standing.score, new.reached_at < Standing.reached_at)
    )
    session.execute(
        insert.on_conflict_do_update(
            index_elements=[
                Standing.assignment_id,
                Standing.device_class,
                Standing.before_freeze,
                Standing.person_id,
            ],
            set_={"job_id": new.job_id, "score": new.score, "reached_at": new.reached_at},
            where=better,
        )
    )


def _values(best: _Best, assignment: int, device_class: str, person: int) -> dict[str, object]:
    return {
        "assignment_id": assignment,
        "device_class": device_class,
        "before_freeze": False,
        "person_id": person,
        "job_id": best.job,
        "score": best.score,
        "reached_at": best.reached_at,
    }
