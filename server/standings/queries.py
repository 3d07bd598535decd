"""Read parts of a leaderboard in any of its orders, and the rank of one person.

The time doesn't grow with the length of the leaderboard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, or_, select, true, tuple_
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.accounts.pseudonyms import BOARD_NAME, board_name
from server.grading.models import Job, Result
from server.standings.models import Standing
from server.standings.ranks import BEST_FIRST, BEST_LAST, BoardKey, Ranks, before, behind, group_ranks
from server.submissions.models import Submission
from server.teams.credit import first_members
from server.teams.models import TeamMember

PAGE = 50
SEARCHED = 20_000
"""The number of lines that a search looks at."""

_CHUNK = 500


class Order(StrEnum):
    """Orders of a leaderboard, each with the best, largest or newest first."""

    RANK = "rank"
    DATE = "date"
    SHARE = "share"
    OCCUPANCY = "occupancy"
    TIME = "time"
    BOUND = "bound"
    LAUNCH = "launch"


_SORTED_BY = {
    Order.RANK: "score",
    Order.DATE: "reached_at",
    Order.SHARE: "cublas_share",
    Order.OCCUPANCY: "occupancy",
    Order.TIME: "score",
    Order.BOUND: "bound",
    Order.LAUNCH: "tile",
}
"""By every metric, the shortest time has the best score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One line of a leaderboard.

    rank: counted line by line, ignoring ties
    shared_rank: the rank of the first line that it is tied with; None if ties were not computed
    tied: whether it is tied with any line; False if ties were not computed
    name: the real name, for course staff; shown: the name for other students
    score: by the exercise's metric, higher is better; a time in ms is negative
    low: the lower end of the score's 95 % interval; high: the upper end
    lot: the order of lines that are equal otherwise
    submission: the public ID of the submission that reached it
    members: the IDs of the team's members; empty without a team, whose names are joined
    listed: whether other students see it
    ms: the median time; None if nothing is measured
    """

    rank: int
    person_id: int
    name: str
    shown: str
    email: str
    score: float
    low: float
    high: float
    reached_at: datetime
    lot: int
    job_id: int
    submission: str
    cublas_share: float
    occupancy: float
    tile: int
    launch: str
    bound: float
    ms: float | None
    listed: bool
    shared_rank: int | None = None
    tied: bool = False
    members: frozenset[int] = frozenset()

    def is_of(self, person: int | None) -> bool:
        return person in (self.members or {self.person_id})


@dataclass(frozen=True, slots=True)
class Position:
    """A line after or before which a part begins. value: what the order sorts by.

    It doesn't reveal the person, and stays valid when the line is removed.
    """

    value: float | datetime
    reached_at: datetime
    lot: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a leaderboard to read.

    after, before: the part begins after the one or ends before the other; neither for the first part
    turned: whether the order is reversed, lowest first
    text: a text in the names to search for
    reader: the person who reads, and sees their own line even if it isn't listed
    staff: for course staff: read lines that aren't listed, and search real names and emails
    """

    order: Order = Order.RANK
    turned: bool = False
    after: Position | None = None
    before: Position | None = None
    text: str = ""
    reader: int | None = None
    staff: bool = False
    limit: int = PAGE

    @property
    def visible(self) -> ColumnElement[bool]:
        """The lines that the reader sees."""
        if self.staff:
            return true()
        return or_(Standing.listed, Standing.person_id == self.reader)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a leaderboard.

    total: listed lines of the whole leaderboard
    earlier, later: whether lines come before and after
    unseen: whether the search stopped before the last line
    """

    rows: tuple[Ranked, ...]
    total: int
    earlier: bool
    later: bool
    unseen: bool = False


def read_part(session: Session, board: BoardKey, asked: Selection, ranks: Ranks | None = None) -> Part:
    """Read the requested lines with their ranks."""
    ranks = ranks or Ranks(session, board)
    backwards = asked.before is not None
    start = asked.before or asked.after
    found, gave_up = _found(session, board, asked, start, backwards=backwards)
    more = len(found) > asked.limit
    found = found[: asked.limit]
    rows = _ranked(session, board, ranks, found[::-1] if backwards else found, asked)
    earlier, later = (more, True) if backwards else (start is not None, more)
    return Part(rows, ranks.total, earlier, later, unseen=gave_up)


def read_own(session: Session, board: BoardKey, person: int, ranks: Ranks | None = None) -> Ranked | None:
    """The person's line, or the best one of their teams."""
    own = Standing.person_id.in_(first_members(board.assignment_id, person))
    found = session.execute(_lines(board).where(own).order_by(*BEST_FIRST)).all()
    if not found:
        return None
    rows = _ranked(session, board, ranks or Ranks(session, board), found, Selection(text="own"))
    return next((row for row in rows if row.is_of(person)), None)


def read_around(session: Session, board: BoardKey, own: Ranked, count: int, asked: Selection) -> tuple[Ranked, ...]:
    """Read a line with `count` neighbours on each side."""
    here, lines = (own.score, own.reached_at, own.lot), _lines(board).where(asked.visible)
    above = session.execute(lines.where(before(*here)).order_by(*BEST_LAST).limit(count)).all()
    below = session.execute(lines.where(behind(*here)).order_by(*BEST_FIRST).limit(count)).all()
    self = session.execute(_lines(board).where(Standing.person_id == own.person_id)).all()
    return _ranked(session, board, Ranks(session, board), [*above[::-1], *self, *below], Selection())


def position_of(row: Ranked, order: Order = Order.RANK) -> Position:
    value = getattr(row, _SORTED_BY[order])
    return Position(value if isinstance(value, datetime) else float(value), row.reached_at, row.lot)


def _lines(board: BoardKey) -> Any:
    return (
        select(Standing, Person, Submission.public_id, Result.ms_median, Submission.team_id)
        .join(Person, Person.id == Standing.person_id)
        .join(Job, Job.id == Standing.job_id)
        .outerjoin(Result, Result.job_id == Standing.job_id)
        .join(Submission, Submission.id == Job.submission_id)
        .where(board.lines)
    )


def _ordering(order: Order, *, least_first: bool) -> tuple[Any, ...]:
    if _SORTED_BY[order] == "score":
        return BEST_LAST if least_first else BEST_FIRST
    column = getattr(Standing, _SORTED_BY[order])
    if least_first:
        return column.asc(), Standing.lot.asc()
    return column.desc(), Standing.lot.desc()


def _beyond(order: Order, at: Position, *, least_first: bool) -> ColumnElement[bool]:
    if _SORTED_BY[order] == "score":
        assert isinstance(at.value, float)
        beyond = before if least_first else behind
        return beyond(at.value, at.reached_at, at.lot)
    here = tuple_(getattr(Standing, _SORTED_BY[order]), Standing.lot)
    there = tuple_(at.value, at.lot)
    return here > there if least_first else here < there


def _found(
    session: Session, board: BoardKey, asked: Selection, start: Position | None, *, backwards: bool
) -> tuple[list[Any], bool]:
    """Read one line more than requested, if there is one; also return whether a search stopped early."""
    least_first = asked.turned != backwards
    beyond = true() if start is None else _beyond(asked.order, start, least_first=least_first)
    ordering = _ordering(asked.order, least_first=least_first)
    lines = _lines(board).where(asked.visible)
    if not asked.text:
        return list(session.execute(lines.where(beyond).order_by(*ordering).limit(asked.limit + 1))), False
    names = (
        select(Standing.person_id, BOARD_NAME, Person.name, Person.email)
        .join(Person, Person.id == Standing.person_id)
        .where(board.lines, asked.visible, beyond)
        .order_by(*ordering)
        .limit(SEARCHED)
    )
    people, seen = _named(session, names, asked)
    rows = {row[0].person_id: row for row in session.execute(lines.where(Standing.person_id.in_(people)))}
    return [rows[person] for person in people], seen == SEARCHED


def _named(session: Session, names: Select[int, str, str, str], asked: Selection) -> tuple[list[int], int]:
    """Search the names: the people found, one more than requested, and the number of lines read."""
    text, people, seen = asked.text.casefold(), [], 0
    for person, shown, *real in session.execute(names.execution_options(yield_per=_CHUNK)):
        seen += 1
        if any(text in name.casefold() for name in (shown, *(real if asked.staff else ()))):
            people.append(person)
            if len(people) > asked.limit:
                break
    return people, seen


def _ranked(
    session: Session, board: BoardKey, ranks: Ranks, found: Sequence[Any], asked: Selection
) -> tuple[Ranked, ...]:
    standings = [row[0] for row in found]
    groups = group_ranks(session, board, ranks, standings)
    in_a_row = asked.order is Order.RANK and not asked.turned and not asked.text
    rows: list[Ranked] = []
    teams = _members(session, {row.team_id for row in found if row.team_id is not None})
    for standing, person, submission, ms, team in found:
        group = groups.get(standing.person_id)
        if group is not None:
            rank = group.rank
        elif rows and in_a_row:
            rank = rows[-1].rank + rows[-1].listed
        else:
            rank = ranks.of(standing)
        row = _row(standing, person, submission, rank, ms)
        if team in teams:
            row = _of_team(row, teams[team])
        rows.append(row if group is None else replace(row, shared_rank=group.shared_rank, tied=group.tied))
    return tuple(rows)


def _members(session: Session, teams: set[int]) -> Mapping[int, Sequence[Person]]:
    """The members of these teams, without erased ones. No statement if there are no teams."""
    if not teams:
        return {}
    query = (
        select(TeamMember.team_id, Person)
        .join(Person, Person.id == TeamMember.person_id)
        .where(TeamMember.team_id.in_(teams), Person.erased_at.is_(None))
        .order_by(Person.id)
    )
    found: dict[int, list[Person]] = {}
    for team, person in session.execute(query):
        found.setdefault(team, []).append(person)
    return found


def _of_team(row: Ranked, members: Sequence[Person]) -> Ranked:
    return replace(
        row,
        name=" and ".join(one.name for one in members),
        shown=" and ".join(map(board_name, members)),
        email=", ".join(one.email for one in members),
        members=frozenset(one.id for one in members),
    )


def _row(standing: Standing, person: Person, submission: str, rank: int, ms: float | None) -> Ranked:
    return Ranked(
        rank=rank,
        person_id=standing.person_id,
        name=person.name,
        shown=board_name(person),
        email=person.email,
        score=standing.score,
        low=standing.low,
        high=standing.high,
        reached_at=standing.reached_at,
        lot=standing.lot,
        job_id=standing.job_id,
        submission=submission,
        cublas_share=standing.cublas_share,
        occupancy=standing.occupancy,
        tile=standing.tile,
        launch=standing.launch,
        bound=standing.bound,
        ms=ms,
        listed=standing.listed,
    )
