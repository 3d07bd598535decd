"""Regrade submissions of a course: what may change, progress, and cancelling what still waits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from kernels.wording import plural, rounded_points
from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.audit.service import note
from server.courses.models import Assignment, Counts
from server.courses.service import CourseError
from server.database.engine import Sessions
from server.fields import INTERNAL, JsonName
from server.grades.grade import Grade
from server.grades.losses import CONFIRMED, Loss, digest_of, losses, students_grades
from server.grading.models import Job, JobKind, JobState
from server.regrades.staging import find_staged, stage
from server.submissions.changes import NotPossible, cancel, regrade
from server.submissions.course_submissions import Chosen, chosen
from server.submissions.criteria import SubmissionCriteria
from server.submissions.models import Submission
from worker.contract.messages import Ticket

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Risk:
    """A student who may lose points, all of them in the worst case. assignment: its short name."""

    assignment: str
    loss: Loss


class MayLowerPoints(CourseError):
    """A regrade at once may lower points, and this wasn't confirmed. Nothing was queued."""

    def __init__(self, risks: tuple[Risk, ...]) -> None:
        super().__init__(_told(risks))
        self.risks = risks
        self.digest = risk_digest(risks)


def regrade_risks(session: Session, chosen: Sequence[Chosen]) -> tuple[Risk, ...]:
    """The students whose points depend on these submissions, by assignment and name.

    A correction protects a student: a regrade changes neither an override nor an excuse.
    """
    regraded: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in chosen:
        if not one.waits:
            regraded[one.assignment_id][one.person_id].append(one.number)
    found: list[Risk] = []
    for number, by_person in sorted(regraded.items()):
        assignment = session.get_one(Assignment, number)
        before = {
            person: grade
            for person, grade in students_grades(session, assignment).items()
            if _depends(assignment, grade, by_person.get(person, ()))
        }
        found += (Risk(assignment.slug, loss) for loss in losses(session, before, {}))
    return tuple(found)


def risk_digest(risks: Sequence[Risk]) -> str:
    """A digest of risks, by which a form or a request confirms exactly these."""
    return digest_of(one.loss for one in risks)


def refuse_unconfirmed(session: Session, chosen: Sequence[Chosen], confirmed: str) -> None:
    """Refuse a regrade at once that may lower points.

    confirmed: the digest of the risks that were shown, or CONFIRMED

    raise (MayLowerPoints): points may fall, and these risks weren't confirmed
    """
    if confirmed == CONFIRMED:
        return
    risks = regrade_risks(session, chosen)
    if risks and confirmed != risk_digest(risks):
        raise MayLowerPoints(risks)


def _depends(assignment: Assignment, grade: Grade, regraded: Sequence[int]) -> bool:
    """Whether the regrade of these submissions may lower the grade."""
    if grade.counted is None or grade.score is not None or grade.excused:
        return False
    counted = grade.counted.entry.submission_id
    # A later one without a verdict may get one, and then counts.
    last = assignment.counts is Counts.LAST
    return any(one == counted or (last and one > counted) for one in regraded)


def _told(risks: tuple[Risk, ...]) -> str:
    people = len({one.loss.person_id for one in risks})
    lines = "\n".join(_lines(risks))
    return (
        f"this may lower the points of {plural(people, 'student')}:\n{lines}\nNothing changed. See the new points "
        "first with --stage, or confirm with --yes."
    )


def _lines(risks: tuple[Risk, ...]) -> Iterator[str]:
    for one in risks[:_TOLD]:
        points = rounded_points(one.loss.was.points or 0.0)
        yield f"  {one.loss.name} <{one.loss.email}>: {points} points for {one.assignment}"
    if len(risks) > _TOLD:
        yield f"  and {len(risks) - _TOLD:,} more"


MOST = 5_000
"""How many submissions one request regrades."""

_DID = "assignment.regraded"
_AT_ONCE = 100
_LONGEST_SECONDS = 10.0
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Planned:
    """The submissions to regrade. more: whether further matches follow; filter: the filter in words."""

    submissions: tuple[Chosen, ...]
    more: bool
    filter: str

    @property
    def waiting(self) -> int:
        return sum(one.waits for one in self.submissions)

    @property
    def count(self) -> int:
        return len(self.submissions) - self.waiting

    @property
    def last(self) -> int:
        return self.submissions[-1].number if self.submissions else 0


@dataclass(frozen=True, slots=True)
class Regrade:
    """A regrade and how many of its submissions are in each state. by: None for the command line."""

    number: Annotated[int, JsonName("id")]
    at: datetime
    by: str | None
    course: Annotated[str, INTERNAL]
    assignment_id: Annotated[int, INTERNAL]
    assignment: str
    title: Annotated[str, INTERNAL]
    first: Annotated[int, INTERNAL]
    last: Annotated[int, INTERNAL]
    total: int
    waiting: int
    running: int
    done: int
    cancelled: int

    @property
    def over(self) -> bool:
        return not self.waiting and not self.running


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """A changed verdict. public_id: the submission's ID; was: None for no verdict yet."""

    public_id: Annotated[str, JsonName("submission")]
    person_id: Annotated[int, INTERNAL]
    student: Annotated[str, JsonName("name")]
    email: Annotated[str, INTERNAL]
    was: Verdict | None
    now: Verdict


def plan(
    session: Session,
    course_id: int,
    asked: SubmissionCriteria,
    newest: int | None = None,
    *,
    after: int = 0,
    most: int | None = None,
) -> Planned:
    """Match submissions with a filter. most: the limit; None for all, if no request waits for the answer.

    after, newest: only submissions with IDs between them; newest: None for no limit
    """
    found = chosen(session, course_id, asked, after, newest, None if most is None else most + 1)
    return Planned(tuple(found[:most]), most is not None and len(found) > most, asked.narrowed)


def begin(
    session: Session, planned: Planned, actor: Person | None, confirmed: str, now: datetime | None = None
) -> list[int]:
    """Regrade all planned submissions; returns the IDs of the new jobs.

    confirmed: of the points that may fall, see `refuse_unconfirmed`; raises MayLowerPoints

    raise (NotPossible): a regrade of one of the assignments is staged
    """
    numbers = sorted({one.assignment_id for one in planned.submissions})
    assignments = [session.get_one(Assignment, number) for number in numbers]
    for assignment in assignments:
        if find_staged(session, assignment) is not None:
            raise NotPossible(f"A regrade of {assignment.title} is staged. Apply or drop it first.")
    refuse_unconfirmed(session, planned.submissions, confirmed)
    made: list[int] = []
    for assignment in assignments:
        only = {one.number for one in planned.submissions if one.assignment_id == assignment.id}
        made += regrade(session, assignment, actor, now, only=only, by=planned.filter)
    return made


def begin_staged(session: Session, planned: Planned, actor: Person | None, now: datetime | None = None) -> list[int]:
    """Stage a regrade of the planned submissions, or add them to staged ones. Returns the new jobs' IDs."""
    made: list[int] = []
    for number in sorted({one.assignment_id for one in planned.submissions}):
        only = [one.number for one in planned.submissions if one.assignment_id == number]
        made += stage(session, session.get_one(Assignment, number), actor, only, planned.filter, now)
    return made


def runs(session: Session, course_id: int, limit: int = 10, number: int | None = None) -> list[Regrade]:
    """A course's latest regrades, newest first. number: only this one."""
    query = (
        select(AuditEvent, Person.name)
        .outerjoin(Person, Person.id == AuditEvent.actor_id)
        .where(AuditEvent.course_id == course_id, AuditEvent.action == _DID)
        .order_by(AuditEvent.id.desc())
        .limit(limit)
    )
    if number is not None:
        query = query.where(AuditEvent.id == number)
    found = [_run(session, event, name) for event, name in session.execute(query).all()]
    return [run for run in found if run is not None]


def changed_verdicts(session: Session, run: Regrade) -> list[ChangedVerdict]:
    """Changed verdicts, the first hundred. A system error isn't a verdict."""
    before = aliased(Job)
    earlier = (
        select(before.verdict)
        .where(
            before.submission_id == Job.submission_id,
            before.id < Job.id,
            before.state == JobState.DONE,
            before.verdict != Verdict.SYSTEM_ERROR,
        )
        .order_by(before.id.desc())
        .limit(1)
        .correlate(Job)
        .scalar_subquery()
    )
    query = (
        select(Submission.public_id, Person.id, Person.name, Person.email, earlier, Job.verdict)
        .join(Submission, Submission.id == Job.submission_id)
        .join(Person, Person.id == Submission.person_id)
        .where(
            *_of(run.first, run.last, run.assignment_id), Job.state == JobState.DONE,
            Job.verdict != Verdict.SYSTEM_ERROR, Job.verdict != earlier,
        )
        .order_by(Job.id)
        .limit(_SHOWN)
    )  # fmt: skip
    return [ChangedVerdict(*row) for row in session.execute(query)]


def cancel_waiting(sessions: Sessions, run: Regrade, course_id: int, actor_id: int | None) -> list[Ticket]:
    """Cancel jobs that no worker has started, within a request's time; returns the tickets to revoke.

    Their submissions keep their verdicts.
    """
    tickets: list[Ticket] = []
    last = time.monotonic() + _LONGEST_SECONDS
    count = 0
    while time.monotonic() < last:
        with sessions.begin() as session:
            actor = None if actor_id is None else session.get_one(Person, actor_id)
            some = session.scalars(_waiting(run).limit(_AT_ONCE)).all()
            ended = _cancel(session, some, actor, tickets)
            if not some:
                break
            count += ended
    with sessions.begin() as session:
        actor = None if actor_id is None else session.get_one(Person, actor_id)
        subject = f"assignment {run.course}/{run.assignment}"
        note(session, actor, "regrade.cancelled", subject, course_id=course_id, regrade=run.number, jobs=count)
    return tickets


def _cancel(session: Session, numbers: Sequence[int], actor: Person | None, tickets: list[Ticket]) -> int:
    ended = 0
    for number in numbers:
        try:
            tickets += cancel(session, number, actor, noted=False)
        except NotPossible:  # it finished meanwhile
            continue
        ended += 1
    return ended


def _waiting(run: Regrade) -> Select[int]:
    return (
        select(Job.id)
        .join(Submission, Submission.id == Job.submission_id)
        .where(*_of(run.first, run.last, run.assignment_id), Job.state == JobState.QUEUED)
        .order_by(Job.id.desc())
    )


def _run(session: Session, event: AuditEvent, by: str | None) -> Regrade | None:
    number, first, last = (event.detail.get(name) for name in ("assignment", "first", "last"))
    if not (isinstance(number, int) and isinstance(first, int) and isinstance(last, int)):
        return None
    assignment = session.get(Assignment, number)
    if assignment is None or assignment.course_id != event.course_id:
        return None
    counted = (
        select(Job.state, func.count())
        .join(Submission, Submission.id == Job.submission_id)
        .where(*_of(first, last, assignment.id))
        .group_by(Job.state)
    )
    states: dict[JobState, int] = {state: count for state, count in session.execute(counted)}  # noqa: C416 - typed so
    return Regrade(
        event.id, event.at, by, assignment.course.slug, assignment.id, assignment.slug, assignment.title, first, last,
        sum(states.values()), states.get(JobState.QUEUED, 0), states.get(JobState.RUNNING, 0),
        states.get(JobState.DONE, 0), states.get(JobState.CANCELLED, 0),
    )  # fmt: skip


def _of(first: int, last: int, assignment: int) -> tuple[ColumnElement[bool], ...]:
    """The jobs of a run. Between its first and last ID, no other run created jobs for this assignment."""
    return (Job.id.between(first, last), Job.kind == JobKind.REGRADE, Submission.assignment_id == assignment)
