"""What the address of a board asks for, and addresses that ask for another part of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.standings.boards import Order, Position, Ranked, position_of
from server.submissions.models import Submission

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MARK = re.compile(r"(-?[0-9][0-9.e+-]{0,30})_([0-9]{1,16})_([0-9a-z]{1,32})")
_LONGEST_TEXT = 80


@dataclass(frozen=True, slots=True)
class Query:
    """The parts of an address.

    after, before: marks of lines, as `mark_of` makes them
    mine: the part with the reader's own line
    frozen: for staff, the board as students see it
    """

    order: Order = Order.RANK
    turned: bool = False
    text: str = ""
    after: str = ""
    before: str = ""
    mine: bool = False
    frozen: bool = False

    def address(self) -> str:
        """What stands after the board's path; "" for its first page."""
        given = {
            "sort": "" if self.order is Order.RANK else self.order.value,
            "turned": "yes" if self.turned else "",
            "q": self.text,
            "after": self.after,
            "before": self.before,
            "mine": "yes" if self.mine else "",
            "frozen": "yes" if self.frozen else "",
        }
        asked = urlencode({name: value for name, value in given.items() if value})
        return f"?{asked}" if asked else ""

    def first(self) -> Query:
        """The same from its first page."""
        return replace(self, after="", before="", mine=False)


def read_query(given: Mapping[str, str]) -> Query:
    """What was asked for; what makes no sense is as if it were not there."""
    sort = given.get("sort", "")
    return Query(
        order=Order(sort) if sort in set(Order) else Order.RANK,
        turned=given.get("turned") == "yes",
        text=" ".join(given.get("q", "").split())[:_LONGEST_TEXT],
        after=given.get("after", "")[:100],
        before=given.get("before", "")[:100],
        mine=given.get("mine") == "yes",
        frozen=given.get("frozen") == "yes",
    )


def mark_of(row: Ranked, order: Order) -> str:
    """A line's place in an order, for an address. It holds no number of a person, which could tell who that is."""
    at = position_of(row, order)
    value = repr(at.value) if isinstance(at.value, float) else str(_micros(at.value))
    return f"{value}_{_micros(at.reached_at)}_{row.submission}"


def position_at(session: Session, assignment: int, mark: str, order: Order) -> Position | None:
    """Where that is, also when the line has gone from there; None for what is no mark."""
    found = _MARK.fullmatch(mark)
    if found is None:
        return None
    try:
        value, moment = float(found[1]), _EPOCH + int(found[2]) * _MICROSECOND
        at = _EPOCH + int(found[1]) * _MICROSECOND if order is Order.DATE else value
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(value):
        return None
    person = session.scalar(
        select(Submission.person_id).where(
            Submission.public_id == found[3], Submission.assignment_id == assignment
        )
    )
    return Position(at, moment, person or 0)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
