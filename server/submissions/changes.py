"""Cancel, retry and regrade: students cancel their own submissions, course staff any of the course."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, HintStep
from server.courses.service import CourseError, hold_course
from server.grading.attempts import cancelled, locked_job
from server.grading.models import NO_SOURCE, Job, JobKind, JobState, Priority, Step, StepState, judged_alike
from server.grading.queue_order import QueueOrder, in_state
from server.grading.service import Work, queue_job, queue_jobs
from server.submissions.models import REMOVED, StagedRegrade, Submission
from server.submissions.service import latest_job
from server.submissions.verdicts import latest_job_id
from server.teams.credit import is_for
from worker.contract.broker import BrokerUrlError, connect_redis
from worker.contract.messages import CPU_QUEUE, StepKind, Ticket
from worker.contract.redis_claims import RedisClaims

_ORDER = tuple(HintStep)
_OVER = frozenset({JobState.DONE, JobState.CANCELLED})
_AT_ONCE = 1_000
_ASK_SECONDS = 1.0


class NotPossible(CourseError):
    """The job's state doesn't allow this; the text names the state."""


@dataclass(frozen=True, slots=True)
class _Graded:
    """A submission that can be graded again. arch: of its last job."""

    submission: int
    created_at: datetime
    person: int
    source: str
    device_class: str
    arch: str


def ask_for_hint(session: Session, submission: Submission, hint: HintStep, person: int, now: datetime) -> None:
    """Show its students the hints up to this one from now on. Others' requests change nothing."""
    if not is_for(session, submission, person):
        return
    while (following := submission.hints().following) is not None and _ORDER.index(following) <= _ORDER.index(hint):
        if following is HintStep.FINDING:
            submission.finding_shown_at = now
        else:
            submission.edit_shown_at = now


def mark_seen_result(session: Session, submission_id: int, now: datetime) -> None:
    """Note that the owner saw the result, and the answer to a regrade request."""
    seen = update(Submission).where(Submission.id == submission_id, Submission.news_since <= now)
    session.execute(seen.values(news_since=None))


def retry(session: Session, number: int, actor: Person | None, now: datetime | None = None) -> Job:
    """Grade the same source again as a new job. The old job stays unchanged.

    The new job uses the assignment's current version of the exercise: workers refuse an exercise of another judge's
    version. After a system error or a cancellation it keeps its priority; otherwise it counts as a regrade.

    raise (NotPossible): the job isn't over or has no source, the submission has a later job, or it's a point of an
        experiment
    """
    moment = now or datetime.now(UTC)
    old = locked_job(session, number)
    if old.state not in _OVER:
        raise NotPossible(f"Job {old.id} is {old.state.value}. You can retry it once it is over.")
    if old.submission_id is None:
        raise NotPossible(f"Job {old.id} doesn't grade a submission. Start its experiment, regrade or check again.")
    latest = session.scalar(select(func.max(Job.id)).where(Job.submission_id == old.submission_id))
    if latest != old.id:
        raise NotPossible(f"Job {latest} is a later job of the same submission. Retry that one.")
    if old.source_digest == NO_SOURCE:
        raise NotPossible(f"You can't retry job {old.id}. {REMOVED}")
    failed = old.verdict is Verdict.SYSTEM_ERROR or old.state is JobState.CANCELLED
    assignment = _assignment_of(session, old)
    if assignment is not None:  # waits for a running update of its exercise
        session.refresh(assignment, with_for_update={"read": True, "of": Assignment})
    work = Work(
        kind=JobKind.REGRADE,
        priority=Priority(old.priority) if failed else max(Priority(old.priority), Priority.REGRADE),
        person=old.person_id,
        source=old.source_digest,
        exercise=old.exercise_id if assignment is None else assignment.exercise_id,
        arch=old.arch,
        device_class=old.device_class,
        tile=old.tile,
        submission=old.submission_id,
    )
    new = session.get_one(Job, queue_job(session, work, moment).job)
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
    """Grade submissions to an assignment again with its current settings. Returns the IDs of the new jobs.

    Submissions that already wait for such a grading are left out. The audit entry names the first and the last new job.
    The assignment's regrades between them belong to this request: a lock on the course keeps two requests apart.

    only: the IDs of the submissions; None for all
    by: the filter that chose them, in words; "" for none
    """
    moment = now or datetime.now(UTC)
    hold_course(session, assignment.course_id)
    session.refresh(assignment)  # it may have changed while this waited for the lock
    turns = QueueOrder(session, CPU_QUEUE, Priority.REGRADE)
    submissions = _to_grade(session, assignment, only)
    turns.know({graded.person for graded in submissions})
    jobs = queue_jobs(session, [_again(assignment, graded) for graded in submissions], moment, turns)
    if jobs:
        note(
            session, actor, "assignment.regraded", f"assignment {assignment.name}", now=moment,
            course_id=assignment.course_id, assignment=assignment.id, jobs=len(jobs), first=min(jobs), last=max(jobs),
            **({"filter": by} if by else {}),
        )  # fmt: skip
    return jobs


def regrade_staged(
    session: Session, assignment: Assignment, staged: StagedRegrade, now: datetime, only: Collection[int] | None = None
) -> list[int]:
    """Grade submissions again without an effect on them, as a part of a staged regrade. Returns the new jobs' IDs.

    Submissions that wait to be graded, or that this regrade has already, are left out.

    only: the IDs of the submissions; None for all
    """
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    known = set(session.scalars(select(Job.staged_for_id).where(Job.regrade_id == staged.id)))
    submissions = [graded for graded in _to_grade(session, assignment, only) if graded.submission not in known]
    turns = QueueOrder(session, CPU_QUEUE, Priority.REGRADE)
    turns.know({graded.person for graded in submissions})
    works = [
        replace(
            _again(assignment, graded),
            submission=None,
            regrade=staged.id,
            staged_for=graded.submission,
            exercise=staged.exercise_id or assignment.exercise_id,
        )
        for graded in submissions
    ]
    return queue_jobs(session, works, now, turns)


def regrade_others(session: Session, assignment: Assignment, now: datetime) -> list[int]:
    """Grade the submissions that another version of the exercise judged, or will judge. Returns the new jobs' IDs."""
    query = select(Submission.id).join(Job, Job.id == latest_job_id())
    others = query.where(Submission.assignment_id == assignment.id, ~judged_alike(assignment.exercise))
    return regrade(session, assignment, None, now, only=session.scalars(others).all())


def _again(assignment: Assignment, graded: _Graded) -> Work:
    same_device = graded.device_class in {"", assignment.device_class}
    return Work(
        kind=JobKind.REGRADE,
        priority=Priority.REGRADE,
        person=graded.person,
        source=graded.source,
        exercise=assignment.exercise_id,
        # A student may have chosen another device. Its architecture isn't the assignment's.
        arch=assignment.arch if same_device else graded.arch,
        device_class=graded.device_class,
        tile=assignment.tile,
        submission=graded.submission,
    )


def cancel(
    session: Session, number: int, actor: Person | None, now: datetime | None = None, *, noted: bool = True
) -> list[Ticket]:
    """End a job without a verdict. Returns the tickets to revoke after the commit.

    If its owner or a teammate cancels a started job, it uses an attempt. If someone else does, it doesn't: the steps
    count as never started. The rows of their attempts keep their times.

    actor: None for the system, or an operator at the command line
    noted: whether to write an audit entry; false if the caller writes one entry for many jobs

    raise (NotPossible): the job is over
    """
    moment = now or datetime.now(UTC)
    # The recorder locks this row too. After the lock, a measure step that it queued is visible.
    session.execute(select(Step.id).where(Step.job_id == number, Step.kind == StepKind.CHECK).with_for_update())
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    query = select(Step).where(Step.job_id == number, open_states).order_by(Step.id).with_for_update()
    steps = session.scalars(query.execution_options(populate_existing=True)).all()
    job = locked_job(session, number)
    if job.state in _OVER:
        raise NotPossible(f"Job {job.id} is {job.state.value}. There is nothing to cancel.")
    tickets = [cancelled(session, step, moment) for step in steps]
    job.state = JobState.CANCELLED
    job.ended_at = moment
    if actor is None or not _is_own(session, job, actor):
        # A started step would cost its owner an attempt, see server.submissions.allowance.
        session.execute(update(Step).where(Step.job_id == job.id).values(started_at=None))
    if noted:
        assignment = _assignment_of(session, job)
        course = None if assignment is None else assignment.course_id
        note(session, actor, "job.cancelled", f"job {job.id}", now=moment, course_id=course)
    return [ticket for ticket in tickets if ticket is not None]


def _is_own(session: Session, job: Job, actor: Person) -> bool:
    """Whether a job is the person's own or grades a submission of one of their teams."""
    if job.person_id == actor.id or job.submission_id is None:
        return job.person_id == actor.id
    return is_for(session, session.get_one(Submission, job.submission_id), actor.id)


def _assignment_of(session: Session, job: Job) -> Assignment | None:
    if job.submission_id is None:
        return None
    return session.scalars(
        select(Assignment)
        .join(Submission, Submission.assignment_id == Assignment.id)
        .where(Submission.id == job.submission_id)
    ).one()


def _to_grade(session: Session, assignment: Assignment, only: Collection[int] | None) -> list[_Graded]:
    """The submissions in order of time, only with the needed columns: they may be all of a course."""
    if only is None:
        found = _graded(session, assignment, Submission.assignment_id == assignment.id)
    else:
        # Databases limit the number of parameters in a statement.
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
        .where(which, Submission.assignment_id == assignment.id, Submission.source_digest != NO_SOURCE)
        .where(or_(Job.state.in_(_OVER), ~judged_alike(assignment.exercise)))
    )  # fmt: skip
    return [_Graded(*row) for row in session.execute(query)]


def cancel_own(session: Session, submission: Submission, person: Person) -> list[Ticket]:
    """Cancel a submission as its owner. Returns the tickets to revoke after the commit.

    raise (NotPossible): it is over, or course staff are regrading it
    """
    job = latest_job(session, submission.id)
    if job.kind is not JobKind.SUBMISSION:
        raise NotPossible("Course staff are regrading it. Only they can cancel that.")
    try:
        return cancel(session, job.id, person)
    except NotPossible as error:
        state = "cancelled" if job.state is JobState.CANCELLED else "graded"
        raise NotPossible(f"It is already {state}. There is nothing to cancel.") from error


def revoke(redis_url: str, tickets: Sequence[Ticket]) -> None:
    """Tell workers at once that these tickets are cancelled. Never fails.

    A worker that misses this only wastes its time: the database refuses results of these tickets.
    """
    if not tickets:
        return
    with suppress(BrokerUrlError, ConnectionError), connect_redis(redis_url, answer_seconds=_ASK_SECONDS) as client:
        claims = RedisClaims(client)
        for ticket in tickets:
            claims.revoke(ticket)
