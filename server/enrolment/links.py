"""Use one-time links.

Viewing a link's page doesn't use it up: mail and chat programs open links before people do.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session, contains_eager

from server.accounts.digest import digest_of
from server.accounts.models import LinkPurpose, OneTimeLink, Person
from server.enrolment.authority import barrier


def find_link(session: Session, purpose: LinkPurpose, token: str, now: datetime | None = None) -> OneTimeLink | None:
    """The link with its person, if it is valid and its creator may still create it; changes nothing."""
    link = session.scalar(
        select(OneTimeLink)
        .join(OneTimeLink.person)
        .options(contains_eager(OneTimeLink.person))
        .where(
            OneTimeLink.digest == digest_of(token),
            OneTimeLink.purpose == purpose,
            OneTimeLink.used_at.is_(None),
            OneTimeLink.expires_at > (now or datetime.now(UTC)),
            Person.disabled_at.is_(None),
            Person.erased_at.is_(None),
        )
    )
    return link if link is not None and _maker_still_may(session, link) else None


def use_link(session: Session, purpose: LinkPurpose, token: str) -> OneTimeLink | None:
    """Use up a valid link; None if it is invalid. Of simultaneous requests, one succeeds."""
    now = datetime.now(UTC)
    link = find_link(session, purpose, token, now)
    if link is None:
        return None
    used = session.execute(
        update(OneTimeLink)
        .where(OneTimeLink.id == link.id, OneTimeLink.used_at.is_(None))
        .values(used_at=now)
        .returning(OneTimeLink.id)
    )
    return link if used.first() is not None else None


def _maker_still_may(session: Session, link: OneTimeLink) -> bool:
    """Whether the creator may still do so: the account may have more rights by now, or the creator fewer."""
    if link.created_by is None:
        return True
    maker = session.get_one(Person, link.created_by)
    return maker.disabled_at is None and barrier(session, maker, link.person) is None
