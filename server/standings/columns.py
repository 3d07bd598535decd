"""The columns of a leaderboard: which ones it shows, in which order, and which one sorts it at first."""

from __future__ import annotations

from enum import StrEnum

from server.standings.queries import Order


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
