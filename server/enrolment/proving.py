"""Whose account it is: who makes one with a code types any email, and only the staff know whose that is."""

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


def prove(session: Session, person: Person, now: datetime | None = None) -> None:
    """Staff stand for it from now on. Tokens that were made while nobody did are good no more."""
    if person.proven_at is None:
        revoke_tokens(session, person, now=now)
        person.proven_at = now or datetime.now(UTC)
        session.flush()


def must_prove(person: Person) -> bool:
    """Whether somebody comes in with this account of whom nobody knows that the email is theirs."""
    return person.proven_at is None and person.password is not None


def why_not_staff(name: str) -> str:
    """What staff are told who can't give a role to an account that nobody stands for."""
    return (
        f"The email of {name}’s account isn’t confirmed, and the account isn’t only your course’s. "
        f"Add {name} as a student. For another role, ask an operator to send {name} a link first."
    )


def before_reaching_further(
    session: Session,
    person: Person,
    actor: Person | None,
    *,
    course_id: int | None = None,
    now: datetime | None = None,
) -> None:
    """Somebody is to see more than their own work: links that were handed out for less end.

    Where nobody stands for the account, the password and all that one came in with end, too. An invitation opens it.
    An account that is not the actor's to change stays as it is; raises CourseError where it cannot.
    """
    # Held, so that no other course takes the person in between the question and what follows from it.
    session.execute(select(Person.id).where(Person.id == person.id).with_for_update())
    if barrier(session, actor, person) is not None:
        if must_prove(person):
            raise CourseError(why_not_staff(person.name))
        return
    end_links(session, person.id, now=now)
    if not must_prove(person):
        return
    person.password = None
    session.flush()
    end_all(session, person.id, now=now)
    revoke_tokens(session, person, now=now)
    note(session, actor, "access.ended", f"person {person.id}", now=now, course_id=course_id)
