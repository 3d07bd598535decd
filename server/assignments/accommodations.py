"""Accommodations: more time for a student in every assignment of a course, also in later ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked, store, stored
from server.assignments.extensions import Reason
from server.courses.models import Accommodation, Role
from server.courses.service import CourseError
from server.fields import Range
from server.roster.service import membership_of

MOST_DAYS = 365
MOST_PERCENT = 400


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class MoreTime:
    """More time in every assignment of a course. A missing field stays unchanged; all zero removes it.

    extra_days: added to the due and the closing time
    extra_percent: of the time between opening and due, added as well
    reason: for course staff only
    """

    extra_days: Annotated[int, Range(0, MOST_DAYS), Asked(
        "Extra days", option="--days", help="Extra days in every assignment.",
    )] = 0
    extra_percent: Annotated[int, Range(0, MOST_PERCENT), Asked(
        "Extra time in %", "Of the time between opening and due. 50 makes 10 days 15.",
        option="--percent", help="Extra time in every assignment, in % of the time between opening and due.",
    )] = 0
    reason: Reason = ""
# fmt: on


def _present(session: Session, on: Target) -> MoreTime:
    found = session.get(Accommodation, (on.course.id, on.person))
    return MoreTime() if found is None else stored(MoreTime, found)


def _accommodate(session: Session, on: Target, actor: Person | None, given: MoreTime) -> bool:
    """Replace a student's accommodation; False if it is the present one. Raises CourseError."""
    if membership_of(session, on.course, on.person).role is not Role.STUDENT:
        raise CourseError("Only students have deadlines. Staff can submit at any time.", ["extra_days"])
    if not given.extra_days and not given.extra_percent:
        given = MoreTime()
    if given == _present(session, on):
        return False
    found = session.get(Accommodation, (on.course.id, on.person))
    if given == MoreTime():
        session.delete(found)
    else:
        if found is None:
            found = Accommodation(course_id=on.course.id, person_id=on.person)
        store(given, found)
        found.granted_by, found.granted_at = None if actor is None else actor.id, datetime.now(UTC)
        session.add(found)
    session.flush()
    return True


ACCOMMODATION = Act(asks=MoreTime, do=_accommodate, audit="extension.for_all", present=_present, lowers=True)
