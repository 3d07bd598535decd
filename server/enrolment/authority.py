"""The rule for which accounts a course's staff may change: password, sessions, tokens, links.

Every staff action on an account asks it, and each link again when it is used. Staff see all work in their course. So
an account that was only used there holds nothing new for them. Any other account is private to its owner. If the
owner needs help, operators give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from server.accounts.models import ApiToken, BrowserSession, Person
from server.courses.models import Assignment, Membership, Role
from server.submissions.models import Submission

_SOME = 500


class Barrier(StrEnum):
    """Why staff may not change an account.

    ADMIN: the account of an operator, or of a person who may create courses
    ELSEWHERE: used in a course of other staff, or never in this staff's courses
    EARLIER: used before this staff's courses added the person
    """

    ADMIN = "admin"
    ELSEWHERE = "elsewhere"
    EARLIER = "earlier"


@dataclass(slots=True)
class _Past:
    """A person's history.

    admin: as in Barrier; submitted: courses with submissions; first_use: of a token or session
    """

    admin: bool
    has_password: bool
    memberships: list[tuple[int, Role, datetime]] = field(default_factory=list)
    submitted: set[int] = field(default_factory=set)
    first_use: datetime | None = None


def barrier(session: Session, actor: Person | None, person: Person) -> Barrier | None:
    """Why the actor may not change this account; None if allowed."""
    return barriers(session, actor, [person.id]).get(person.id)


def barriers(session: Session, actor: Person | None, people: Sequence[int]) -> Mapping[int, Barrier]:
    """Why the actor may not change these accounts; allowed accounts are missing.

    actor: None for the command line, whose users are operators
    """
    if actor is None or actor.admin:
        return {}
    query = select(Membership.course_id).where(
        Membership.person_id == actor.id, Membership.role == Role.INSTRUCTOR, Membership.dropped_at.is_(None)
    )
    mine = frozenset(session.scalars(query))
    found: dict[int, Barrier] = {}
    for start in range(0, len(people), _SOME):
        for person, past in _pasts(session, people[start : start + _SOME]).items():
            between = _between(mine, past)
            if between is not None and person != actor.id:
                found[person] = between
    return found


def _between(mine: frozenset[int], past: _Past) -> Barrier | None:
    if past.admin:
        return Barrier.ADMIN
    courses = {course for course, _, _ in past.memberships}
    if not courses & mine:
        return Barrier.ELSEWHERE
    if (courses | past.submitted) - mine:
        return None if _first_and_never_here(mine, past) else Barrier.ELSEWHERE
    if past.first_use is not None and past.first_use < min(since for _, _, since in past.memberships):
        return Barrier.EARLIER
    return None


def _first_and_never_here(mine: frozenset[int], past: _Past) -> bool:
    """Whether these courses added the person first, and the person never signed in and is only a student elsewhere.

    Then the invitation is these courses' to send, even if another course adds the person meanwhile.
    """
    if past.has_password or past.first_use is not None or past.submitted:
        return False
    first = min(since for _, _, since in past.memberships)
    return any(course in mine and since == first for course, _, since in past.memberships) and all(
        role is Role.STUDENT for course, role, _ in past.memberships if course not in mine
    )


def _pasts(session: Session, people: Sequence[int]) -> Mapping[int, _Past]:
    """People's histories, with few queries. Former members count too."""
    powerful = or_(Person.admin, Person.creates_courses)
    rows = select(Person.id, powerful, Person.password.is_not(None)).where(Person.id.in_(people))
    pasts = {person: _Past(admin, has_password) for person, admin, has_password in session.execute(rows)}
    members = select(Membership.person_id, Membership.course_id, Membership.role, Membership.created_at)
    for person, course, role, since in session.execute(members.where(Membership.person_id.in_(people))):
        pasts[person].memberships.append((course, role, since))
    submitted = (
        select(Submission.person_id, Assignment.course_id)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .where(Submission.person_id.in_(people))
        .distinct()
    )
    for person, course in session.execute(submitted):
        pasts[person].submitted.add(course)
    for table in (ApiToken, BrowserSession):
        first = select(table.person_id, func.min(table.created_at)).group_by(table.person_id)
        for person, at in session.execute(first.where(table.person_id.in_(people))):
            known = pasts[person].first_use
            pasts[person].first_use = at if known is None else min(at, known)
    return pasts
