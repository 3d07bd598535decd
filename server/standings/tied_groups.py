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
    listed: bool


def group_ranks(session: Session, board: BoardKey, ranks: Ranks, shown: Sequence[Standing]) -> Mapping[int, GroupRank]:
    """The ranks of these lines by person, with ties. A line that isn't listed changes no other line's rank or ties.

    shown: consecutive lines by rank. In another order, a long leaderboard gets no groups
    """
    if not shown or not board.device_class:
        return {}
    query = select(Standing.person_id, Standing.low, Standing.high, Standing.listed).where(board.lines)
    if ranks.total + ranks.unlisted <= WHOLE:
        if ranks.groups is None:
            everybody = session.execute(query.order_by(*BEST_FIRST))
            ranks.groups = _grouped((_Stand(*row) for row in everybody), 1)
        return ranks.groups
    first, last = shown[0], shown[-1]
    first_rank = ranks.of(first)
    if ranks.of(last) != first_rank + sum(line.listed for line in shown[:-1]):
        return {}
    above = query.where(Standing.listed, before(first.score, first.reached_at, first.lot)).order_by(*BEST_LAST)
    context = [_Stand(*row) for row in session.execute(above.limit(_CONTEXT))][::-1]
    lines = [*context, *(_Stand(each.person_id, each.low, each.high, each.listed) for each in shown)]
    return _grouped(lines, first_rank - len(context))


def _grouped(lines: Iterable[_Stand], first_rank: int) -> Mapping[int, GroupRank]:
    found: dict[int, GroupRank] = {}
    group: list[int] = []
    alone: list[_Stand] = []
    number = rank = first_rank
    least = 0.0
    for line in lines:
        leads = not group or line.high < least
        if not line.listed:
            found[line.person] = GroupRank(number, number if leads else rank, tied=not leads)
            alone += [line] if leads else []
            continue
        for above in alone:
            found[above.person] = GroupRank(number, number, tied=line.high >= above.low)
        if leads:
            found |= _tied(group, rank)
            group, rank, least = [], number, line.low
        group.append(line.person)
        alone, number = [], number + 1
    return found | _tied(group, rank)


def _tied(group: Sequence[int], rank: int) -> dict[int, GroupRank]:
    return {person: GroupRank(rank + i, rank, tied=len(group) > 1) for i, person in enumerate(group)}
