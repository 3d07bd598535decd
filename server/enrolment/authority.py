"""Whose accounts the staff of a course may touch: password, sessions, tokens, links.

One rule, which every act of staff on an account asks, and every link again when it is followed. Staff see all that a
person does in their course, so an account that was only ever used there opens nothing new to them. Any other account is
its owner's, and those who run the server help where the owner can't.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.accounts.models import ApiToken, BrowserSession, Person
from server.courses.models import Assignment, Membership, Role
from server.submissions.models import Submission

_SOME = 500


class Barrier(StrEnum):
    """Why an account isn't the staff's to touch.

    ADMIN: its owner runs the server; ELSEWHERE: it belongs to a course that they don't run, or to none of theirs
    EARLIER: it was used before any course of theirs took its owner in
    """

    ADMIN = "admin"
    ELSEWHERE = "elsewhere"
    EARLIER = "earlier"


@dataclass(slots=True)
class _Past:
    """What a person is and ever was. submitted: to which courses; first_use: of a token or session."""

    admin: bool
    has_password: bool
    memberships: list[tuple[int, Role, datetime]] = field(default_factory=list)
    submitted: set[int] = field(default_factory=set)
    first_use: datetime | None = None


def barrier(session: Session, actor: Person | None, person: Person) -> Barrier | None:
    """What keeps the actor's word from changing this account; None for nothing."""
    return barriers(session, actor, [person.id]).get(person.id)


def barriers(session: Session, actor: Person | None, people: Sequence[int]) -> Mapping[int, Barrier]:
    """What keeps the actor's word from changing these people's accounts; those it may change are left out.

    actor: None for the command line, whose users run the server
    """
    if actor is None or actor.admin:
        return {}
    mine = _courses_run_by(session, actor)
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
    """Whether these courses took the person in first, who never came in and is only a student elsewhere.

    The invitation is theirs to send, whatever other courses take the person in before it is followed.
    """
    if past.has_password or past.first_use is not None or past.submitted:
        return False
    first = min(since for _, _, since in past.memberships)
    return any(course in mine and since == first for course, _, since in past.memberships) and all(
        role is Role.STUDENT for course, role, _ in past.memberships if course not in mine
    )


def _courses_run_by(session: Session, actor: Person) -> frozenset[int]:
    query = select(Membership.course_id).where(
        Membership.person_id == actor.id,
        Membership.role == Role.INSTRUCTOR,
        Membership.dropped_at.is_(None),
    )
    return frozenset(session.scalars(query))


def _pasts(session: Session, people: Sequence[int]) -> Mapping[int, _Past]:
    """With few queries however many they are. Who left a course was in it all the same."""
    rows = select(Person.id, Person.admin, Person.password.is_not(None)).where(Person.id.in_(people))
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
