"""A leaderboard as the API returns it to members of the course."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from server.courses.service import SHORT_NAME, is_staff, visible_assignment
from server.fields import Range, Text
from server.grading.metric import metric_of
from server.standings.board_query import MARK, mark_of, position_at
from server.standings.columns import columns_for, first_order
from server.standings.queries import Ranked
from server.standings.ranks import class_of
from server.standings.service import board

_NAME = re.compile(SHORT_NAME)


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """The part of a leaderboard to return.

    after: only lines behind this cursor, as in the `next` URL of an answer
    limit: the number of lines
    """

    after: Annotated[str, Text(MARK)] | None = None
    limit: Annotated[int, Range(1, 100)] = 100


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """One line of a leaderboard.

    rank: counted by listed lines, ignoring ties; None if nothing is measured
    shared_rank: the rank of the first line that it is tied with; None if nothing is measured
    tied: whether intervals leave open which of two or more kernels is faster
    value: measured, by the leaderboard's metric; None if nothing is measured
    interval: the 95 % interval of the value; None if nothing is measured
    modelled_bound: the model's limit for this kernel, by the leaderboard's metric; None if measured or unknown
    cublas_share: the measured share of cuBLAS's speed, 0 to 1; None if unknown
    occupancy: modelled, 0 to 1; None if unknown
    ms: the measured median time; None if nothing is measured
    launch: tile, grid and block
    reached_at: when the kernel was submitted; if nothing is measured, when the first accepted one was
    you: whether it is your line
    listed: whether other students see it. You see your own line, and course staff see all
    name: the real name for course staff, the pseudonym for other students
    submission: for its owner and course staff; None for other students
    """

    rank: int | None
    shared_rank: int | None
    tied: bool
    value: float | None
    interval: tuple[float, float] | None
    modelled_bound: float | None
    cublas_share: float | None
    occupancy: float | None
    ms: float | None
    launch: str
    reached_at: datetime
    you: bool
    listed: bool
    name: str
    pseudonym: str
    submission: str | None


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """A leaderboard.

    device_class: `cpu` for an assignment that no GPU measures
    metric: "gflops", "gbps" or "elements" (millions a second), higher is better, or "time" in ms
    columns: the columns that staff chose, in their order
    sort: the order that the page opens with, with "-" in front if reversed. Here, lines are by rank
    own: your line, wherever it is
    frozen_at: you see submissions until then; None if you see the live leaderboard
    more: whether lines follow; next: the URL of the next part, None at the end
    """

    assignment: str
    device_class: str
    metric: str
    columns: tuple[str, ...]
    sort: str
    frozen_at: datetime | None
    lines: tuple[LineAnswer, ...]
    own: LineAnswer | None
    more: bool
    next: str | None


class NoSuchPlace(ValueError):
    """`after` is not a valid cursor."""


def read_board(
    session: Session,
    person_id: int,
    course: str,
    assignment: str,
    device_class: str,
    asked: BoardQuery,
    *,
    as_staff: bool = True,
) -> BoardAnswer | None:
    """Read the leaderboard as this person may see it; None for no such assignment in their courses.

    as_staff: whether course staff see it as staff, and not as students do
    raise (NoSuchPlace): `after` is not a valid cursor
    """
    if not all(_NAME.fullmatch(name) for name in (course, assignment, device_class)):
        return None
    seen = visible_assignment(session, person_id, f"{course}/{assignment}", datetime.now(UTC))
    if seen is None:
        return None
    found, role = seen
    metric, staff = metric_of(found.exercise), as_staff and is_staff(role)
    frozen_at = None if staff else frozen(found.board_frozen_at)
    after = None if asked.after is None else position_at(asked.after)
    if asked.after is not None and after is None:
        raise NoSuchPlace(asked.after)
    standings = board(
        session, found.id, class_of(device_class),
        limit=asked.limit, after=after, person=person_id, staff=staff, before_freeze=frozen_at is not None,
    )  # fmt: skip

    def line(ranked: Ranked) -> LineAnswer:
        shown = _ranked if class_of(device_class) else _checked
        return shown(ranked, metric, you=ranked.person_id == person_id, staff=staff)

    columns = columns_for(found.board_columns, measured=bool(class_of(device_class)))
    order, turned = first_order(found.board_sort, columns)
    here = f"/api/v1/leaderboards/{course}/{assignment}/{device_class}"
    return BoardAnswer(
        assignment=f"{course}/{assignment}",
        device_class=device_class,
        metric=metric.value,
        columns=columns,
        sort=f"{'-' if turned else ''}{order}",
        frozen_at=frozen_at,
        lines=tuple(map(line, standings.rows)),
        own=None if standings.own is None else line(standings.own),
        more=standings.more,
        next=f"{here}?limit={asked.limit}&after={mark_of(standings.rows[-1])}" if standings.more else None,
    )


def _ranked(ranked: Ranked, metric: Metric, *, you: bool, staff: bool) -> LineAnswer:
    low, high = sorted((_value(ranked.low, metric), _value(ranked.high, metric)))
    return replace(
        _checked(ranked, metric, you=you, staff=staff),
        rank=ranked.rank,
        shared_rank=ranked.shared_rank or ranked.rank,
        tied=ranked.tied,
        value=_value(ranked.score, metric),
        interval=(low, high),
        modelled_bound=None,
    )


def _checked(ranked: Ranked, metric: Metric, *, you: bool, staff: bool) -> LineAnswer:
    """A line without a speed. It has no rank: the modelled bound isn't a speed."""
    tile = f"tile {ranked.tile} · " if ranked.tile else ""
    return LineAnswer(
        rank=None,
        shared_rank=None,
        tied=False,
        value=None,
        interval=None,
        modelled_bound=_value(ranked.bound, metric) if ranked.bound else None,
        cublas_share=ranked.cublas_share or None,
        occupancy=ranked.occupancy or None,
        ms=ranked.ms,
        launch=f"{tile}{ranked.launch}".removesuffix(" · "),
        reached_at=ranked.reached_at,
        you=you,
        listed=ranked.listed,
        name=ranked.name if staff else ranked.shown,
        pseudonym=ranked.shown,
        submission=ranked.submission if you or staff else None,
    )


def _value(score: float, metric: Metric) -> float:
    return -score if metric is Metric.TIME else score


def frozen(at: datetime | None) -> datetime | None:
    """Since when a leaderboard is frozen for students; None if it isn't."""
    return at if at is not None and at <= datetime.now(UTC) else None
