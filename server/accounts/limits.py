"""How often something may be done: counted in the database, so that all processes count together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server.accounts.models import RateCount
from server.database.engine import Sessions
from server.database.upsert import insert_into

_KEPT = 2
"""Windows that are kept of each action."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many in each stretch of time."""

    action: str
    count: int
    every: timedelta

    def window(self, now: datetime) -> int:
        """The number of the stretch."""
        return int(now.timestamp() // self.every.total_seconds())

    def wait(self, now: datetime) -> int:
        """Seconds until the next begins."""
        seconds = self.every.total_seconds()
        return int(seconds - now.timestamp() % seconds) + 1


@dataclass(slots=True)
class TooOften(Exception):
    """The limit is reached; seconds: until it is no longer."""

    limit: Limit
    seconds: int


def count(sessions: Sessions, limit: Limit, subject: str, now: datetime | None = None) -> None:
    """Count one, in a transaction of its own; raises TooOften where it was one too many."""
    moment = now or datetime.now(UTC)
    with sessions.begin() as session:
        reached = _add(session, limit, subject, moment)
    if reached > limit.count:
        raise TooOften(limit, limit.wait(moment))


def forget(session: Session, limit: Limit, subject: str) -> None:
    """Begin to count anew, as after the right password."""
    session.execute(
        delete(RateCount).where(RateCount.subject == _kept(subject), RateCount.action == limit.action)
    )


def by_address(address: str) -> str:
    """A subject for a network address, which is not to be read out of the database later."""
    return f"address {hashlib.sha256(address.encode()).hexdigest()[:32]}"


def _add(session: Session, limit: Limit, subject: str, now: datetime) -> int:
    window = limit.window(now)
    session.execute(
        delete(RateCount).where(
            RateCount.subject == _kept(subject),
            RateCount.action == limit.action,
            RateCount.window <= window - _KEPT,
        )
    )
    new = insert_into(session, RateCount).values(
        subject=_kept(subject), action=limit.action, window=window, count=1
    )
    session.execute(
        new.on_conflict_do_update(
            index_elements=[RateCount.subject, RateCount.action, RateCount.window],
            set_={"count": RateCount.count + 1},
        )
    )
    return session.scalars(
        select(RateCount.count).where(
            RateCount.subject == _kept(subject), RateCount.action == limit.action, RateCount.window == window
        )
    ).one()


def _kept(subject: str) -> str:
    return subject[:120]
