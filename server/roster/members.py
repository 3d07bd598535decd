"""Acts on one member of a course."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from sqlalchemy.orm import Session

from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.courses.models import Role
from server.roster.csv_file import one_line
from server.roster.service import change, drop, membership_of, take_back

ROLES = tuple((role.value, role.value.capitalize()) for role in Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A member's role, section and student ID."""

    role: Annotated[Role, Asked("Role", choices=ROLES, help="New role.  [default: unchanged]")] = Role.STUDENT
    section: Annotated[
        str, Asked("Section", clean=one_line, help="New section; empty for none.  [default: unchanged]")
    ] = ""
    student_id: Annotated[
        str, Asked("Student ID", clean=one_line, help="New student ID; empty for none.  [default: unchanged]")
    ] = ""


def _place(session: Session, on: Target) -> Place:
    found = membership_of(session, on.course, on.person)
    return Place(role=found.role, section=found.section, student_id=found.student_id)


CHANGE = Act(
    asks=Place,
    do=lambda session, on, actor, given: change(session, on.course, actor, on.person, **asdict(given)),
    present=_place,
)
DROP = Act(asks=Nothing, do=lambda session, on, actor, _: drop(session, on.course, actor, on.person))
RESTORE = Act(asks=Nothing, do=lambda session, on, actor, _: take_back(session, on.course, actor, on.person))
