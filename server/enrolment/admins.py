"""Make people operators of the server."""

from __future__ import annotations

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.enrolment.email_confirmation import secure_before_promotion


def appoint(session: Session, person: Person) -> None:
    """Make a person an operator. Writes an audit entry if that is new."""
    _set(session, person, admin=True)


def dismiss(session: Session, person: Person) -> None:
    _set(session, person, admin=False)


def _set(session: Session, person: Person, *, admin: bool) -> None:
    if person.admin == admin:
        return
    if admin:
        secure_before_promotion(session, person, None)
    person.admin = admin
    note(session, None, "admin.appointed" if admin else "admin.dismissed", f"person {person.id}")
    session.flush()
