"""The data of a submission's page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, and_, bindparam, func, select
from sqlalchemy.orm import Session, joinedload

from kernels.verdict import Verdict
from server.assignments.form import form_of
from server.assignments.tasks import task_of
from server.courses.models import Assignment
from server.courses.service import is_staff
from server.grading.metric import tiles_of
from server.grading.models import Attempt, AttemptOutcome, Job, JobKind, JobState, Result, Step
from server.submissions.models import Mode, Submission
from server.submissions.progress.jobs import SubmissionStatus, read_statuses
from server.submissions.queries import submission_and_role, visible_submission
from server.submissions.result.worth import Earned, earned
from worker.contract.messages import StepKind

_IN_VAIN = {AttemptOutcome.LOST: "worker lost, restarted", AttemptOutcome.FAULT: "worker error, restarted"}

FRESH = timedelta(hours=1)
"""How long a result is celebrated."""

_WITH = (
    joinedload(Submission.person),
    joinedload(Submission.source),
    joinedload(Submission.judged_job).joinedload(Job.exercise),
    joinedload(Submission.assignment, Assignment.exercise),
)


@dataclass(frozen=True, slots=True)
class Duration:
    """The duration of a part of grading, in seconds.

    began, ended: None if the database doesn't have it
    """

    title: str
    seconds: float
    began: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The result that counts now.

    shipped: the name of an exercise that comes with Tilelab; "" for a course's own
    packed: the stored report; None if there is none
    waited: until a worker took it; None if none did
    waited_for_gpu: until a worker measured it; None if none did
    checked_at, measured_at: when the last worker began; None if none did
    in_vain: the attempts of workers that were lost or failed
    """

    verdict: Verdict
    device_class: str
    shipped: str
    packed: bytes | None
    queued_at: datetime
    ended_at: datetime | None
    waited: Duration | None
    waited_for_gpu: Duration | None
    checked_at: datetime | None
    measured_at: datetime | None
    in_vain: tuple[Duration, ...]


@dataclass(frozen=True, slots=True)
class SubmissionPage:
    """A submission's page.

    course_zone: the time zone for readers without their own
    limited: whether the number of such submissions is limited, so a started one uses an attempt or a check
    own: whether it is the reader's; staff: whether the reader is course staff
    viewed: whether course staff view the page as the student, and can't submit
    form: the key of the form that sent it; "" for another reader or a program
    status: its progress; judged: the result that gave its verdict, None before the first verdict
    closed_at: when the student's last chance to submit ended; None if the assignment is open
    earned: what it is worth to its student; nothing before the verdict
    solves_first: whether it is the reader's own and fresh, and the first accepted one that misses no goal
    several_tiles: whether the exercise allows more than one tile
    """

    number: int
    public_id: str
    course: str
    course_title: str
    course_zone: str
    archived: bool
    closed_at: datetime | None
    assignment: str
    title: str
    person_id: int
    person: str
    email: str
    own: bool
    staff: bool
    viewed: bool
    mode: Mode
    limited: bool
    device_class: str
    created_at: datetime
    form: str
    source: str
    status: SubmissionStatus
    judged: Judged | None
    earned: Earned
    solves_first: bool
    several_tiles: bool

    @property
    def file(self) -> str:
        return f"{self.assignment}-{self.public_id[:8]}.cu"

    @property
    def has_editor(self) -> bool:
        """Whether the reader can change the source in the assignment's editor. Course staff can after it closed."""
        over = self.archived or self.viewed or (self.closed_at is not None and not self.staff)
        return self.own and not over

    @property
    def waits(self) -> bool:
        """Whether its page updates itself."""
        return not self.status.over

    @property
    def graded_again(self) -> bool:
        """Whether it has a verdict and is being regraded."""
        return self.waits and self.judged is not None

    @property
    def taken_back(self) -> bool:
        """Whether it was cancelled before the first verdict."""
        return self.status.state is JobState.CANCELLED and self.judged is None

    @property
    def begun(self) -> bool:
        """Whether a worker started it, so it uses an attempt or a check; false if course staff cancelled it."""
        return any(step.started_at is not None for step in self.status.steps)

    @property
    def may_cancel(self) -> bool:
        """Whether the reader may cancel it. Only course staff may cancel a regrade."""
        return self.waits and (self.staff or (self.own and self.status.kind is JobKind.SUBMISSION))

    @property
    def may_retry(self) -> bool:
        """Whether the reader may have it graded again after a system error, whose cause may be gone."""
        failed = self.judged is not None and self.judged.verdict is Verdict.SYSTEM_ERROR
        return failed and self.status.over and not self.archived and (self.own or self.staff)


def read_page(
    session: Session, person: int, public_id: str, now: datetime, *, viewed: bool = False
) -> SubmissionPage | None:
    """Read the page; None if there is no such submission, or the person may not see it.

    viewed: whether course staff view it as the person
    """
    found = submission_and_role(session, person, public_id, *_WITH)
    if found is None:
        return None
    submission, role = found
    assignment = submission.assignment
    course, staff = assignment.course, is_staff(role)
    task = task_of(session, assignment, submission.person_id, [submission.id])
    judged = _judged(session, submission)
    return SubmissionPage(
        number=submission.id,
        public_id=submission.public_id,
        course=course.slug,
        course_title=course.title,
        course_zone=course.time_zone,
        archived=course.archived_at is not None,
        closed_at=task.deadlines.closes_at if task.closed(now) else None,
        assignment=assignment.slug,
        title=assignment.title,
        person_id=submission.person_id,
        person=submission.person.name,
        email=submission.person.email,
        own=submission.person_id == person,
        staff=staff,
        viewed=viewed,
        mode=submission.mode,
        limited=submission.mode is Mode.CHECK or assignment.attempts is not None,
        device_class=submission.device_class,
        created_at=submission.created_at,
        form=form_of(submission.idempotency_key) if submission.person_id == person else "",
        source=submission.source.content.decode("utf-8", "replace"),
        status=read_statuses(session, [submission.id], now)[submission.id],
        judged=judged,
        earned=earned(session, submission, now, as_staff=staff, task=task),
        solves_first=submission.person_id == person and _is_fresh(judged, now) and _solves_first(session, submission),
        several_tiles=len(tiles_of(assignment.exercise)) > 1,
    )


def watched(session: Session, person: int, public_id: str, now: datetime) -> tuple[int, SubmissionStatus] | None:
    """The database ID and the status of a submission; None if the person may not see it."""
    submission = visible_submission(session, person, public_id)
    return None if submission is None else (submission.id, read_statuses(session, [submission.id], now)[submission.id])


def durations(page: SubmissionPage, seconds: Sequence[tuple[str, float]]) -> tuple[Duration, ...]:
    """The parts of the time from the submission to the verdict, then the total.

    All are in tenths of a second, so the parts add up. seconds: of each step, from the report
    """
    judged = page.judged
    if judged is None or judged.ended_at is None:
        return ()
    parts = [] if judged.waited is None else [judged.waited]
    began = judged.checked_at
    for name, spent in seconds:
        if name == "measure":
            parts += [] if judged.waited_for_gpu is None else [judged.waited_for_gpu]
            began = judged.measured_at
        parts.append(Duration(_STEPS.get(name, name), spent, began))
        began = None
    parts += judged.in_vain
    whole = max(0.0, (judged.ended_at - judged.queued_at).total_seconds())
    return (*_adding_up(parts, round(10 * whole)), Duration("total", round(whole, 1), ended=judged.ended_at))


def _adding_up(parts: Sequence[Duration], whole: int) -> Iterator[Duration]:
    """The parts in tenths of a second, with a part for the rest. whole: their sum."""
    tenths = [round(10 * part.seconds) for part in parts]
    rest = whole - sum(tenths)
    if rest < 0:
        # Rounding made too much of the parts. This shows least in the longest.
        tenths[tenths.index(max(tenths))] += rest
    for part, of_part in zip(parts, tenths, strict=True):
        yield replace(part, seconds=of_part / 10)
    if rest > 0:
        yield Duration("other", rest / 10)


_STEPS = {"read": "read", "compile": "compiled", "check": "checked", "count": "counted", "measure": "measured"}


def _is_fresh(judged: Judged | None, now: datetime) -> bool:
    return judged is not None and judged.ended_at is not None and now - judged.ended_at <= FRESH


def _solves_first(session: Session, submission: Submission) -> bool:
    solved = (
        select(func.min(Submission.id))
        .outerjoin(Result, Result.job_id == Submission.judged_job_id)
        .where(
            Submission.assignment_id == submission.assignment_id,
            Submission.person_id == submission.person_id,
            Submission.mode == Mode.RANK,
            Submission.verdict == Verdict.ACCEPTED,
            func.coalesce(Result.goals_missed, 0) == 0,
        )
    )
    return session.scalar(solved) == submission.id


def _judged(session: Session, submission: Submission) -> Judged | None:
    job = submission.judged_job
    if job is None or job.verdict is None:
        return None
    row = session.execute(select(Result.report, Result.device_class).where(Result.job_id == job.id)).one_or_none()
    packed, device_class = (None, job.device_class) if row is None else row
    rows = session.execute(_STEPS_AND_ATTEMPTS, {"job": job.id}).all()
    steps = {step.kind: step for step, *_ in rows}
    checked_at, measured_at = (_began(steps.get(kind)) for kind in (StepKind.CHECK, StepKind.MEASURE))
    measure = steps.get(StepKind.MEASURE)
    return Judged(
        job.verdict,
        device_class,
        job.exercise.name if job.exercise.course_id is None else "",
        packed,
        job.queued_at,
        job.ended_at,
        _waited("waited", job.queued_at, _earlier(job.started_at, checked_at)),
        None if measure is None else _waited("waited for a GPU", measure.queued_at, measured_at),
        checked_at,
        measured_at,
        tuple(_in_vain(rows)),
    )


_STEPS_AND_ATTEMPTS = (
    select(Step, Attempt.outcome, Attempt.started_at, Attempt.ended_at)
    .outerjoin(Attempt, and_(Attempt.step_id == Step.id, Attempt.outcome.in_([*_IN_VAIN])))
    .where(Step.job_id == bindparam("job"))
    .order_by(Attempt.started_at)
)


def _began(step: Step | None) -> datetime | None:
    """When the last worker began. The dispatcher may see its claim later than that; the worker's seconds show it."""
    if step is None:
        return None
    worked = None
    if step.ended_at is not None and step.seconds is not None:
        worked = step.ended_at - timedelta(seconds=step.seconds)
    return _earlier(step.started_at, worked)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """The earlier moment; None if the first is unknown."""
    return one if one is None or other is None else min(one, other)


def _in_vain(rows: Iterable[Row[*tuple[Any, ...]]]) -> Iterator[Duration]:
    """The duration of each started attempt that ended without a report."""
    for _, outcome, started_at, ended_at in rows:
        if outcome is not None and started_at is not None and ended_at is not None:
            yield Duration(_IN_VAIN[outcome], max(0.0, (ended_at - started_at).total_seconds()), started_at)


def _waited(title: str, queued_at: datetime, started_at: datetime | None) -> Duration | None:
    if started_at is None:
        return None
    return Duration(title, max(0.0, (started_at - queued_at).total_seconds()), queued_at)
