"""How often something may be done: counted in the database, so that all processes count together.

A loss of power may take counts back: not to wait for the disk is worth more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.accounts.models import RateCount
from server.database.engine import Sessions, leave_unsynced
from server.database.upsert import insert_into
from server.network import network_of
from server.text import composed

LONGEST_EMAIL = 254

_KEPT = 2
"""Windows that are kept of each action."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many in each stretch of time."""

    action: str
    count: int
    every: timedelta

    def window(self, now: datetime) -> int:
        return int(now.timestamp() // self.every.total_seconds())

    def wait(self, now: datetime) -> int:
        seconds = self.every.total_seconds()
        return int(seconds - now.timestamp() % seconds) + 1


@dataclass(slots=True)
class TooOften(Exception):
    """The limit is reached; seconds: until it is no longer."""

    limit: Limit
    seconds: int


def count(sessions: Sessions, limit: Limit, subject: str, now: datetime | None = None) -> None:
    """Count one, in a transaction of its own; raises TooOften where it was one too many."""
    count_all(sessions, [(limit, subject)], now)


def count_all(sessions: Sessions, asked: Sequence[tuple[Limit, str]], now: datetime | None = None) -> None:
    """Count one of each in their order; raises TooOften at the first where it was one too many, and counts no further.

    So what is refused here uses up nothing of what is shared with others, where the narrowest limit comes first. Those
    who count several together name them in the same order everywhere: then none waits for another in a circle.
    """
    moment = now or datetime.now(UTC)
    begun: list[Limit] = []
    over: Limit | None = None
    with sessions.begin() as session:
        leave_unsynced(session)
        for limit, subject in asked:
            number = _add(session, limit, subject, moment)
            if number == 1:
                begun.append(limit)
            if number > limit.count:
                over = limit
                break
    for limit in begun:
        _forget_old(sessions, limit, moment)
    if over is not None:
        raise TooOften(over, over.wait(moment))


def take_back(sessions: Sessions, asked: Sequence[tuple[Limit, str]], now: datetime | None = None) -> None:
    """It was no failure after all: what `count_all` counted of it does not count."""
    moment = now or datetime.now(UTC)
    with sessions.begin() as session:
        leave_unsynced(session)
        for limit, subject in asked:
            which = (
                RateCount.subject == _kept(subject),
                RateCount.action == limit.action,
                RateCount.window == limit.window(moment),
                RateCount.count > 0,
            )
            session.execute(update(RateCount).where(*which).values(count=RateCount.count - 1))


def by_address(address: str) -> str:
    """A subject for a network address, which is not to be read out of the database later."""
    return f"address {_hashed(network_of(address))}"


def by_email(email: str) -> str:
    """A subject for an account, also for one that there is not."""
    return f"email {_hashed(composed(email.strip(), LONGEST_EMAIL).lower())}"


def by_both(email: str, address: str) -> str:
    """A subject for an account as seen from a network address."""
    return f"both {_hashed(by_email(email) + by_address(address))}"


def _add(session: Session, limit: Limit, subject: str, now: datetime) -> int:
    window = limit.window(now)
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


def _forget_old(sessions: Sessions, limit: Limit, now: datetime) -> None:
    """What was counted of anybody long ago: the table stays as small as the crowd of the last hours."""
    old = (RateCount.action == limit.action, RateCount.window <= limit.window(now) - _KEPT)
    with sessions.begin() as session:
        leave_unsynced(session)
        session.execute(delete(RateCount).where(*old))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
