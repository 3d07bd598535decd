"""The data of a submission's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session, aliased, joinedload

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.assignments.form import form_of
from server.assignments.tasks import task_of
from server.courses.models import Accommodation, Assignment, Correction, Exercise, Extension
from server.courses.service import is_staff
from server.grades.grade import Decisions
from server.grading.metric import tiles_of
from server.grading.models import Attempt, AttemptOutcome, Job, JobKind, JobState, Result, Source, StepState
from server.submissions.hints import Hints
from server.submissions.models import Mode, Submission
from server.submissions.progress.jobs import (
    STATUS_COLUMNS,
    StepStatus,
    SubmissionStatus,
    read_statuses,
    status_from,
    steps_of,
    with_status,
)
from server.submissions.queries import NAMED, visible_row, visible_submission
from server.submissions.result.worth import Earned, earned
from server.talk.comments import ASKED, Asked
from server.teams.credit import is_for
from worker.contract.messages import StepKind

_IN_VAIN = {AttemptOutcome.LOST: "worker lost, restarted", AttemptOutcome.FAULT: "worker error, restarted"}

FRESH = timedelta(hours=1)
"""How long a result is celebrated."""


def _of_owner(decided: type[Extension | Correction]) -> ColumnElement[bool]:
    return and_(decided.assignment_id == Submission.assignment_id, decided.person_id == Submission.person_id)


_Owner, _Used = aliased(Person), aliased(Exercise)
_JUDGED = (
    Job.id, Job.verdict, Job.device_class, Job.queued_at, Job.started_at, Job.ended_at, _Used.name, _Used.course_id,
    Result.report, Result.device_class,
)  # fmt: skip
# Columns, not objects: a page shows few of them, and objects take more time than the rest of the query.
_PAGE = (
    with_status(NAMED)
    .add_columns(*ASKED, _Owner.name, _Owner.email, Source.content, Extension, Correction, Accommodation, *_JUDGED)
    .join(_Owner, _Owner.id == Submission.person_id)
    .join(Source, Source.digest == Submission.source_digest)
    .outerjoin(Extension, _of_owner(Extension))
    .outerjoin(Correction, _of_owner(Correction))
    .outerjoin(
        Accommodation,
        and_(
            Accommodation.person_id == Submission.person_id,
            Accommodation.course_id
            == select(Assignment.course_id)
            .where(Assignment.id == Submission.assignment_id)
            .correlate(Submission)
            .scalar_subquery(),
        ),
    )
    .outerjoin(Job, Job.id == Submission.judged_job_id)
    .outerjoin(_Used, _Used.id == Job.exercise_id)
    .outerjoin(Result, Result.job_id == Job.id)
    .options(joinedload(Submission.assignment, Assignment.exercise))
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
    own: whether it is the reader's or their team's; staff: whether the reader is course staff
    mate: whether another member of the reader's team submitted it
    viewed: whether course staff view the page as the student, and can't submit
    form: the key of the form that sent it; "" for another reader or a program
    status: its progress; asked: what was said about it
    judged: the result that gave its verdict, None before the first verdict
    closed_at: when the student's last chance to submit ended; None if the assignment is open
    earned: what it is worth to its student; nothing before the verdict
    solves_first: whether it is the reader's own and fresh, and the first accepted one that misses no goal
    several_tiles: whether the exercise allows more than one tile
    removed: why source and findings are gone; "" if they are there
    hints: what the reader sees of a mistake
    news: whether it has a verdict or an answer that its owner hasn't seen
    asked_for: the hints that the student asked for, and when; only for course staff
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
    mate: bool
    staff: bool
    viewed: bool
    mode: Mode
    limited: bool
    device_class: str
    created_at: datetime
    form: str
    source: str
    status: SubmissionStatus
    asked: Asked
    judged: Judged | None
    earned: Earned
    solves_first: bool
    several_tiles: bool
    removed: str
    hints: Hints
    news: bool
    asked_for: tuple[tuple[str, datetime], ...]

    @property
    def file(self) -> str:
        return f"{self.assignment}-{self.public_id[:8]}.cu"

    @property
    def has_editor(self) -> bool:
        """Whether the reader can change the source in the assignment's editor. Course staff can after it closed."""
        over = self.archived or self.viewed or (self.closed_at is not None and not self.staff)
        return self.own and not over and not self.removed

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
        possible = self.status.over and not self.archived and not self.removed
        return failed and possible and (self.own or self.staff)


def read_page(
    session: Session, person: int, public_id: str, now: datetime, *, viewed: bool = False
) -> SubmissionPage | None:
    """Read the page; None if there is no such submission, or the person may not see it.

    viewed: whether course staff view it as the person
    """
    found = visible_row(session, _PAGE, person, public_id)
    if found is None:
        return None
    submission, role, columns = found
    status = status_from(session, columns[:STATUS_COLUMNS], now)
    comments, new, request, name, email, source, extension, correction, accommodation, *job = columns[STATUS_COLUMNS:]
    assignment = submission.assignment
    course, staff = assignment.course, is_staff(role)
    own = is_for(session, submission, person)
    # Each member of a team sees their own points.
    whose = person if own else submission.person_id
    decided = Decisions(extension, correction, accommodation) if whose == submission.person_id else None
    task = task_of(session, assignment, whose, [submission.id], decided)
    judged = _judged(session, job, status)
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
        person=name,
        email=email,
        own=own,
        mate=own and submission.person_id != person,
        staff=staff,
        viewed=viewed,
        mode=submission.mode,
        limited=submission.mode is Mode.CHECK or assignment.attempts is not None,
        device_class=submission.device_class,
        created_at=submission.created_at,
        form=form_of(submission.idempotency_key) if submission.person_id == person else "",
        source=source.decode("utf-8", "replace"),
        status=status,
        asked=Asked(comments, new, request),
        judged=judged,
        earned=earned(session, submission, whose, now, as_staff=staff, task=task),
        solves_first=submission.person_id == person and _is_fresh(judged, now) and _solves_first(session, submission),
        several_tiles=len(tiles_of(assignment.exercise)) > 1,
        removed=submission.removed,
        hints=submission.hints(staff=staff),
        news=submission.news_since is not None and submission.person_id == person,
        asked_for=_asked_for(submission) if staff else (),
    )


def _asked_for(submission: Submission) -> tuple[tuple[str, datetime], ...]:
    asked = (("what is wrong", submission.finding_shown_at), ("the edit", submission.edit_shown_at))
    return tuple((hint, moment) for hint, moment in asked if moment is not None)


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


def _judged(session: Session, job: Sequence[Any], status: SubmissionStatus) -> Judged | None:
    """The result of a job, given by its columns of _JUDGED."""
    number, verdict, asked, queued_at, started_at, ended_at, exercise, owner, packed, device_class = job
    if verdict is None:
        return None
    steps = status.steps if status.id == number else steps_of(session, number)
    by_kind = {step.kind: step for step in steps}
    checked_at, measured_at = (_began(by_kind.get(kind)) for kind in (StepKind.CHECK, StepKind.MEASURE))
    measure = by_kind.get(StepKind.MEASURE)
    return Judged(
        verdict,
        asked if device_class is None else device_class,
        exercise if owner is None else "",
        packed,
        queued_at,
        ended_at,
        _waited("waited", queued_at, _earlier(started_at, checked_at)),
        None if measure is None else _waited("waited for a GPU", measure.queued_at, measured_at),
        checked_at,
        measured_at,
        tuple(_in_vain(session, steps)),
    )


def _began(step: StepStatus | None) -> datetime | None:
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


def _in_vain(session: Session, steps: Sequence[StepStatus]) -> Iterator[Duration]:
    """The duration of each started attempt that ended without a report. Usually there are none, so nothing is read."""
    tried = [step.id for step in steps if step.attempt > 1 or step.state is not StepState.DONE]
    if not tried:
        return
    found = select(Attempt).where(Attempt.step_id.in_(tried), Attempt.outcome.in_([*_IN_VAIN]))
    for each in session.scalars(found.order_by(Attempt.started_at)):
        if each.outcome is not None and each.started_at is not None and each.ended_at is not None:
            seconds = max(0.0, (each.ended_at - each.started_at).total_seconds())
            yield Duration(_IN_VAIN[each.outcome], seconds, each.started_at)


def _waited(title: str, queued_at: datetime, started_at: datetime | None) -> Duration | None:
    if started_at is None:
        return None
    return Duration(title, max(0.0, (started_at - queued_at).total_seconds()), queued_at)
