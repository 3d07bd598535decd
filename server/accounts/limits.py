"""Rate limits, counted in the database so that all processes share them.

A power failure may lose counts: not waiting for the disk is worth more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from server.accounts.models import RateCount
from server.database.engine import Sessions, leave_unsynced
from server.database.upsert import insert_for
from server.network import network_of
from server.text import composed

LONGEST_EMAIL = 254

_KEPT = 2
"""Windows that are kept of each action."""

_tidied: WeakKeyDictionary[Sessions, dict[str, int]] = WeakKeyDictionary()
"""The last window in which this process deleted old counts, by action."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` times in each window."""

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
    """The limit is reached. seconds: until the next try is allowed."""

    limit: Limit
    seconds: int


def count(sessions: Sessions, limit: Limit, subject: str, now: datetime | None = None) -> None:
    """Count one use in its own transaction; raises TooOften if it exceeds the limit."""
    count_all(sessions, [(limit, subject)], now)


def count_in(session: Session, limit: Limit, subject: str, now: datetime | None = None) -> None:
    """Count one use in a transaction with other writes; raises TooOften if it exceeds the limit.

    Call `forget_old` before.
    """
    moment = now or datetime.now(UTC)
    if _add(session, limit, subject, moment) > limit.count:
        raise TooOften(limit, limit.wait(moment))


def count_all(sessions: Sessions, asked: Sequence[tuple[Limit, str]], now: datetime | None = None) -> None:
    """Count one use of each limit in order; raises TooOften at the first exceeded one and counts no further.

    Put the narrowest limit first, so that a refused request uses up nothing that others share. Use the same order
    everywhere, so that no two transactions wait for each other.
    """
    moment = now or datetime.now(UTC)
    over: TooOften | None = None
    with sessions.begin() as session:
        leave_unsynced(session)
        try:
            for limit, subject in asked:
                count_in(session, limit, subject, moment)
        except TooOften as often:
            over = often  # after the commit
    for limit, _ in asked:
        forget_old(sessions, limit, moment)
    if over is not None:
        raise over


def take_back(sessions: Sessions, asked: Sequence[tuple[Limit, str]], now: datetime | None = None) -> None:
    """Undo the counts of `count_all`, because the try was not a failure."""
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
    """A limit's subject for a network address; hashed, so that the database doesn't reveal it."""
    return f"address {_hashed(network_of(address))}"


def by_email(email: str) -> str:
    """A limit's subject for an account, whether it exists or not."""
    return f"email {_hashed(composed(email.strip(), LONGEST_EMAIL).lower())}"


def by_both(email: str, address: str) -> str:
    """A limit's subject for an account seen from one network address."""
    return f"both {_hashed(by_email(email) + by_address(address))}"


def _add(session: Session, limit: Limit, subject: str, now: datetime) -> int:
    row = {"subject": _kept(subject), "action": limit.action, "window": limit.window(now), "count": 1}
    connection = session.connection()
    number: int = connection.execute(_counting(connection.dialect.name), row).scalar_one()
    return number


@cache
def _counting(dialect: str) -> Any:
    counted = insert_for(dialect, RateCount).on_conflict_do_update(
        index_elements=[RateCount.subject, RateCount.action, RateCount.window], set_={"count": RateCount.count + 1}
    )
    return counted.returning(RateCount.count)


def _kept(subject: str) -> str:
    return subject[:120]


def forget_old(sessions: Sessions, limit: Limit, now: datetime) -> None:
    """Delete counts of past windows, once in each window, so that the table stays small."""
    window, tidied = limit.window(now), _tidied.setdefault(sessions, {})
    if tidied.get(limit.action) == window:
        return
    tidied[limit.action] = window
    old = (RateCount.action == limit.action, RateCount.window <= window - _KEPT)
    with sessions.begin() as session:
        leave_unsynced(session)
        session.execute(delete(RateCount).where(*old))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
