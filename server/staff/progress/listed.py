"""The students of one part of an assignment's bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.courses.models import Assignment, Role
from server.staff.progress.attempts import stuck, tries_of
from server.staff.progress.states import TITLES, State, states_of
from server.staff.roster.service import Member, Wanted, roster

UNSUBMITTED, STUCK = "unsubmitted", "stuck"
PARTS: tuple[tuple[str, str], ...] = (
    ("", "All students"), *((state.value, TITLES[state]) for state in State),
    (UNSUBMITTED, "No submission"), (STUCK, "Stuck"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listed:
    """The students of a part, by name. reasons: why some of them are stuck, by the person's ID."""

    members: list[Member]
    states: Mapping[int, State]
    reasons: Mapping[int, str]


def listed(session: Session, course_id: int, assignment: Assignment, part: str, text: str, now: datetime) -> Listed:
    """All students of the course's assignment that belong to the part and match the search."""
    found = states_of(session, course_id, [assignment])[assignment.id]
    states = {one.person_id: one.state for one in found}
    reasons = {one.person_id: one.reason for one in stuck(session, assignment, found, now)}
    members = [
        one
        for one in roster(session, course_id, Wanted(text, Role.STUDENT.value))
        if one.person_id in states and _is_in(part, states[one.person_id], stuck=one.person_id in reasons)
    ]
    return Listed(members, states, reasons)


def _is_in(part: str, state: State, *, stuck: bool) -> bool:
    if part == UNSUBMITTED:
        return state in {State.NOT_STARTED, State.CHECKING}
    return stuck if part == STUCK else part in {"", state}


def students_csv(session: Session, assignment: Assignment, found: Listed) -> str:
    """All of them with what they have tried."""
    tries = tries_of(session, assignment.id, [one.person_id for one in found.members])
    rows = []
    for one in found.members:
        own = tries.get(one.person_id)
        last = ("", "", 0) if own is None else (
            f"{own.last_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}", own.verdict.value if own.verdict else "", own.count
        )  # fmt: skip
        state = found.states[one.person_id].value
        rows.append(
            [one.email, one.name, one.section, state, last[2], last[0], last[1], found.reasons.get(one.person_id, "")]
        )  # fmt: skip
    header = ("email", "name", "section", "state", "attempts", "last_attempt", "last_verdict", "stuck")
    return written(header, rows)
