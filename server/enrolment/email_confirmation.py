"""Confirmation of an account's owner.

A person who joins with a code may type any email. Only staff can confirm whose it is.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.browser_sessions import end_all
from server.accounts.links import end_links
from server.accounts.models import Person
from server.accounts.service import revoke_tokens
from server.audit.service import note
from server.courses.service import CourseError
from server.enrolment.authority import barrier


def confirm_email(session: Session, person: Person) -> None:
    """Confirm the email from now on. Tokens created before end."""
    if person.proven_at is None:
        revoke_tokens(session, person)
        person.proven_at = datetime.now(UTC)
        session.flush()


def is_unconfirmed(person: Person) -> bool:
    """Whether this account is in use without a confirmed email."""
    return person.proven_at is None and person.password is not None


def why_not_staff(name: str) -> str:
    """Why staff can't give a role to this unconfirmed account."""
    return (
        f"The email of {name}’s account isn’t confirmed, and the account doesn’t belong to your course alone. "
        f"Add {name} as a student. For another role, ask an operator to send {name} a link first."
    )


def secure_before_promotion(
    session: Session, person: Person, actor: Person | None, *, course_id: int | None = None, now: datetime | None = None
) -> None:
    """End the person's links before giving more rights: the links were given out for less.

    An unconfirmed account also loses its password, sessions and tokens; an invitation opens it again. Raises
    CourseError if that is needed but the actor may not change the account.
    """
    # Locked, so that no other course adds the person between this check and its consequences.
    session.execute(select(Person.id).where(Person.id == person.id).with_for_update())
    if barrier(session, actor, person) is not None:
        if is_unconfirmed(person):
            raise CourseError(why_not_staff(person.name))
        return
    end_links(session, person.id, now=now)
    if not is_unconfirmed(person):
        return
    person.password = None
    session.flush()
    end_all(session, person.id)
    revoke_tokens(session, person)
    note(session, actor, "access.ended", f"person {person.id}", now=now, course_id=course_id)
