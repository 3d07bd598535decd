"""Links with which members set a first or new password.

Anyone with such a link can sign in as that person. So staff get links only for accounts that they may change
(`server.enrolment.authority`). A link stops working when they no longer may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.links import ask_for_mail, create_link, end_links, path_of
from server.accounts.models import LinkPurpose, Person
from server.audit.service import note
from server.courses.models import Course, Membership
from server.courses.service import CourseError
from server.enrolment.authority import Barrier, barrier, barriers


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A link, to show once. path: its path on the portal."""

    name: str
    email: str
    purpose: LinkPurpose
    path: str


def hand_out(session: Session, course: Course, actor: Person | None, person: Person) -> HandedOut:
    """Create a link for a member: an invitation, or a reset if the person has a password. Raises CourseError.

    actor: None for the command line, whose users are operators
    """
    why = _why_not(session, actor, person)
    if why:
        raise CourseError(why)
    purpose = LinkPurpose.INVITATION if person.password is None else LinkPurpose.RESET
    token = create_link(session, person, purpose, None if actor is None else actor.id)
    note(session, actor, f"{purpose.value}.created", f"person {person.id}", course_id=course.id)
    return HandedOut(person.name, person.email, purpose, path_of(purpose, token))


def invite_all(session: Session, course: Course, actor: Person | None) -> list[HandedOut]:
    """Create invitations for all members without a password, except members whom only others may invite."""
    return [hand_out(session, course, actor, person) for person in _uninvited(session, course, actor)]


def mail_all(session: Session, course: Course, actor: Person | None) -> list[Person]:
    """Let the mailer send an invitation to each of these. Earlier invitations stop working."""
    people = _uninvited(session, course, actor)
    for person in people:
        end_links(session, person.id, LinkPurpose.INVITATION)
        ask_for_mail(session, person, LinkPurpose.INVITATION, None if actor is None else actor.id)
        note(session, actor, "invitation.created", f"person {person.id}", course_id=course.id, by_mail=True)
    return people


def _uninvited(session: Session, course: Course, actor: Person | None) -> list[Person]:
    query = (
        select(Person)
        .join(Membership, Membership.person_id == Person.id)
        .where(
            Membership.course_id == course.id,
            Membership.dropped_at.is_(None),
            Person.password.is_(None),
            Person.disabled_at.is_(None),
            Person.erased_at.is_(None),
        )
        .order_by(Person.email)
    )
    people = session.scalars(query).all()
    barred = barriers(session, actor, [person.id for person in people])
    return [person for person in people if person.id not in barred]


def _why_not(session: Session, actor: Person | None, person: Person) -> str:
    if person.disabled_at is not None:
        return f"{person.name}’s account is disabled. An operator can enable it."
    found = barrier(session, actor, person)
    return "" if found is None else _REASONS[found].format(name=person.name) + _INSTEAD.format(name=person.name)


_REASONS: Mapping[Barrier, str] = {
    Barrier.ADMIN: "{name} is an operator or may create courses, so course staff can’t create a link. ",
    Barrier.ELSEWHERE: "{name} is or was in a course that you don’t teach. A link would open that course, too. ",
    Barrier.EARLIER: "{name} used this account before your course added it. ",
}
_INSTEAD = "{name} keeps the password, and can ask an operator for a new one."
