"""Whose account it is: who makes one with a code types any email, and only the staff know whose that is."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.browser_sessions import end_all
from server.accounts.links import end_links
from server.accounts.models import Person
from server.accounts.service import revoke_tokens
from server.audit.service import note


def prove(session: Session, person: Person, now: datetime | None = None) -> None:
    """Staff stand for it from now on. Tokens that were made while nobody did are good no more."""
    if person.proven_at is None:
        revoke_tokens(session, person, now=now)
        person.proven_at = now or datetime.now(UTC)
        session.flush()


def must_prove(person: Person) -> bool:
    """Whether somebody comes in with this account of whom nobody knows that the email is theirs."""
    return person.proven_at is None and person.password is not None


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
    """
    end_links(session, person.id, now=now)
    if not must_prove(person):
        return
    person.password = None
    session.flush()
    end_all(session, person.id, now=now)
    revoke_tokens(session, person, now=now)
    note(session, actor, "access.ended", f"person {person.id}", now=now, course_id=course_id)
