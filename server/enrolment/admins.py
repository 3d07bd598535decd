"""Make people operators of the server."""

from __future__ import annotations

from sqlalchemy.orm import Session

from server.accounts.browser_sessions import disconnect_identities
from server.accounts.models import Identity, Person
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
        # Learning management systems open no operator's account (server.lti.models.LtiPlatform.people).
        disconnect_identities(session, person, Identity.issuer.startswith("lti "))
    person.admin = admin
    note(session, None, "admin.appointed" if admin else "admin.dismissed", f"person {person.id}")
    session.flush()
