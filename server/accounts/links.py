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
    return f"/{purpose}/{token}"


def end_links(
    session: Session, person_id: int, purpose: LinkPurpose | None = None, now: datetime | None = None
) -> None:
    """End the person's links of this purpose, or all of them."""
    which = [OneTimeLink.person_id == person_id, OneTimeLink.used_at.is_(None)]
    if purpose is not None:
        which.append(OneTimeLink.purpose == purpose)
    session.execute(update(OneTimeLink).where(*which).values(used_at=now or datetime.now(UTC)))
