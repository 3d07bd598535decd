"""Which lines of a board are level: whose intervals leave open which of them is faster.

The first line of a board leads a group; every next one whose interval reaches that of the leader is level with it, and
the first that does not leads the next group. So no chain of small steps makes a fast and a slow kernel level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.standings.models import Standing
from server.standings.ranks import BEST_FIRST, BEST_LAST, BoardKey, Level, Ranks, before

WHOLE = 2_000
"""Of a board with at most so many lines all are looked at."""

_CONTEXT = 500
"""Of a longer one so many above those shown: enough to come upon a gap between two groups."""


@dataclass(frozen=True, slots=True)
class _Stand:
    person: int
    low: float
    high: float


def levels(session: Session, board: BoardKey, ranks: Ranks, shown: Sequence[Standing]) -> Mapping[int, Level]:
    """The group of each of these standings, by person.

    shown: of a long board, lines that follow each other; of one that was put into another order, none can be told
    """
    if not shown or not board.device_class:
        return {}
    query = select(Standing.person_id, Standing.low, Standing.high).where(board.lines)
    if ranks.total <= WHOLE:
        if ranks.levels is None:
            everybody = session.execute(query.order_by(*BEST_FIRST))
            ranks.levels = _grouped((_Stand(*row) for row in everybody), 1)
        return ranks.levels
    first, last = shown[0], shown[-1]
    place = ranks.of(first.score, first.reached_at, first.lot)
    if ranks.of(last.score, last.reached_at, last.lot) != place + len(shown) - 1:
        return {}
    above = query.where(before(first.score, first.reached_at, first.lot)).order_by(*BEST_LAST)
    context = [_Stand(*row) for row in session.execute(above.limit(_CONTEXT))][::-1]
    lines = [*context, *(_Stand(each.person_id, each.low, each.high) for each in shown)]
    return _grouped(lines, place - len(context))


def _grouped(lines: Iterable[_Stand], place: int) -> Mapping[int, Level]:
    found: dict[int, Level] = {}
    group: list[int] = []
    rank, least = place, 0.0
    for number, line in enumerate(lines, place):
        if not group or line.high < least:
            found |= _told(group, rank)
            group, rank, least = [], number, line.low
        group.append(line.person)
    return found | _told(group, rank)


def _told(group: Sequence[int], rank: int) -> dict[int, Level]:
    return {person: Level(rank + i, rank, tied=len(group) > 1) for i, person in enumerate(group)}
