"""Who runs the server."""

from __future__ import annotations

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.enrolment.proving import before_reaching_further


def appoint(session: Session, person: Person) -> None:
    """Let a person run the server; says so in the audit log where they did not before."""
    _set(session, person, admin=True)


def dismiss(session: Session, person: Person) -> None:
    """Let them run it no more."""
    _set(session, person, admin=False)


def _set(session: Session, person: Person, *, admin: bool) -> None:
    if person.admin == admin:
        return
    if admin:
        before_reaching_further(session, person, None)
    person.admin = admin
    note(session, None, "admin.appointed" if admin else "admin.dismissed", f"person {person.id}")
    session.flush()
