"""Links that work once: with one somebody sets a password, for the first time or anew."""

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
    session: Session,
    person: Person,
    purpose: LinkPurpose,
    created_by: int | None = None,
    now: datetime | None = None,
) -> str:
    """The token of a new link, to be shown once: only its hash is kept. Earlier links of this purpose end.

    created_by: who of the staff hands it out; None for the command line
    """
    moment = now or datetime.now(UTC)
    end_links(session, person.id, purpose, now=moment)
    token = secrets.token_urlsafe(32)
    session.add(
        OneTimeLink(
            person_id=person.id,
            purpose=purpose,
            digest=digest_of(token),
            created_by=created_by,
            created_at=moment,
            expires_at=moment + LIFETIMES[purpose],
        )
    )
    session.flush()
    return token


def path_of(purpose: LinkPurpose, token: str) -> str:
    """Where on the portal the link leads."""
    return f"/{purpose}/{token}"


def end_links(
    session: Session, person_id: int, purpose: LinkPurpose | None = None, now: datetime | None = None
) -> None:
    """No link of this purpose, or of any, is good any more for this person."""
    which = [OneTimeLink.person_id == person_id, OneTimeLink.used_at.is_(None)]
    if purpose is not None:
        which.append(OneTimeLink.purpose == purpose)
    session.execute(update(OneTimeLink).where(*which).values(used_at=now or datetime.now(UTC)))
