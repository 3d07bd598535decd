"""What people handed in for an assignment, as far as it may count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Row, Select, select
from sqlalchemy.orm import Session

from kernels.exercise import read_exercise
from kernels.exercise.model import Metric
from kernels.verdict import Verdict
from server.courses.counting import Entry
from server.courses.models import Assignment
from server.grading.models import Exercise, Job, JobState, Result
from server.standings.service import score_of
from server.submissions.models import Submission

_NOT_RELIED_ON = "This measurement cannot be relied on."


def entries_of(session: Session, assignment: Assignment, person_id: int) -> Sequence[Entry]:
    """What one person handed in, the first one first."""
    return entries(session, assignment, person_id).get(person_id, ())


def own_entries(
    session: Session, assignments: Iterable[Assignment], person_id: int
) -> Mapping[int, Sequence[Entry]]:
    """What one person handed in for each of these assignments, by its number, the first one first."""
    metrics = {assignment.id: metric_of(assignment.exercise) for assignment in assignments}
    query = _ROWS.where(Submission.assignment_id.in_(metrics), Submission.person_id == person_id)
    found: dict[int, list[Entry]] = defaultdict(list)
    for row in _last(session, query):
        found[row.assignment_id].append(_entry(row, metrics[row.assignment_id]))
    return dict(found)


def entries(
    session: Session, assignment: Assignment, person_id: int | None = None
) -> Mapping[int, Sequence[Entry]]:
    """What each person handed in, the first one first, by the person's number.

    Of a submission that was graded again the last verdict counts; a fault of ours counts only where there is nothing
    else. person_id: None for everybody
    """
    query = _ROWS.where(Submission.assignment_id == assignment.id)
    if person_id is not None:
        query = query.where(Submission.person_id == person_id)
    metric = metric_of(assignment.exercise)
    found: dict[int, list[Entry]] = defaultdict(list)
    for row in _last(session, query):
        found[row.person_id].append(_entry(row, metric))
    return dict(found)


def metric_of(exercise: Exercise) -> Metric:
    """What measurements of an exercise are ranked by."""
    return _metric(exercise.name, exercise.definition)


@lru_cache(maxsize=256)
def _metric(name: str, definition: str) -> Metric:
    return read_exercise(name, definition).metric


# Each submission with its jobs in the order in which they were queued; the index gives the first order.
_ROWS: Select[*tuple[Any, ...]] = (
    select(
        Submission.id, Submission.public_id, Submission.assignment_id, Submission.person_id,
        Submission.created_at, Submission.mode, Submission.chosen_at, Job.state, Job.verdict,
        Result.gflops, Result.gbps, Result.ms_median, Result.ms_low, Result.ms_high,
        Result.ranked, Result.not_ranked,
    )
    .join(Job, Job.submission_id == Submission.id)
    .outerjoin(Result, Result.job_id == Job.id)
    .order_by(Submission.created_at, Submission.id, Job.id)
)  # fmt: skip


def _last(session: Session, query: Select[*tuple[Any, ...]]) -> Iterable[Row[*tuple[Any, ...]]]:
    """One row of each submission: with the job that has its verdict."""
    last: dict[int, Row[*tuple[Any, ...]]] = {}
    for row in session.execute(query):
        if row.id not in last or _judged(row) or not _judged(last[row.id]):
            last[row.id] = row
    return last.values()


def _judged(row: Row[*tuple[Any, ...]]) -> bool:
    return row.state is JobState.DONE and row.verdict is not Verdict.SYSTEM_ERROR


def _entry(row: Row[*tuple[Any, ...]], metric: Metric) -> Entry:
    return Entry(
        submission_id=row.id,
        public_id=row.public_id,
        created_at=row.created_at,
        mode=row.mode,
        chosen_at=row.chosen_at,
        verdict=row.verdict,
        cancelled=row.state is JobState.CANCELLED,
        score=score_of(metric, row.gflops, row.gbps, row.ms_median) if row.ranked else None,
        gflops=row.gflops,
        gbps=row.gbps,
        ms_median=row.ms_median,
        ms_low=row.ms_low,
        ms_high=row.ms_high,
        remark="" if row.ms_median is None or row.ranked else row.not_ranked or _NOT_RELIED_ON,
    )
