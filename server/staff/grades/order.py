"""The order of the gradebook's rows. Only an order by points computes points of students on other pages."""

from __future__ import annotations

from sqlalchemy.orm import Session

from server.staff.grades.gradebook import points_of
from server.staff.roster.service import Member, Wanted, roster

TOTAL = "total"


def ordered(session: Session, course_id: int, wanted: Wanted, by: str, *, down: bool) -> list[Member]:
    """The students in the requested order.

    by: "section", "total", an assignment's short name, or anything else for the name
    """
    members = sorted(roster(session, course_id, wanted), key=lambda one: (one.name.casefold(), one.email))
    if by == "section":
        return sorted(members, key=lambda one: one.section.casefold(), reverse=down)
    if by == "name":
        return members[::-1] if down else members
    points = points_of(session, course_id, members, None if by == TOTAL else [by])
    return sorted(members, key=lambda one: points[one.person_id], reverse=down)
