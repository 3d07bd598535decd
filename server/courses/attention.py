"""What course staff should look at: deadlines, missing submissions, system errors, queues without workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, bindparam, exists, func, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.accounts.service import was_here
from server.assignments.exercise_update import is_judged
from server.assignments.extension_requests import count_open
from server.copies.exact_copies import count_copies
from server.courses.models import Assignment, Correction, Extension, Membership, Role
from server.courses.service import assignments_for
from server.grading.fleet_state import QueueStatus, queues_known
from server.grading.models import Job, Result, Step
from server.grading.queue_order import IN_FLIGHT, QUEUED
from server.submissions.allowance import accommodations_in
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, Submission
from server.submissions.verdicts import latest_job_id
from server.teams.credit import credited
from worker.contract.messages import CPU_QUEUE, gpu_queue

SOON = timedelta(days=7)
JUST_OVER = timedelta(days=2)
RECENT = timedelta(days=1)
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Deadline:
    """An assignment that is due soon or was due recently. missing: students without a submission.

    students: without excused ones
    names: the IDs and names of the first of the missing students
    """

    slug: str
    title: str
    due_at: datetime
    past: bool
    students: int
    missing: int
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """The figures of the staff's overview page.

    refused: open assignments that workers of this version can't grade
    copies: open groups of students with the same file, by assignment
    extensions: open extension requests, by assignment
    faults: submissions that ended in a system error; waiting: submissions that aren't graded yet
    recent: submissions within the last day, without checks
    never_here: students who never signed in or used a token
    with_code: students who joined with a code; with_code_lately: within the last day
    queues: the queues that the course's assignments use. Their steps may be from any course
    """

    deadlines: tuple[Deadline, ...]
    refused: tuple[Assignment, ...]
    copies: tuple[tuple[Assignment, int], ...]
    extensions: tuple[tuple[Assignment, int], ...]
    faults: int
    waiting: int
    recent: int
    students: int
    never_here: int
    with_code: int
    with_code_lately: int
    queues: tuple[QueueStatus, ...]

    @property
    def nothing_graded(self) -> bool:
        """Whether no worker compiles and checks, so that nothing at all is graded."""
        return not any(queue.takers for queue in self.queues if queue.name == CPU_QUEUE)

    @property
    def stuck(self) -> bool:
        return any(queue.stuck for queue in self.queues)


def attention(session: Session, course_id: int, now: datetime) -> Attention:
    """Collect all figures, with few queries however many submissions there are."""
    found = assignments_for(session, course_id, Role.INSTRUCTOR)
    students = _students(session, course_id)
    with_code = [person for person in students if person.proven_at is None]
    numbers = [one.id for one in found]
    copies, asked = count_copies(session, numbers), count_open(session, numbers)
    in_course = Submission.assignment_id.in_(numbers)
    recent = (
        select(func.count())
        .select_from(Submission)
        .where(in_course, Submission.mode == Mode.RANK, Submission.created_at > now - RECENT)
    )
    return Attention(
        tuple(_deadlines(session, found, students, now)), tuple(_refused(found, now)),
        tuple((one, copies[one.id]) for one in found if one.id in copies),
        tuple((one, asked[one.id]) for one in found if one.id in asked), _faults(session, numbers),
        _waiting(session, numbers), session.scalar(recent) or 0, len(students),
        _never_here(session, students), len(with_code),
        sum(person.created_at > now - RECENT for person in with_code),
        queues_known(session, now, {gpu_queue(one.device_class) for one in found if one.device_class}),
    )  # fmt: skip


def _refused(assignments: Sequence[Assignment], now: datetime) -> Iterator[Assignment]:
    for one in assignments:
        closed = one.closes_at is not None and one.closes_at < now
        if not closed and not is_judged(one.exercise):
            yield one


def _students(session: Session, course_id: int) -> Sequence[Person]:
    return session.scalars(
        select(Person)
        .join(Membership, Membership.person_id == Person.id)
        .where(
            Membership.course_id == course_id,
            Membership.role == Role.STUDENT,
            Membership.dropped_at.is_(None),
            Person.erased_at.is_(None),
        )
        .order_by(Person.name)
    ).all()


def _never_here(session: Session, students: Sequence[Person]) -> int:
    without = [person.id for person in students if person.password is None]
    numbers = bindparam(None, without, Person.id.type, expanding=True, literal_execute=True)
    query = select(func.count()).select_from(Person).where(Person.id.in_(numbers), ~was_here())
    return (session.scalar(query) or 0) if without else 0


def _deadlines(
    session: Session, assignments: Sequence[Assignment], students: Sequence[Person], now: datetime
) -> list[Deadline]:
    near = [one for one in assignments if one.listed and _is_near(one, now)]
    handed_in = {one.id: _handed_in(session, one) for one in near}
    later = select(Extension.assignment_id, Extension.person_id).where(
        Extension.assignment_id.in_(handed_in), Extension.due_at > now
    )
    for assignment, person in session.execute(later):
        handed_in[assignment].add(person)  # has more time, so isn't missing
    for given in accommodations_in(session, near[0].course_id).values() if near else ():
        for one in near:
            due_at = due_for(one, None, given).due_at
            if due_at is not None and one.due_at is not None and due_at > max(now, one.due_at):
                handed_in[one.id].add(given.person_id)
    decided = select(Correction.assignment_id, Correction.person_id).where(
        Correction.assignment_id.in_(handed_in), Correction.excused
    )
    excused = {(assignment, person) for assignment, person in session.execute(decided)}
    made = []
    for one in near:
        assert one.due_at is not None
        expected = [person for person in students if (one.id, person.id) not in excused]
        missing = [(person.id, person.name) for person in expected if person.id not in handed_in[one.id]]
        made.append(
            Deadline(
                one.slug, one.title, one.due_at, one.due_at < now, len(expected), len(missing), tuple(missing[:_NAMED])
            )
        )
    return made


def _handed_in(session: Session, assignment: Assignment) -> set[int]:
    """The students of the course with a submission, by one index look-up for each student."""
    one = credited([assignment])
    any_of_theirs = exists().where(
        one.assignment_id == assignment.id, one.person_id == Membership.person_id, one.mode == Mode.RANK
    )
    query = select(Membership.person_id).where(Membership.course_id == assignment.course_id, any_of_theirs)
    return set(session.scalars(query))


def _is_near(assignment: Assignment, now: datetime) -> bool:
    opened = assignment.opens_at is None or assignment.opens_at <= now
    due = assignment.due_at
    return opened and due is not None and now - JUST_OVER <= due <= now + SOON


def _waiting(session: Session, numbers: Sequence[int]) -> int:
    """Count ungraded submissions, by the indexes of unfinished steps."""
    found = 0
    for is_open in (QUEUED, IN_FLIGHT):
        query = (
            select(func.count())
            .select_from(Step)
            .join(Job, Job.id == Step.job_id)
            .join(Submission, Submission.id == Job.submission_id)
            .where(is_open, Submission.assignment_id.in_(numbers))
        )
        found += session.scalar(query) or 0
    return found


def _faults(session: Session, numbers: Sequence[int]) -> int:
    """Count submissions that ended in a system error and weren't regraded since."""
    query = (
        select(func.count())
        .select_from(Result)
        .join(Job, Job.id == Result.job_id)
        .join(Submission, and_(Submission.id == Job.submission_id, Submission.judged_job_id == Job.id))
        .where(Result.verdict == Verdict.SYSTEM_ERROR, Submission.assignment_id.in_(numbers), Job.id == latest_job_id())
    )
    return session.scalar(query) or 0
