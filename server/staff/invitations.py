"""Links that staff hand out: with one a member sets a password, for the first time or anew.

Whoever holds such a link can sign in as that person. So nobody gets one for an account that reaches further than their
own: not for who runs the server, and not for somebody whose other courses they do not run.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.links import create_link, path_of
from server.accounts.models import LinkPurpose, Person
from server.audit.service import note
from server.courses.models import Course, Membership, Role
from server.courses.service import CourseError


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A link, to be shown once. path: where on the portal it leads."""

    name: str
    email: str
    purpose: LinkPurpose
    path: str


def hand_out(session: Session, course: Course, actor: Person | None, person: Person) -> HandedOut:
    """A link for a member: an invitation for who never had a password, else a reset. Raises CourseError.

    actor: None for the command line, whose users run the server
    """
    purpose = LinkPurpose.INVITATION if person.password is None else LinkPurpose.RESET
    why = _why_not(session, course, actor, person, purpose)
    if why:
        raise CourseError(why)
    token = create_link(session, person, purpose, None if actor is None else actor.id)
    note(session, actor, f"{purpose.value}.created", f"person {person.id}", course_id=course.id)
    return HandedOut(person.name, person.email, purpose, path_of(purpose, token))


def invite_all(session: Session, course: Course, actor: Person | None) -> list[HandedOut]:
    """Invitations for all members who never had a password, but those whom somebody else has to invite."""
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
    return [
        hand_out(session, course, actor, person)
        for person in session.scalars(query).all()
        if not _why_not(session, course, actor, person, LinkPurpose.INVITATION)
    ]


def _why_not(
    session: Session, course: Course, actor: Person | None, person: Person, purpose: LinkPurpose
) -> str:
    if person.disabled_at is not None:
        return f"{person.name} is shut out; who runs this server can let them in again."
    if actor is None or actor.admin or person.id == actor.id:
        return ""
    if person.admin:
        return f"{person.name} runs this server; only somebody else who does can hand out a link."
    elsewhere = select(Membership.course_id).where(
        Membership.person_id == person.id, Membership.course_id != course.id
    )
    if purpose is LinkPurpose.INVITATION:  # a student who was never here has nothing yet that one could see
        elsewhere = elsewhere.where(Membership.role != Role.STUDENT)
    mine = select(Membership.course_id).where(
        Membership.person_id == actor.id,
        Membership.role == Role.INSTRUCTOR,
        Membership.dropped_at.is_(None),
    )
    if session.scalar(elsewhere.where(Membership.course_id.not_in(mine)).limit(1)) is not None:
        return (
            f"{person.name} is in a course that you do not run, too, and the link would open that as well. "
            "Ask those who run this server for it."
        )
    return ""
