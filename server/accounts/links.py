"""One-time links with which a person sets a first or a new password."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from server.accounts.digest import digest_of
from server.accounts.models import LinkPurpose, OneTimeLink, Person

LIFETIMES: Mapping[LinkPurpose, timedelta] = {
    LinkPurpose.INVITATION: timedelta(days=14),
    LinkPurpose.RESET: timedelta(hours=24),
}


def create_link(
    session: Session, person: Person, purpose: LinkPurpose, created_by: int | None = None, now: datetime | None = None
) -> str:
    """Create a link and return its token; only its hash is kept. Earlier links of this purpose end.

    created_by: the staff member who created it; None on the command line
    """
    end_links(session, person.id, purpose, now=now or datetime.now(UTC))
    return _added(session, person.id, purpose, created_by, now)


def ask_for_mail(session: Session, person: Person, purpose: LinkPurpose, created_by: int | None = None) -> None:
    """Let the mailer create a link and send it. created_by: as for `create_link`."""
    _added(session, person.id, purpose, created_by, by_mail=True)


def link_to_send(session: Session, asked: OneTimeLink, now: datetime) -> str:
    """The path of a new link for the one that someone asked to send; earlier tries stay valid.

    A try whose answer got lost may have arrived.
    """
    return path_of(asked.purpose, _added(session, asked.person_id, asked.purpose, asked.created_by, now))


def _added(
    session: Session,
    person_id: int,
    purpose: LinkPurpose,
    created_by: int | None,
    now: datetime | None = None,
    *,
    by_mail: bool = False,
) -> str:
    moment = now or datetime.now(UTC)
    token = secrets.token_urlsafe(32)
    session.add(
        OneTimeLink(
            person_id=person_id,
            purpose=purpose,
            digest=digest_of(token),
            created_by=created_by,
            created_at=moment,
            expires_at=moment + LIFETIMES[purpose],
            by_mail=by_mail,
        )
    )
    session.flush()
    return token


def path_of(purpose: LinkPurpose, token: str) -> str:
    return f"/{purpose}/{token}"


def end_links(
    session: Session, person_id: int, purpose: LinkPurpose | None = None, now: datetime | None = None
) -> None:
    """End the person's links of this purpose, or all of them."""
    which = [OneTimeLink.person_id == person_id, OneTimeLink.used_at.is_(None)]
    if purpose is not None:
        which.append(OneTimeLink.purpose == purpose)
    session.execute(update(OneTimeLink).where(*which).values(used_at=now or datetime.now(UTC)))
