"""Groups of tied lines: the intervals leave open which kernel is faster.

The first line of a leaderboard leads a group. Each next line joins the group if its interval overlaps the leader's.
The first line that doesn't overlap leads the next group. Neighbours aren't compared, because a chain of small steps
could tie very different kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.standings.models import Standing
from server.standings.ranks import BEST_FIRST, BEST_LAST, BoardKey, GroupRank, Ranks, before

WHOLE = 2_000
"""Up to this number of lines, the groups are computed from the whole leaderboard."""

_CONTEXT = 500
"""On a longer leaderboard, so many lines above the shown ones are read to find a group's start."""


@dataclass(frozen=True, slots=True)
class _Stand:
    person: int
    low: float
    high: float


def group_ranks(
    session: Session, board: BoardKey, ranks: Ranks, shown: Sequence[Standing]
) -> Mapping[int, GroupRank]:
    """The ranks of these lines by person, with ties.

    shown: consecutive lines by rank. In another order, a long leaderboard gets no groups
    """
    if not shown or not board.device_class:
        return {}
    query = select(Standing.person_id, Standing.low, Standing.high).where(board.lines)
    if ranks.total <= WHOLE:
        if ranks.groups is None:
            everybody = session.execute(query.order_by(*BEST_FIRST))
            ranks.groups = _grouped((_Stand(*row) for row in everybody), 1)
        return ranks.groups
    first, last = shown[0], shown[-1]
    first_rank = ranks.of(first.score, first.reached_at, first.lot)
    if ranks.of(last.score, last.reached_at, last.lot) != first_rank + len(shown) - 1:
        return {}
    above = query.where(before(first.score, first.reached_at, first.lot)).order_by(*BEST_LAST)
    context = [_Stand(*row) for row in session.execute(above.limit(_CONTEXT))][::-1]
    lines = [*context, *(_Stand(each.person_id, each.low, each.high) for each in shown)]
    return _grouped(lines, first_rank - len(context))


def _grouped(lines: Iterable[_Stand], first_rank: int) -> Mapping[int, GroupRank]:
    found: dict[int, GroupRank] = {}
    group: list[int] = []
    rank, least = first_rank, 0.0
    for number, line in enumerate(lines, first_rank):
        if not group or line.high < least:
            found |= _tied(group, rank)
            group, rank, least = [], number, line.low
        group.append(line.person)
    return found | _tied(group, rank)


def _tied(group: Sequence[int], rank: int) -> dict[int, GroupRank]:
    return {person: GroupRank(rank + i, rank, tied=len(group) > 1) for i, person in enumerate(group)}
