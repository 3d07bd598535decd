"""Whose account it is that a provider vouches for.

The provider's own name for a person decides, which never changes. An email finds the account only at the first sign-in,
and only if the provider says that it has checked the email.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from server.accounts import service
from server.accounts.browser_sessions import disconnect_identities, end_all, end_where
from server.accounts.links import end_links
from server.accounts.models import BrowserSession, Identity, Person
from server.audit.service import note
from server.enrolment.email_confirmation import confirm_email, is_unconfirmed
from server.identity_providers import NewAccounts, Provider
from server.sign_on.openid import Claims


class Why(StrEnum):
    """Why somebody whom the provider knows can't sign in.

    UNVERIFIED: the provider sends no email, doesn't vouch for it, or may not
    UNKNOWN: no account has the email, and only people on a roster get one
    OTHER: another identity already opens the account with this email
    UNPROVEN: the account to connect has an email that no one has checked
    OPERATOR: the email is an operator's, who must connect the identity after signing in with the password
    DISABLED: the account is disabled
    TAKEN: the identity opens another account than the one to connect
    """

    UNVERIFIED = "unverified"
    UNKNOWN = "unknown"
    OTHER = "other"
    UNPROVEN = "unproven"
    OPERATOR = "operator"
    DISABLED = "disabled"
    TAKEN = "taken"


class NoAccount(Exception):
    """The person can't sign in with this identity."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


def enter(session: Session, provider: Provider, claims: Claims) -> Identity:
    """The identity behind these claims, connected to its account; raises NoAccount."""
    known = _known(session, claims)
    if known is None:
        known = _connected(session, _person(session, provider, claims), claims)
    if known.person.disabled_at is not None or known.person.erased_at is not None:
        raise NoAccount(Why.DISABLED)
    known.used_at = datetime.now(UTC)
    known.email = claims.email
    return known


def connect(session: Session, person: Person, claims: Claims) -> Identity:
    """Let this identity open the account of a person who is signed in to it; raises NoAccount."""
    if person.proven_at is None:
        raise NoAccount(Why.UNPROVEN)
    known = _known(session, claims)
    if known is not None and known.person_id != person.id:
        raise NoAccount(Why.TAKEN)
    if known is None and any(each.issuer == claims.issuer for each in identities_of(session, person.id)):
        raise NoAccount(Why.OTHER)
    return known or _connected(session, person, claims)


def disconnect(session: Session, person: Person, identity_id: int) -> None:
    """Let this identity of the person no longer open the account."""
    if disconnect_identities(session, person, Identity.id == identity_id):
        note(session, person, "identity.disconnected", f"person {person.id}")


def identities_of(session: Session, person_id: int) -> Sequence[Identity]:
    return session.scalars(select(Identity).where(Identity.person_id == person_id)).all()


def end_sessions(session: Session, issuer: str, subject: str, provider_session: str) -> int:
    """End the sessions that a provider says are over: all of a person, one of theirs, or one of anybody's.

    The person's sessions without the provider's name end, too: any of them may be the one.
    """
    which = [Identity.issuer == issuer]
    if subject:
        which.append(Identity.subject == subject)
    over: list[ColumnElement[bool]] = [BrowserSession.identity_id.in_(select(Identity.id).where(*which))]
    if provider_session:
        named = BrowserSession.provider_session == provider_session
        over.append(or_(named, BrowserSession.provider_session.is_(None)) if subject else named)
    return end_where(session, *over)


def _person(session: Session, provider: Provider, claims: Claims) -> Person:
    try:
        email = service.normal_email(claims.email)
    except service.AccountError as error:
        raise NoAccount(Why.UNVERIFIED) from error
    if not provider.vouches_for(email, claimed=claims.email_verified):
        raise NoAccount(Why.UNVERIFIED)
    person = service.find_person(session, email)
    if person is None:
        return _new(session, provider, email, claims.name)
    session.refresh(person, with_for_update=True)
    if person.admin:
        raise NoAccount(Why.OPERATOR)
    if identities_of(session, person.id):
        raise NoAccount(Why.OTHER)  # universities give old emails to new people
    _secure(session, person)
    return person


def _new(session: Session, provider: Provider, email: str, name: str) -> Person:
    if provider.new_accounts is NewAccounts.ROSTER:
        raise NoAccount(Why.UNKNOWN)
    try:
        shown = service.normal_name(name)
    except service.AccountError:
        shown = email.partition("@")[0]
    person = service.create_person(session, email=email, name=shown)
    note(session, person, "person.created", f"person {person.id}")
    return person


def _secure(session: Session, person: Person) -> None:
    """Take the account from a stranger who made it with an unchecked email, and end its open links."""
    if is_unconfirmed(person):
        person.password = None
        end_all(session, person.id)
        note(session, person, "access.ended", f"person {person.id}")
    end_links(session, person.id)
    confirm_email(session, person)


def _known(session: Session, claims: Claims) -> Identity | None:
    return session.scalar(
        select(Identity).where(Identity.issuer == claims.issuer, Identity.subject == claims.subject).with_for_update()
    )


def _connected(session: Session, person: Person, claims: Claims) -> Identity:
    now = datetime.now(UTC)
    made = Identity(
        person=person, issuer=claims.issuer, subject=claims.subject, email=claims.email, created_at=now, used_at=now
    )
    session.add(made)
    session.flush()
    note(session, person, "identity.connected", f"person {person.id}", issuer=claims.issuer)
    return made
