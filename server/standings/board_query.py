"""The columns of a leaderboard and the query strings of its pages, read and written."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from server.standings.queries import Order, Position, Ranked, position_of


class Shown(StrEnum):
    """A column that staff can choose. Rank and name are always shown."""

    SPEED = "speed"
    TIME = "time"
    SHARE = "share"
    OCCUPANCY = "occupancy"
    DATE = "date"
    BOUND = "bound"
    LAUNCH = "launch"


ORDERS = {Shown.SPEED: Order.RANK} | {column: Order(column.value) for column in Shown if column is not Shown.SPEED}
"""The order that sorts by a column."""

_MEASURED = (Shown.SPEED, Shown.SHARE, Shown.OCCUPANCY, Shown.DATE, Shown.LAUNCH)
_CHECKED = (Shown.OCCUPANCY, Shown.DATE, Shown.BOUND, Shown.LAUNCH)
_NEVER = {True: {Shown.BOUND}, False: {Shown.SPEED, Shown.TIME, Shown.SHARE}}


def columns_for(chosen: str, *, measured: bool) -> tuple[Shown, ...]:
    """The columns of a leaderboard: the chosen ones that it can fill, otherwise the usual ones.

    The value that ranks kernels is always one of them.
    """
    found = tuple(column for name in chosen.split() if (column := Shown(name)) not in _NEVER[measured])
    if not found:
        return _MEASURED if measured else _CHECKED
    return (Shown.SPEED, *found) if measured and Shown.SPEED not in found else found


def first_order(sort: str, columns: tuple[Shown, ...]) -> tuple[Order, bool]:
    """The order before a reader sorts, and whether it is reversed. By rank if none is chosen."""
    name = sort.removeprefix("-")
    if name not in columns:
        return Order.RANK, False
    return ORDERS[Shown(name)], sort.startswith("-")


def wrong_columns(chosen: str, sort: str) -> dict[str, str]:
    """Mistakes in a choice of columns, by the assignment's setting."""
    names, every = chosen.split(), ", ".join(Shown)
    found: dict[str, str] = {}
    if unknown := [name for name in names if name not in set(Shown)]:
        found["board_columns"] = f"“{unknown[0][:40]}” is not a column. Use some of these: {every}."
    elif len(set(names)) < len(names):
        found["board_columns"] = "A column appears twice. Name each column once."
    name = sort.removeprefix("-")
    if sort and name not in set(Shown):
        found["board_sort"] = f"Choose one of these columns: {every}."
    elif sort and names and name not in {*names, Shown.SPEED}:
        found["board_sort"] = f"The leaderboard doesn’t show “{name}”. Add this column, or sort by another one."
    return found


MARK = "[0-9a-f]{48}"
"""The pattern of a mark from `mark_of`: three numbers of 64 bits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MARK = re.compile(MARK)
_LONGEST_TEXT = 80


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a leaderboard's page.

    turned: whether the order is reversed
    after, before: marks of lines, from `mark_of`
    mine: show the part with the reader's own line
    usual: the order of the page without parameters, and whether it is reversed
    frozen: for course staff, show the leaderboard as students see it
    """

    order: Order = Order.RANK
    turned: bool = False
    text: str = ""
    after: str = ""
    before: str = ""
    mine: bool = False
    frozen: bool = False
    usual: tuple[Order, bool] = (Order.RANK, False)

    def address(self) -> str:
        """The query string with its question mark; "" for the first page."""
        given = {
            **self.sorting(),
            "q": self.text,
            "after": self.after,
            "before": self.before,
            "mine": "yes" if self.mine else "",
            "frozen": "yes" if self.frozen else "",
        }
        asked = urlencode({name: value for name, value in given.items() if value})
        return f"?{asked}" if asked else ""

    def sorting(self) -> dict[str, str]:
        """The parameters of the order; none for the usual one."""
        if (self.order, self.turned) == self.usual:
            return {}
        return {"sort": self.order.value, "turned": "yes" if self.turned else ""}

    def first(self) -> Query:
        return replace(self, after="", before="", mine=False)


def read_query(given: Mapping[str, str], usual: tuple[Order, bool] = (Order.RANK, False)) -> Query:
    """Read the parameters; invalid values are ignored."""
    sort = given.get("sort", "")
    order, turned = usual
    if given.get("mine") == "yes":
        order, turned = Order.RANK, False
    elif sort in set(Order):
        order, turned = Order(sort), given.get("turned") == "yes"
    elif "turned" in given:
        turned = given["turned"] == "yes"
    return Query(
        order=order,
        turned=turned,
        text=" ".join(given.get("q", "").split())[:_LONGEST_TEXT],
        after=given.get("after", "")[:100],
        before=given.get("before", "")[:100],
        mine=given.get("mine") == "yes",
        frozen=given.get("frozen") == "yes",
        usual=usual,
    )


def mark_of(row: Ranked, order: Order = Order.RANK) -> str:
    """Encode a line's position in an order for an address. It reveals nothing that the leaderboard doesn't show."""
    at = position_of(row, order)
    value = at.value if isinstance(at.value, float) else 0.0
    return struct.pack(">dqq", value, (at.reached_at - _EPOCH) // _MICROSECOND, at.lot).hex()


def position_at(mark: str, order: Order = Order.RANK) -> Position | None:
    """Decode a mark, also of a removed line; None for an invalid mark."""
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
