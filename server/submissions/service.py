"""Accept a submission in one transaction. After that it is graded whatever happens.

This module sends nothing. The rows are the queue, and the dispatcher finds them.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.copies.exact_copies import note_copy
from server.courses.models import Accommodation, Assignment, Extension, Role
from server.courses.service import is_shown, is_staff, role_from, role_in, select_assignment, with_role
from server.database.base import BigId
from server.database.engine import Sessions
from server.fleet.service import device_classes
from server.grades.grade import late_days_of
from server.grading.models import Job, JobKind
from server.grading.queue import place_of, position_of
from server.grading.service import Work, add_source, priority_of, queue_job
from server.submissions.allowance import limits_of
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, Submission
from server.submissions.refusals import IdempotencyConflict, NoSuchAssignment, NotAccepted, NotOpen, UnusableRequest
from server.submissions.source import SubmittedSource
from server.teams.credit import is_for
from server.teams.deadlines import shared_deadlines
from server.teams.queries import hold_team
from worker.contract.messages import CPU_QUEUE

CPU = "cpu"
"""The device class of an assignment without a GPU; "" in the database."""

_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_NO_ASSIGNMENT = "There is no such assignment in your courses."


@dataclass(frozen=True, slots=True)
class SubmissionInput:
    """A submission to accept.

    assignment: its ID, or its name such as "demo/tiled"
    device_class: None for the assignment's own
    key: the client's idempotency key; a repeated request with the same key is one submission
    late_days: how many of the student's late days it may spend; None if the student wasn't asked
    """

    person: int
    assignment: int | str
    source: SubmittedSource
    mode: Mode = Mode.RANK
    device_class: str | None = None
    key: str | None = None
    late_days: int | None = None

    def digest(self, assignment: int) -> str:
        """SHA-256 of the whole request; `assignment` is the ID."""
        asked = [assignment, self.source.digest, self.mode.value, self.device_class]
        if self.late_days is not None:
            asked.append(self.late_days)
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted submission.

    position: in the queue, 0 in progress; None if it is over, which a repeated submission may be, or if nobody asked
    repeated: whether an earlier request with the same key created it
    """

    submission: Submission
    position: int | None
    repeated: bool = False


def accept(
    sessions: Sessions,
    submitted: SubmissionInput,
    now: datetime | None = None,
    *,
    most_under_way: int | None = None,
    most_a_day: int | None = None,
    positioned: bool = True,
    first: Callable[[Session], None] = lambda _session: None,
) -> Accepted:
    """Store a submission and its job; both are committed when this returns.

    now: the time of acceptance, which decides whether the submission is late
    most_under_way: ungraded submissions of one student to one assignment; None if unlimited
    most_a_day: stored submissions of one person in 24 hours; None if unlimited
    positioned: whether to look up the position in the queue
    first: writes in the same transaction, which are kept even if the submission is refused

    raise (NotAccepted): a subclass that says why it is refused
    """
    moment = now or datetime.now(UTC)
    most = _Most(most_under_way, most_a_day, positioned=positioned, first=first)
    if submitted.key is not None and not _KEY.fullmatch(submitted.key):
        raise UnusableRequest("The idempotency key must be 1 to 200 visible ASCII characters.")
    try:
        return _accept(sessions, submitted, moment, most)
    except IntegrityError:
        # Another request was a moment faster: with the same key, now its submission can be read. Or it deleted a trial
        # with the same source, which now is stored again.
        return _accept(sessions, submitted, moment, most)


@dataclass(frozen=True, slots=True)
class _Most:
    under_way: int | None
    a_day: int | None
    positioned: bool
    first: Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class _Target:
    """The assignment with its course, and what its person is there.

    earlier: the ID of the person's submission with the same key; None for none
    role: None for a stranger
    """

    assignment: Assignment
    extension: Extension | None
    accommodation: Accommodation | None
    earlier: int | None
    role: Role | None


def _accept(sessions: Sessions, submitted: SubmissionInput, now: datetime, most: _Most) -> Accepted:
    with sessions.begin() as session:
        # The turn comes before all reads: they must see the person's earlier requests committed. And before all writes,
        # because a person is erased in this order.
        wait_for_turn(session, submitted.person)
        most.first(session)
        try:
            return _store(session, submitted, now, most)
        except NotAccepted as error:
            refused = error  # after the commit
    raise refused


def _store(session: Session, submitted: SubmissionInput, now: datetime, most: _Most) -> Accepted:
    """Store it, or find the earlier one with its key. Raises NotAccepted before it writes."""
    target = _find_target(session, submitted, lock=True)
    earlier = _find_earlier(session, submitted, target)
    if earlier is not None:
        place = place_of(session, latest_job(session, earlier.id), now)
        return Accepted(earlier, place.position, repeated=True)
    assignment, staff = _open_to(target, now), target.role is not Role.STUDENT
    team = None if staff else hold_team(session, assignment, submitted.person)
    shared = shared_deadlines(session, [assignment], submitted.person) if team is not None else {}
    deadlines = shared.get(assignment.id) or due_for(assignment, target.extension, target.accommodation)
    allowance, kept = limits_of(session, assignment, target.extension, deadlines, submitted.person, now)
    if not staff and (refused := allowance.refusal(submitted.mode, now, most.under_way)) is not None:
        raise refused
    if most.a_day is not None and (many := kept.refusal(now, most.a_day)) is not None:
        raise many
    device_class, arch = _device(session, assignment, submitted, now)
    covered = 0 if staff else _covered(session, assignment, submitted, now)
    source = submitted.source
    is_new = add_source(session, source.digest, source.content, now)
    row = {
        "public_id": secrets.token_hex(8),
        "assignment_id": assignment.id,
        "person_id": submitted.person,
        "source_digest": source.digest,
        "mode": submitted.mode,
        "device_class": device_class,
        "idempotency_key": submitted.key,
        "request_digest": submitted.digest(assignment.id) if submitted.key is not None else None,
        "created_at": now,
        "late_days": covered,
        "team_id": team,
        "team_due_at": deadlines.due_at if team is not None else None,
    }
    submission = Submission(**row, id=session.connection().execute(_ADD, row).scalar_one())
    if not staff and not is_new:
        note_copy(session, assignment, submission)
    work = Work(
        kind=JobKind.SUBMISSION,
        priority=priority_of(staff=staff, due_at=deadlines.due_at, now=now),
        person=submitted.person,
        source=source.digest,
        exercise=assignment.exercise_id,
        arch=arch,
        device_class=device_class,
        tile=assignment.tile,
        submission=submission.id,
    )
    queued = queue_job(session, work, now)
    return Accepted(submission, position_of(session, CPU_QUEUE, queued.step, now) if most.positioned else None)


_ADD = insert(Submission).returning(Submission.id)


def latest_job(session: Session, submission: int) -> Job:
    """The job that shows a submission's progress: the last one, which may be a queued regrade."""
    query = select(Job).where(Job.submission_id == submission).order_by(Job.id.desc()).limit(1)
    return session.scalars(query).one()


def is_repeated(session: Session, submitted: SubmissionInput) -> bool:
    """Whether a request is stored already. Raises IdempotencyConflict, NoSuchAssignment."""
    return _find_earlier(session, submitted, _find_target(session, submitted)) is not None


def _find_earlier(session: Session, submitted: SubmissionInput, target: _Target) -> Submission | None:
    """This person's earlier submission with the same key; raises IdempotencyConflict if its request was different."""
    if target.earlier is None:
        return None
    submission = session.get_one(Submission, target.earlier)
    if submission.request_digest != submitted.digest(target.assignment.id):
        raise IdempotencyConflict("This idempotency key was already used for another submission.")
    return submission


def reader_role(session: Session, person: int, submission: Submission) -> Role | None:
    """The role in which a person sees a submission: of course staff, or as its author or team; None for anyone else."""
    role = role_in(session, person, submission.assignment.course_id)
    return role if is_staff(role) or (role is not None and is_for(session, submission, person)) else None


def wait_for_turn(session: Session, person: int) -> None:
    """Run a person's requests one after the other, so that two can't take the last attempt or leave two trials.

    SQLite has only one writer at a time anyway.
    """
    session.connection().execute(_TURN, {"person": person})


_TURN = select(Person.id).where(Person.id == bindparam("person")).with_for_update(key_share=True)


def _find_target(session: Session, submitted: SubmissionInput, *, lock: bool = False) -> _Target:
    asked = select_assignment(submitted.assignment)
    if asked is None:
        raise NoSuchAssignment(_NO_ASSIGNMENT)
    query, given = asked
    given |= {"person": submitted.person, "key": submitted.key}
    found = session.execute(_target(query, lock=lock), given).one_or_none()
    if found is None:
        raise NoSuchAssignment(_NO_ASSIGNMENT)
    assignment, extension, accommodation, earlier, *role = found
    return _Target(assignment, extension, accommodation, earlier, role_from(*role))


@cache
def _target(query: Select[Any], *, lock: bool) -> Select[Any]:
    """The query of an assignment, with a person's extension, accommodation, earlier submission and role."""
    person = bindparam("person", type_=BigId)
    theirs = and_(Extension.assignment_id == Assignment.id, Extension.person_id == person)
    same_key = and_(Submission.person_id == person, Submission.idempotency_key == bindparam("key"))
    more_time = and_(Accommodation.course_id == Assignment.course_id, Accommodation.person_id == person)
    query = query.add_columns(Extension, Accommodation, Submission.id).outerjoin(Extension, theirs)
    query = query.outerjoin(Accommodation, more_time).outerjoin(Submission, same_key)
    query = with_role(query, person, Assignment.course_id.expression)
    # A shared lock: an update of the assignment's exercise waits, other submissions don't.
    return query.with_for_update(read=True, of=Assignment) if lock else query


def _open_to(target: _Target, now: datetime) -> Assignment:
    """The assignment; raises NoSuchAssignment, NotOpen."""
    assignment = target.assignment
    if target.role is None or not is_shown(assignment, target.role, now):
        raise NoSuchAssignment(_NO_ASSIGNMENT)
    if assignment.course.archived_at is not None:
        raise NotOpen("This course is archived. You can't submit to it.")
    return assignment


def _covered(session: Session, assignment: Assignment, submitted: SubmissionInput, now: datetime) -> int:
    """How many days the student's late days cover."""
    due_at = assignment.due_at
    if submitted.mode is Mode.CHECK or due_at is None or now <= due_at:
        return 0
    return late_days_of(session, assignment, submitted.person, now).covered(submitted.late_days)


def _device(session: Session, assignment: Assignment, submitted: SubmissionInput, now: datetime) -> tuple[str, str]:
    """The device class and architecture. A class other than the assignment's needs a running worker."""
    asked = submitted.device_class
    if submitted.mode is Mode.CHECK:
        if asked:
            raise UnusableRequest("A check isn't measured. Leave out the device class.")
        return "", assignment.arch
    own = assignment.device_class or CPU
    if asked is None or asked == own:
        return assignment.device_class, assignment.arch
    offered = device_classes(session, now)
    if asked not in offered:
        names = ", ".join(sorted({*offered, own}))
        raise UnusableRequest(f"No worker measures on {asked!r}. Choose one of: {names}.")
    return asked, offered[asked]
