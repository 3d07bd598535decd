"""All that one person handed in for an assignment: what became of each, what counts, and why one is not ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from kernels.measurement.numbers import ms_text, speed_text
from kernels.page import numbers
from kernels.verdict import Verdict
from server.courses.counting import Counted, Deadlines, Entry, counted, due_for, late_days
from server.courses.models import Assignment, Counts, Extension
from server.grading.models import Job, JobState, Result
from server.standings.metric import interval_of, metric_of, score_of
from server.standings.models import Standing
from server.submissions.entries import entries_of
from server.submissions.models import Mode, Submission

PAGE = 25
UNITS = {Metric.GFLOPS: "GFLOPS", Metric.GBPS: "GB/s", Metric.TIME: "ms"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission as its owner sees it.

    number: 1 for the first
    value: by the exercise's metric, measured or, where nothing is measured, what the model allows; None for neither,
        and for a measurement that cannot be relied on
    shown, interval: the number and its 95 % interval in words, whether or not it can be relied on
    late: days begun
    counts: whether it is the one that counts
    stands: the device class on whose board it stands; "" for the board of what is checked only
    why_not: why it is not ranked, in words; "" where it is, or may yet be
    choosable: whether its owner may say that this one counts
    """

    number: int
    entry: Entry
    value: float | None
    shown: str
    interval: str
    share: str
    occupancy: str
    launch: str
    late: int
    counts: bool
    stands: str | None
    why_not: str
    again: bool
    choosable: bool

    @property
    def public_id(self) -> str:
        """Its name in addresses."""
        return self.entry.public_id


@dataclass(frozen=True, slots=True)
class History:
    """All of somebody's attempts, the first one first.

    modelled: whether nothing is measured here, so that numbers are what the model allows
    chosen: whether somebody said which one counts
    closed: whether what counts stays as it is
    """

    attempts: tuple[Attempt, ...]
    modelled: bool
    chosen: bool
    counted: Counted | None
    deadlines: Deadlines
    metric: Metric
    counts: Counts
    closed: bool


@dataclass(frozen=True, slots=True)
class _Graded:
    """What the rows say of a submission. last: its last job; judged: the one that its verdict is of."""

    last: Job
    judged: Job | None
    result: Result | None


def history_of(
    session: Session, assignment: Assignment, person: int, *, own: bool, now: datetime | None = None
) -> History:
    """All of one person. own: whether that person asks, who may choose what counts."""
    moment = now or datetime.now(UTC)
    entries = entries_of(session, assignment, person)
    deadlines = due_for(assignment, session.get(Extension, (assignment.id, person)))
    best = counted(assignment, deadlines, entries)
    graded = _graded(session, assignment, person)
    stands = _stands(session, assignment, person)
    metric, modelled = metric_of(assignment.exercise), not assignment.device_class
    closed = deadlines.closed(moment) or assignment.course.archived_at is not None
    may_choose = own and not closed and assignment.counts is Counts.CHOSEN
    attempts = []
    for number, entry in enumerate(entries, 1):
        of = graded[entry.submission_id]
        standing = of.judged is not None and stands.get(of.judged.device_class) == of.judged.id
        counts = best is not None and best.entry.submission_id == entry.submission_id
        number_of = _value(of.result, metric, modelled=modelled)
        relied_on = modelled or (of.result is not None and of.result.ranked)
        attempts.append(
            Attempt(
                number=number,
                entry=entry,
                value=number_of if relied_on else None,
                shown=_shown(number_of, metric),
                interval=_interval(of.result, metric),
                share=_percent(of.result.cublas_share if of.result else None),
                occupancy=_percent(of.result.occupancy if of.result else None),
                launch=_launch(of.result),
                late=late_days(entry.created_at, deadlines) if entry.mode is Mode.RANK else 0,
                counts=counts,
                stands=of.judged.device_class if standing and of.judged else None,
                why_not="" if standing else why_not_ranked(assignment, entry, of.judged, of.result),
                again=of.judged is not None and of.last.id != of.judged.id and of.last.ended_at is None,
                choosable=may_choose and entry.mode is Mode.RANK and entry.judged and not counts,
            )
        )
    return History(
        attempts=tuple(attempts),
        modelled=modelled,
        chosen=any(entry.chosen_at is not None for entry in entries),
        counted=best,
        deadlines=deadlines,
        metric=metric,
        counts=assignment.counts,
        closed=closed,
    )


def why_not_ranked(assignment: Assignment, entry: Entry, judged: Job | None, result: Result | None) -> str:
    """Why a submission does not stand on the board; "" where there is no verdict yet."""
    if entry.cancelled:
        return "It was cancelled."
    if judged is None or result is None:
        return ""
    if entry.mode is Mode.CHECK:
        return "It was checked only. Submit it for ranking, then it can stand on the board."
    if result.verdict is Verdict.SYSTEM_ERROR:
        return "Tilelab could not grade it. That is our fault; it counts as no attempt."
    if result.verdict is not Verdict.ACCEPTED:
        return "Only a right kernel is ranked."
    if judged.exercise_digest != assignment.exercise_digest:
        return "The exercise was changed since. Your course’s staff can have this graded again."
    if not judged.device_class:
        return "An earlier kernel of yours is right too, and stands on the board."
    if result.ms_median is None:
        return "It was not measured."
    if not result.ranked:
        return result.not_ranked or "Its measurement cannot be relied on."
    return "Another kernel of yours is faster, and stands on the board."


def _graded(session: Session, assignment: Assignment, person: int) -> Mapping[int, _Graded]:
    """By submission. Of one that was graded again the last verdict counts; a fault of ours only where it is all."""
    query = (
        select(Submission.id, Job, Result)
        .join(Job, Job.submission_id == Submission.id)
        .outerjoin(Result, Result.job_id == Job.id)
        .where(Submission.assignment_id == assignment.id, Submission.person_id == person)
        .order_by(Job.id)
    )
    found: dict[int, _Graded] = {}
    for number, job, result in session.execute(query):
        before = found.get(number)
        done = job.state is JobState.DONE
        replaces = done and (
            before is None or before.judged is None or job.verdict is not Verdict.SYSTEM_ERROR
        )
        if replaces or before is None:
            found[number] = _Graded(job, job if done else None, result if done else None)
        else:
            found[number] = _Graded(job, before.judged, before.result)
    return found


def _stands(session: Session, assignment: Assignment, person: int) -> Mapping[str, int]:
    """The job with which this person stands on each board."""
    query = select(Standing.device_class, Standing.job_id).where(
        Standing.assignment_id == assignment.id,
        Standing.person_id == person,
        Standing.before_freeze.is_(False),
    )
    return dict(session.execute(query).all())


def _value(result: Result | None, metric: Metric, *, modelled: bool) -> float | None:
    if result is None or result.verdict is not Verdict.ACCEPTED:
        return None
    if modelled:
        score = score_of(metric, result.bound_gflops, None, result.bound_ms)
    else:
        score = score_of(metric, result.gflops, result.gbps, result.ms_median)
    return score if score is None or metric is not Metric.TIME else -score


def _shown(value: float | None, metric: Metric) -> str:
    return "" if value is None else f"{number_text(value, metric)}{numbers.SPACE}{UNITS[metric]}"


def number_text(value: float, metric: Metric) -> str:
    """A value without its unit."""
    return ms_text(value) if metric is Metric.TIME else speed_text(value)


def _interval(result: Result | None, metric: Metric) -> str:
    ends = None if result is None else interval_of(metric, result)
    if ends is None:
        return ""
    low, high = (number_text(abs(end), metric) for end in sorted(ends, key=abs))
    return low if low == high else f"{low} to {high}"


def _percent(share: float | None) -> str:
    return "–" if share is None else numbers.percent(share)


def _launch(result: Result | None) -> str:
    if result is None or not result.launch:
        return "–"
    return f"tile {result.tile} · {result.launch}" if result.tile else result.launch


def page_of(attempts: Sequence[Attempt], number: int) -> tuple[tuple[Attempt, ...], int, int]:
    """One page, the newest first; with the number that it has, and how many there are."""
    pages = max(1, -(-len(attempts) // PAGE))
    number = min(max(1, number), pages)
    newest = tuple(reversed(attempts))
    return newest[PAGE * (number - 1) : PAGE * number], number, pages
