"""The students of one part of an assignment's bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy.orm import Session

from kernels.csv_tables import written
from kernels.verdict import Verdict
from server.class_progress.states import TITLES, State, states_of, stuck, tries_of
from server.courses.models import Assignment
from server.fields import JsonName
from server.roster.service import Member, Wanted, roster

UNSUBMITTED, STUCK = "unsubmitted", "stuck"
PARTS: tuple[tuple[str, str], ...] = (
    ("", "All students"), *((state.value, TITLES[state]) for state in State),
    (UNSUBMITTED, "No submission"), (STUCK, "Stuck"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """A student's progress with an assignment.

    stuck: why the student seems stuck; "" if not
    attempts: all submissions and checks; last_at, last_submission, last_verdict: of the last one, None for none
    """

    person_id: Annotated[int, JsonName("person")]
    name: str
    email: str
    section: str
    state: State
    stuck: str
    attempts: int
    last_at: datetime | None
    last_submission: str | None
    last_verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Listed:
    """The students of a part, by name. reasons: why some of them are stuck, by the person's ID."""

    assignment: Assignment
    members: Sequence[Member]
    states: Mapping[int, State]
    reasons: Mapping[int, str]

    def lines(self, session: Session, members: Sequence[Member]) -> Iterator[ProgressLine]:
        """What some of the students have tried."""
        tries = tries_of(session, self.assignment, [each.person_id for each in members])
        for member in members:
            number, own = member.person_id, tries.get(member.person_id)
            last = (0, None, None, None) if own is None else (own.count, own.last_at, own.public_id, own.verdict)
            state, reason = self.states[number], self.reasons.get(number, "")
            yield ProgressLine(number, member.name, member.email, member.section, state, reason, *last)


def listed(
    session: Session, course_id: int, assignment: Assignment, part: str, wanted: Wanted, now: datetime
) -> Listed:
    """All students of the course's assignment that belong to the part and match the search."""
    found = states_of(session, course_id, [assignment])[assignment.id]
    states = {one.person_id: one.state for one in found}
    reasons = {one.person_id: one.reason for one in stuck(session, assignment, found, now)}
    members = [
        one
        for one in roster(session, course_id, wanted)
        if one.person_id in states and _is_in(part, states[one.person_id], stuck=one.person_id in reasons)
    ]
    return Listed(assignment, members, states, reasons)


def _is_in(part: str, state: State, *, stuck: bool) -> bool:
    if part == UNSUBMITTED:
        return state in {State.NOT_STARTED, State.CHECKING}
    return stuck if part == STUCK else part in {"", state}


def students_csv(session: Session, found: Listed) -> str:
    rows = (
        [
            line.email, line.name, line.section, line.state.value, line.attempts,
            f"{line.last_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}" if line.last_at else "",
            line.last_verdict or "", line.stuck,
        ]
        for line in found.lines(session, found.members)
    )  # fmt: skip
    header = ("email", "name", "section", "state", "attempts", "last_attempt", "last_verdict", "stuck")
    return written(header, rows)
