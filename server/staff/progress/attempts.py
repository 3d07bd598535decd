"""What the students on a page have tried at an assignment, and who is stuck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, func, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.courses.models import Assignment
from server.staff.progress.states import UNFINISHED, StudentState, extensions_of
from server.submissions.counted_submission import due_for
from server.submissions.models import Submission

SAME = 3
"""So many failures of one kind in a row make a student stuck."""

QUIET = timedelta(days=3)
"""So long without an attempt, after the first and before the student's deadline, makes a student stuck."""


@dataclass(frozen=True, slots=True)
class Tries:
    """A student's attempts at an assignment, checks included. public_id, verdict: of the last one."""

    count: int
    last_at: datetime
    public_id: str
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a student seems stuck. public_id: the last attempt."""

    person_id: int
    reason: str
    last_at: datetime
    public_id: str


def tries_of(session: Session, assignment_id: int, people: Sequence[int]) -> Mapping[int, Tries]:
    """The attempts of these students, by the person's ID."""
    query = (
        select(Submission.person_id, Submission.created_at, Submission.public_id, Submission.verdict)
        .where(Submission.assignment_id == assignment_id, _among(people))
        .order_by(Submission.created_at, Submission.id)
    )
    found: dict[int, Tries] = {}
    for person, at, public_id, verdict in session.execute(query):
        before = found.get(person)
        found[person] = Tries(1 if before is None else before.count + 1, at, public_id, verdict)
    return found


def stuck(session: Session, assignment: Assignment, states: Sequence[StudentState], now: datetime) -> list[Stuck]:
    """Students who seem stuck, the longest quiet first. Excused ones don't: their state isn't unfinished."""
    unfinished = [one.person_id for one in states if one.state in UNFINISHED]
    place = func.row_number().over(
        partition_by=Submission.person_id, order_by=(Submission.created_at.desc(), Submission.id.desc())
    )
    judged = (
        select(
            Submission.person_id, Submission.created_at, Submission.public_id, Submission.verdict,
            place.label("place"),
        )
        .where(
            Submission.assignment_id == assignment.id,
            Submission.verdict != Verdict.SYSTEM_ERROR,
            _among(unfinished),
        )
        .subquery()
    )  # fmt: skip
    last = select(judged).where(judged.c.place <= SAME).order_by(judged.c.person_id, judged.c.place)
    rows: dict[int, list[tuple[datetime, str, Verdict]]] = defaultdict(list)
    for row in session.execute(last):
        rows[row.person_id].append((row.created_at, row.public_id, row.verdict))
    extensions = extensions_of(session, [assignment.id])
    found = []
    for person, attempts in rows.items():
        at, public_id, _ = attempts[0]
        due_at = due_for(assignment, extensions.get((assignment.id, person))).due_at
        until = now if due_at is None else min(now, due_at)
        reason = _reason(attempts, until)
        if reason:
            found.append(Stuck(person, reason, at, public_id))
    return sorted(found, key=lambda one: one.last_at)


def _reason(attempts: Sequence[tuple[datetime, str, Verdict]], until: datetime) -> str:
    last_at, _, verdict = attempts[0]
    if len(attempts) == SAME and {kind for _, _, kind in attempts} == {verdict} != {Verdict.ACCEPTED}:
        return f"{SAME} times in a row: {verdict.words}"
    if until - last_at >= QUIET:
        return f"no attempt for {(until - last_at).days} days, last: {verdict.words}"
    return ""


def _among(people: Sequence[int]) -> ColumnElement[bool]:
    # Inlined: a course may have more people than a statement may have parameters.
    numbers = bindparam(None, people, Submission.person_id.type, expanding=True, literal_execute=True)
    return Submission.person_id.in_(numbers)
