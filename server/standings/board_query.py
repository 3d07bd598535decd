"""What the address of a board asks for, and addresses that ask for another part of it."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from server.standings.queries import Order, Position, Ranked, position_of

MARK = "[0-9a-f]{48}"
"""What `mark_of` makes, as a pattern: three numbers of 64 bits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MARK = re.compile(MARK)
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


def mark_of(row: Ranked, order: Order = Order.RANK) -> str:
    """A line's place in an order, for an address. It says no more of whose line it is than the board does."""
    at = position_of(row, order)
    value = at.value if isinstance(at.value, float) else 0.0
    return struct.pack(">dqq", value, (at.reached_at - _EPOCH) // _MICROSECOND, at.lot).hex()


def position_at(mark: str, order: Order = Order.RANK) -> Position | None:
    """Where that is, also when the line has gone from there; None for what is no mark."""
    if _MARK.fullmatch(mark) is None:
        return None
    value, micros, lot = struct.unpack(">dqq", bytes.fromhex(mark))
    try:
        moment = _EPOCH + micros * _MICROSECOND
    except OverflowError:
        return None
    if not math.isfinite(value) or micros < 0:
        return None
    return Position(moment if order is Order.DATE else value, moment, lot)
