"""Links that work once: with one somebody sets a password, for the first time or anew.

Looking at the page of a link uses nothing up: mail programs and chats open links before people do.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session, contains_eager

from server.accounts.digest import digest_of
from server.accounts.models import LinkPurpose, OneTimeLink, Person
from server.enrolment.authority import barrier

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


def find_link(
    session: Session, purpose: LinkPurpose, token: str, now: datetime | None = None
) -> OneTimeLink | None:
    """The link, with its person, while it is good and whoever handed it out still could; changes nothing."""
    found = session.scalar(
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
    return found if found is not None and _maker_still_may(session, found) else None


def use_link(
    session: Session, purpose: LinkPurpose, token: str, now: datetime | None = None
) -> OneTimeLink | None:
    """The link, which is good no more; None where it was not before. Of many at once one gets it."""
    moment = now or datetime.now(UTC)
    found = find_link(session, purpose, token, moment)
    if found is None:
        return None
    used = session.execute(
        update(OneTimeLink)
        .where(OneTimeLink.id == found.id, OneTimeLink.used_at.is_(None))
        .values(used_at=moment)
        .returning(OneTimeLink.id)
    )
    return found if used.first() is not None else None


def end_links(
    session: Session, person_id: int, purpose: LinkPurpose | None = None, now: datetime | None = None
) -> None:
    """No link of this purpose, or of any, is good any more for this person."""
    which = [OneTimeLink.person_id == person_id, OneTimeLink.used_at.is_(None)]
    if purpose is not None:
        which.append(OneTimeLink.purpose == purpose)
    session.execute(update(OneTimeLink).where(*which).values(used_at=now or datetime.now(UTC)))


def _maker_still_may(session: Session, link: OneTimeLink) -> bool:
    """Whether its maker could hand it out today: the account may reach further by now, or the maker less far."""
    if link.created_by is None:
        return True
    maker = session.get_one(Person, link.created_by)
    return maker.disabled_at is None and barrier(session, maker, link.person) is None
