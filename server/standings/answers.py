"""A leaderboard as the API returns it to members of the course."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from server.courses.service import SHORT_NAME, is_staff, visible_assignment
from server.fields import Range, Text
from server.grading.metric import metric_of
from server.standings.board_query import MARK, columns_for, first_order, mark_of, position_at
from server.standings.queries import Ranked
from server.standings.ranks import class_of
from server.standings.service import board
from worker.contract.answers import Board, Line

_NAME = re.compile(SHORT_NAME)


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """The part of a leaderboard to return.

    after: only lines behind this cursor, as in the `next` URL of an answer
    limit: the number of lines
    """

    after: Annotated[str, Text(MARK)] | None = None
    limit: Annotated[int, Range(1, 100)] = 100


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
) -> Board | None:
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

    measured = bool(class_of(device_class))
    line = partial(line_of, metric=metric, measured=measured, reader=person_id, staff=staff)
    columns = columns_for(found.board_columns, measured=measured)
    order, turned = first_order(found.board_sort, columns)
    here = f"/api/v1/leaderboards/{course}/{assignment}/{device_class}"
    return Board(
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


def line_of(ranked: Ranked, metric: Metric, *, measured: bool, reader: int, staff: bool) -> Line:
    """A line as a reader may see it. Without a speed it has no rank: the modelled bound isn't a speed."""
    you = ranked.is_of(reader)
    tile = f"tile {ranked.tile} · " if ranked.tile else ""
    line = Line(
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
        person=ranked.person_id if staff else None,
        email=ranked.email if staff else None,
    )
    if not measured:
        return line
    low, high = sorted((_value(ranked.low, metric), _value(ranked.high, metric)))
    return replace(
        line,
        rank=ranked.rank,
        shared_rank=ranked.shared_rank or ranked.rank,
        tied=ranked.tied,
        value=_value(ranked.score, metric),
        interval=(low, high),
        modelled_bound=None,
    )


def _value(score: float, metric: Metric) -> float:
    return -score if metric is Metric.TIME else score


def frozen(at: datetime | None) -> datetime | None:
    """Since when a leaderboard is frozen for students; None if it isn't."""
    return at if at is not None and at <= datetime.now(UTC) else None
