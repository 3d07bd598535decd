"""Jobs that are ended or made once more: a student takes one back; staff cancel and regrade one or all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment
from server.courses.service import hold_course
from server.grading.attempts import cancelled, locked_job, locked_step
from server.grading.models import Job, JobKind, JobState, Priority, Step, StepState, judged_alike
from server.grading.queue_order import QueueOrder, in_state
from server.grading.service import Work, queue_job, queue_jobs
from server.submissions.models import Submission
from server.submissions.service import latest_job
from server.submissions.verdicts import latest_job_id
from worker.contract.broker import BrokerUrlError, connect_redis
from worker.contract.messages import CPU_QUEUE, StepKind, Ticket
from worker.contract.redis_claims import RedisClaims

_OVER = frozenset({JobState.DONE, JobState.CANCELLED})
_AT_ONCE = 1_000
_ASK_SECONDS = 1.0


class NotPossible(ValueError):
    """The job is not in a state for that; the text says in which it is."""


@dataclass(frozen=True, slots=True)
class _Graded:
    """A submission that can be graded again. arch: of its last job."""

    submission: int
    created_at: datetime
    person: int
    source: str
    device_class: str
    arch: str


def retry(session: Session, number: int, actor: Person | None, now: datetime | None = None) -> Job:
    """Grade the same once more, as a new job with attempts of its own: the old one stays as it ended.

    It is judged by the exercise as the assignment has it now: workers take nothing that another judge set.
    One that ended in a fault of our own, or was cancelled, keeps its place before others; any other is a regrade.
    raise (NotPossible): where it is not over, or a later job of the same submission is there
    """
    moment = now or datetime.now(UTC)
    old = locked_job(session, number)
    if old.state not in _OVER:
        raise NotPossible(f"Job {old.id} is {old.state.value}: it can be retried once it is over.")
    if old.submission_id is not None:
        latest = session.scalar(select(func.max(Job.id)).where(Job.submission_id == old.submission_id))
        if latest != old.id:
            raise NotPossible(f"Job {latest} grades the same submission, later: retry that one.")
    failed = old.verdict is Verdict.SYSTEM_ERROR or old.state is JobState.CANCELLED
    assignment = _assignment_of(session, old)
    if assignment is not None:  # as it is once nobody is bringing its exercise up to date
        session.refresh(assignment, with_for_update={"read": True, "of": Assignment})
    work = Work(
        kind=JobKind.REGRADE if old.submission_id is not None else JobKind.EXPERIMENT,
        priority=Priority(old.priority) if failed else max(Priority(old.priority), Priority.REGRADE),
        person=old.person_id,
        source=old.source_digest,
        exercise=old.exercise_id if assignment is None else assignment.exercise_id,
        arch=old.arch,
        device_class=old.device_class,
        tile=old.tile,
        submission=old.submission_id,
        experiment=old.experiment_id,
    )
    new = queue_job(session, work, moment)
    session.flush()
    course = None if assignment is None else assignment.course_id
    note(session, actor, "job.retried", f"job {old.id}", now=moment, course_id=course, job=new.id)
    return new


def regrade(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    now: datetime | None = None,
    *,
    only: Collection[int] | None = None,
    by: str = "",
) -> list[int]:
    """Grade submissions to an assignment again, as the assignment is now; returns the numbers of the new jobs.

    Left out is what waits to be graded in just this way. What is noted names the first and the last of the new jobs:
    those of kind "regrade" between them, for this assignment, are what was asked for here. Two that are asked for at
    once come one after the other, so that their numbers do not mingle, and the second finds what the first one queued.

    only: the numbers of the submissions; None for all
    by: what chose them, in words; "" where that is the assignment alone
    """
    moment = now or datetime.now(UTC)
    hold_course(session, assignment.course_id)
    session.refresh(assignment)  # whoever held the course may have changed it
    turns = QueueOrder(session, CPU_QUEUE, Priority.REGRADE)
    found = _to_grade(session, assignment, only)
    turns.know({one.person for one in found})
    made = queue_jobs(session, [_again(assignment, one) for one in found], moment, turns)
    if made:
        name = f"assignment {assignment.course.slug}/{assignment.slug}"
        note(
            session, actor, "assignment.regraded", name, now=moment, course_id=assignment.course_id,
            assignment=assignment.id, jobs=len(made), first=min(made), last=max(made),
            **({"filter": by} if by else {}),
        )  # fmt: skip
    return made


def _again(assignment: Assignment, graded: _Graded) -> Work:
    same_device = graded.device_class in {"", assignment.device_class}
    return Work(
        kind=JobKind.REGRADE,
        priority=Priority.REGRADE,
        person=graded.person,
        source=graded.source,
        exercise=assignment.exercise_id,
        arch=assignment.arch if same_device else graded.arch,
        device_class=graded.device_class,
        tile=assignment.tile,
        submission=graded.submission,
    )


def cancel(
    session: Session, number: int, actor: Person | None, now: datetime | None = None, *, noted: bool = True
) -> list[Ticket]:
    """End a job without a verdict; returns the tickets to revoke once that is committed.

    Whose it is pays for what a worker had begun. Where anybody else ends it, it is as if nobody had begun: what staff
    decide costs no student an attempt. The attempts keep when they were.

    actor: None for the system, or someone at the command line
    noted: whether to write it down; not for who ends many at once, and writes that down
    raise (NotPossible): where it is over
    """
    moment = now or datetime.now(UTC)
    # Whoever records the check holds this row: after that, a measure step that it queued can be seen.
    locked_step(session, number, StepKind.CHECK)
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    query = select(Step).where(Step.job_id == number, open_states).order_by(Step.id).with_for_update()
    steps = session.scalars(query.execution_options(populate_existing=True)).all()
    job = locked_job(session, number)
    if job.state in _OVER:
        raise NotPossible(f"Job {job.id} is {job.state.value}: there is nothing to cancel.")
    tickets = [cancelled(session, step, moment) for step in steps]
    job.state = JobState.CANCELLED
    job.ended_at = moment
    if actor is None or actor.id != job.person_id:
        session.execute(update(Step).where(Step.job_id == job.id).values(started_at=None))
    if noted:
        assignment = _assignment_of(session, job)
        course = None if assignment is None else assignment.course_id
        note(session, actor, "job.cancelled", f"job {job.id}", now=moment, course_id=course)
    return [ticket for ticket in tickets if ticket is not None]


def _assignment_of(session: Session, job: Job) -> Assignment | None:
    if job.submission_id is None:
        return None
    return session.scalars(
        select(Assignment)
        .join(Submission, Submission.assignment_id == Assignment.id)
        .where(Submission.id == job.submission_id)
    ).one()


def _to_grade(session: Session, assignment: Assignment, only: Collection[int] | None) -> list[_Graded]:
    """The submissions in question, as they came; no more of each than is needed, as they may be all of a course."""
    if only is None:
        found = _graded(session, assignment, Submission.assignment_id == assignment.id)
    else:
        chosen = sorted(only)
        found = [
            one
            for start in range(0, len(chosen), _AT_ONCE)
            for one in _graded(session, assignment, Submission.id.in_(chosen[start : start + _AT_ONCE]))
        ]
    return sorted(found, key=lambda one: (one.created_at, one.submission))


def _graded(session: Session, assignment: Assignment, which: ColumnElement[bool]) -> list[_Graded]:
    query = (
        select(
            Submission.id, Submission.created_at, Submission.person_id, Submission.source_digest,
            Submission.device_class, Job.arch,
        )
        .join(Job, Job.id == latest_job_id())
        .where(which, Submission.assignment_id == assignment.id)
        .where(or_(Job.state.in_(_OVER), ~judged_alike(assignment.exercise)))
    )  # fmt: skip
    return [_Graded(*row) for row in session.execute(query)]


def take_back(session: Session, submission: Submission, person: Person) -> list[Ticket]:
    """End its grading; returns the tickets to revoke once that is committed.

    raise (NotPossible): where it is over, or is graded again, which is for staff to end
    """
    job = latest_job(session, submission.id)
    if job.kind is not JobKind.SUBMISSION:
        raise NotPossible("It was graded, and staff had it graded again: only they can end that.")
    try:
        return cancel(session, job.id, person)
    except NotPossible as error:
        before = "It was stopped before" if job.state is JobState.CANCELLED else "It is graded already"
        raise NotPossible(f"{before}: there is nothing to stop.") from error


def revoke(redis_url: str, tickets: Sequence[Ticket]) -> None:
    """Let workers hear at once that nobody wants these any more. It never fails.

    One who does not hear works in vain: the database takes no result of them any more.
    """
    if not tickets:
        return
    with (
        suppress(BrokerUrlError, ConnectionError),
        connect_redis(redis_url, answer_seconds=_ASK_SECONDS) as client,
    ):
        claims = RedisClaims(client)
        for ticket in tickets:
            claims.revoke(ticket)
