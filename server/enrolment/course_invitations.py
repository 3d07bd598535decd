"""Invitations to a course for people who have an account already. Only the invited person or an operator adds them.

An invited person has no membership. So no list, grade, e-mail or right includes the person before they accept. Until
then, course staff see what they typed, and nothing of the account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.links import end_links
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Course, CourseInvitation, Membership, Role
from server.courses.service import CourseError, enrol, hold_course, id_holder, role_in
from server.enrolment.email_confirmation import is_unconfirmed, why_not_staff


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """The person as course staff typed it, with the role and section that they offer."""

    email: str
    name: str
    role: Role
    section: str = ""
    student_id: str = ""


def needs_consent(actor: Person | None) -> bool:
    """Whether this actor invites people with an account, instead of adding them. None: the command line."""
    return actor is not None and not actor.admin


def invite(
    session: Session, course: Course, actor: Person, person: Person, invited: Invited, now: datetime | None = None
) -> None:
    """Invite a person who isn't in the course, or change an open invitation; raises CourseError."""
    moment = now or datetime.now(UTC)
    if invited.role is not Role.STUDENT and is_unconfirmed(person):
        raise CourseError(why_not_staff(invited.name))
    invitation = session.scalar(
        select(CourseInvitation).where(CourseInvitation.course_id == course.id, CourseInvitation.person_id == person.id)
    )
    if invitation is not None and invitation.refused_at is not None:
        raise CourseError(f"{invited.email} declined the invitation. The person can still join with the course’s code.")
    if invitation is None:
        invitation = CourseInvitation(course_id=course.id, person_id=person.id)
        session.add(invitation)
    invitation.email, invitation.name, invitation.student_id = invited.email, invited.name, invited.student_id
    invitation.role, invitation.section = invited.role, invited.section
    invitation.invited_by, invitation.created_at = actor.id, moment
    session.flush()
    _note(session, actor, "member.invited", invitation, moment, role=invitation.role.value, section=invitation.section)


def invitations_in(session: Session, course_id: int) -> Sequence[CourseInvitation]:
    """The course's open and declined invitations, by email."""
    query = select(CourseInvitation).where(CourseInvitation.course_id == course_id, _not_a_member())
    return session.scalars(query.order_by(CourseInvitation.email, CourseInvitation.id)).all()


def invited_people(session: Session, course_id: int) -> Mapping[int, CourseInvitation]:
    return {invitation.person_id: invitation for invitation in invitations_in(session, course_id)}


def invitations_of(session: Session, person_id: int) -> Sequence[CourseInvitation]:
    """A person's open invitations to active courses, the newest first."""
    query = (
        select(CourseInvitation)
        .join(CourseInvitation.course)
        .where(
            CourseInvitation.person_id == person_id,
            CourseInvitation.refused_at.is_(None),
            Course.archived_at.is_(None),
            _not_a_member(),
        )
        .options(joinedload(CourseInvitation.course), joinedload(CourseInvitation.by))
    )
    return session.scalars(query.order_by(CourseInvitation.id.desc())).all()


def accept(session: Session, person: Person, number: int) -> Course | None:
    """Join the course of an own open invitation; None if there is none any more. Raises CourseError."""
    now = datetime.now(UTC)
    invitation = _own(session, person, number)
    if invitation is None:
        return None
    if invitation.role is not Role.STUDENT:
        if not _still_may(session, invitation):
            raise CourseError("The person who invited you no longer runs this course. Ask its instructors.")
        if is_unconfirmed(person):
            raise CourseError(why_not_staff(person.name))
        end_links(session, person.id, now=now)  # made for an account with fewer rights
    member = enrol(session, invitation.course, person, invitation.role, now)
    member.section = invitation.section
    if id_holder(session, invitation.course_id, invitation.student_id) is None:
        member.student_id = invitation.student_id
    role = invitation.role.value
    session.delete(invitation)
    session.flush()
    note(
        session, person, "course.joined", f"person {person.id}", now=now, course_id=invitation.course_id,
        course=invitation.course.slug, role=role, section=invitation.section,
    )  # fmt: skip
    return invitation.course


def refuse(session: Session, person: Person, number: int, now: datetime | None = None) -> None:
    """Decline an own open invitation. The course can't invite the person again."""
    now = now or datetime.now(UTC)
    invitation = _own(session, person, number)
    if invitation is not None:
        invitation.refused_at = now
        session.flush()
        # Outside the course: its audit would show the name of the account.
        note(session, person, "invitation.declined", f"course {invitation.course.slug}", now=now)


def withdraw(session: Session, course: Course, actor: Person, number: int) -> None:
    """Delete a course's invitation, unless the person has answered it."""
    hold_course(session, course.id)
    invitation = session.get(CourseInvitation, number, with_for_update=True)
    if invitation is not None and invitation.course_id == course.id and invitation.refused_at is None:
        _note(session, actor, "member.uninvited", invitation, datetime.now(UTC))
        session.delete(invitation)
        session.flush()


def _own(session: Session, person: Person, number: int) -> CourseInvitation | None:
    """The person's open invitation of this ID, with its course locked."""
    invitation = next((other for other in invitations_of(session, person.id) if other.id == number), None)
    if invitation is None:
        return None
    hold_course(session, invitation.course_id)
    session.expire(invitation)
    again = {other.id: other for other in invitations_of(session, person.id)}
    return again.get(number)


def _still_may(session: Session, invitation: CourseInvitation) -> bool:
    """Whether the person who invited may still give a staff role."""
    role = role_in(session, invitation.invited_by, invitation.course_id)
    return role is Role.INSTRUCTOR and invitation.by.disabled_at is None


def _not_a_member() -> ColumnElement[bool]:
    """Whether the person joined neither with a code nor by an operator meanwhile."""
    return ~exists().where(
        Membership.course_id == CourseInvitation.course_id, Membership.person_id == CourseInvitation.person_id
    )


def _note(
    session: Session, actor: Person, action: str, about: CourseInvitation, now: datetime, **detail: object
) -> None:
    # The audit shows the names of people's accounts. So it has the invitation's ID, and not the person's.
    course = session.get_one(Course, about.course_id)
    note(session, actor, action, f"course {course.slug}", now=now, course_id=course.id, invitation=about.id, **detail)
