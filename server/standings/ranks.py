"""Ranks on a leaderboard, without counting all lines above: a table counts the lines with about the same score.

The first bits of a score are its bucket; a doubling has 64 buckets. A line's rank counts the buckets above, and
in its own bucket the lines before it. So a million lines take as long as a thousand. Only lines that other students see
are counted. A line that they don't see has the rank that it would have among them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, or_, select, tuple_
from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.standings.models import Standing, StandingCount

BEST_FIRST = (Standing.score.desc(), Standing.reached_at, Standing.lot)
BEST_LAST = (Standing.score, Standing.reached_at.desc(), Standing.lot.desc())
"""The order of a leaderboard by rank: the earlier of two equal lines comes first."""

CPU = "cpu"
"""The device class in addresses for a leaderboard without a GPU; "" in the database."""

_KEPT_BITS = 46
_MAGNITUDE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BoardKey:
    """A leaderboard: assignment, device class, and whether it is live or frozen."""

    assignment_id: int
    device_class: str
    before_freeze: bool = False

    @property
    def lines(self) -> ColumnElement[bool]:
        return self._rows(Standing)

    @property
    def counts(self) -> ColumnElement[bool]:
        return self._rows(StandingCount)

    def _rows(self, table: type[Standing | StandingCount]) -> ColumnElement[bool]:
        return and_(
            table.assignment_id == self.assignment_id,
            table.device_class == self.device_class,
            table.before_freeze.is_(self.before_freeze),
        )


def class_of(name: str) -> str:
    """The device class that an address names; "" without a GPU."""
    return "" if name == CPU else name


def bucket(score: float) -> int:
    """The first bits of the score; a higher score has an equal or higher bucket."""
    bits: int = struct.unpack(">q", struct.pack(">d", score))[0]
    return (bits if bits >= 0 else -(bits & _MAGNITUDE)) >> _KEPT_BITS


def least(number: int) -> float:
    """The lowest score of a bucket."""
    ordered = number << _KEPT_BITS
    value: float = struct.unpack(">d", struct.pack(">q", abs(ordered)))[0]
    return value if ordered >= 0 else -value


Changes = Counter[tuple[BoardKey, int, bool]]
"""How many lines more or fewer: by leaderboard, bucket and whether they are listed."""


def change(session: Session, changes: Changes) -> None:
    """Add to the counts. All transactions use the same order, so none deadlock."""
    for (board, number, listed), by in sorted(changes.items(), key=_in_order):
        if by:
            more = {"count": by, "listed": by if listed else 0}
            key = {**asdict(board), "bucket": number}
            session.execute(
                insert_into(session, StandingCount)
                .values(**key, **more)
                .on_conflict_do_update(
                    index_elements=list(key),
                    set_={name: getattr(StandingCount, name) + added for name, added in more.items()},
                )
            )


def recount(session: Session, assignment: int) -> None:
    """Count the lines of all leaderboards of an assignment again."""
    session.execute(delete(StandingCount).where(StandingCount.assignment_id == assignment))
    lines = select(Standing.device_class, Standing.before_freeze, Standing.score, Standing.listed)
    counted: Counter[tuple[BoardKey, int, bool]] = Counter()
    for device_class, before_freeze, score, listed in session.execute(
        lines.where(Standing.assignment_id == assignment).execution_options(yield_per=10_000)
    ):
        counted[BoardKey(assignment, device_class, before_freeze), bucket(score), listed] += 1
    counts = [
        {
            **asdict(board),
            "bucket": number,
            "count": counted[board, number, True] + counted[board, number, False],
            "listed": counted[board, number, True],
        }
        for board, number in sorted({(board, number) for board, number, _ in counted}, key=_place)
    ]
    if counts:
        session.execute(insert(StandingCount), counts)


def classes(session: Session, assignment: int, reader: int | None) -> list[str]:
    """The device classes with at least one line that the reader sees. None: course staff, who see all."""
    own = exists().where(
        Standing.assignment_id == assignment,
        Standing.device_class == StandingCount.device_class,
        Standing.before_freeze == StandingCount.before_freeze,
        Standing.person_id == reader,
    )
    query = select(StandingCount.device_class).where(
        StandingCount.assignment_id == assignment,
        StandingCount.count > 0 if reader is None else or_(StandingCount.listed > 0, own),
    )
    return sorted(session.scalars(query.distinct()))


@dataclass(frozen=True, slots=True)
class GroupRank:
    """A line's own rank, the rank of its group's first line, and whether the group has other lines."""

    rank: int
    shared_rank: int
    tied: bool


class Ranks:
    """The ranks on one leaderboard, as this transaction sees it.

    total: how many lines other students see; unlisted: how many they don't
    groups: by person, once the whole leaderboard was read
    """

    groups: Mapping[int, GroupRank] | None = None

    def __init__(self, session: Session, board: BoardKey) -> None:
        query = select(StandingCount.bucket, StandingCount.listed, StandingCount.count).where(board.counts)
        counts = session.execute(query).all()
        self._session = session
        self._board = board
        self._counts = {number: listed for number, listed, _ in counts}
        self.total = sum(self._counts.values())
        self.unlisted = sum(count for _, _, count in counts) - self.total

    def of(self, line: Standing) -> int:
        """The rank of a line; 1 for the first."""
        own = bucket(line.score)
        above = sum(count for number, count in self._counts.items() if number > own)
        if self._counts.get(own, 0) <= line.listed:
            return above + 1
        near = and_(
            self._board.lines,
            Standing.listed,
            Standing.score < least(own + 1),
            before(line.score, line.reached_at, line.lot),
        )
        return above + 1 + (self._session.scalar(select(func.count()).where(near)) or 0)


def behind(score: float, reached_at: datetime, lot: int) -> ColumnElement[bool]:
    """Lines after the one with these values; the earlier of two equal lines comes first."""
    later = tuple_(Standing.reached_at, Standing.lot) > tuple_(reached_at, lot)
    return and_(Standing.score <= score, or_(Standing.score < score, later))


def before(score: float, reached_at: datetime, lot: int) -> ColumnElement[bool]:
    """Lines before the one with these values."""
    earlier = tuple_(Standing.reached_at, Standing.lot) < tuple_(reached_at, lot)
    return and_(Standing.score >= score, or_(Standing.score > score, earlier))


def _in_order(item: tuple[tuple[BoardKey, int, bool], int]) -> tuple[int, str, bool, int, bool]:
    board, number, listed = item[0]
    return *_place((board, number)), listed


def _place(of: tuple[BoardKey, int]) -> tuple[int, str, bool, int]:
    board, number = of
    return board.assignment_id, board.device_class, board.before_freeze, number


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
    ranks: dict[int, GroupRank] = {}
    group: list[int] = []
    alone: list[_Stand] = []
    number = rank = first_rank
    least = 0.0
    for line in lines:
        leads = not group or line.high < least
        if not line.listed:
            ranks[line.person] = GroupRank(number, number if leads else rank, tied=not leads)
            alone += [line] if leads else []
            continue
        for above in alone:
            ranks[above.person] = GroupRank(number, number, tied=line.high >= above.low)
        if leads:
            ranks |= _tied(group, rank)
            group, rank, least = [], number, line.low
        group.append(line.person)
        alone, number = [], number + 1
    return ranks | _tied(group, rank)


def _tied(group: Sequence[int], rank: int) -> dict[int, GroupRank]:
    return {person: GroupRank(rank + i, rank, tied=len(group) > 1) for i, person in enumerate(group)}
