"""A board, for whoever is in its course."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from server.courses.service import is_staff, visible_assignment
from server.grading.metric import metric_of
from server.http.operation import Moment, Range, Text
from server.standings.board_query import MARK, mark_of, position_at
from server.standings.queries import Ranked
from server.standings.ranks import class_of
from server.standings.service import board

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Which part of a board.

    after: only lines behind this place, as the `next` of an answer has it
    limit: how many lines
    """

    after: Annotated[str, Text(MARK)] | None = None
    limit: Annotated[int, Range(1, 100)] = 100


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """One line of a board.

    rank: its place, counted line by line; shared_rank: of the first that it is statistically level with. None where
        nothing is measured: nobody is ranked there
    tied: whether the interval leaves open which of two or more is faster
    value: by the board's metric, measured; interval: its 95 % interval. None where nothing is measured
    modelled_bound: how fast the kernel could be at most by the board's metric, modelled; None where it was measured, or
        the model says nothing
    cublas_share: measured, 0 to 1; None where there is none
    occupancy: modelled, 0 to 1; None where there is none
    launch: tile, grid and block
    reached_at: when it was handed in; where nothing is measured, when the first right one was
    name: for staff the real one, for others as `pseudonym`
    submission: None for other students, to whom a student is nobody's business
    """

    rank: int | None
    shared_rank: int | None
    tied: bool
    value: float | None
    interval: tuple[float, float] | None
    modelled_bound: float | None
    cublas_share: float | None
    occupancy: float | None
    launch: str
    reached_at: Moment
    you: bool
    name: str
    pseudonym: str
    submission: str | None


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """A board.

    device_class: `cpu` for that of what is checked only
    metric: "gflops" or "gbps", of which more is better, or "time" in ms
    own: your line, wherever it is
    frozen_at: the board as it stood then is what you see; None where you see it as it is
    more: whether lines follow; next: the address of the next part, None behind the last line
    """

    assignment: str
    device_class: str
    metric: str
    frozen_at: Moment | None
    lines: tuple[LineAnswer, ...]
    own: LineAnswer | None
    more: bool
    next: str | None


class NoSuchPlace(ValueError):
    """What was asked for begins behind a place that is none."""


def read_board(
    session: Session, person_id: int, course: str, assignment: str, device_class: str, asked: BoardQuery
) -> BoardAnswer | None:
    """The board as this person may see it; None where there is no such assignment, or none in a course of theirs.

    raise (NoSuchPlace): where `after` is none
    """
    if not all(_NAME.fullmatch(name) for name in (course, assignment, device_class)):
        return None
    seen = visible_assignment(session, person_id, f"{course}/{assignment}", datetime.now(UTC))
    if seen is None:
        return None
    found, role = seen
    metric, staff = metric_of(found.exercise), is_staff(role)
    frozen_at = None if staff else _frozen(found.board_frozen_at)
    after = None if asked.after is None else position_at(asked.after)
    if asked.after is not None and after is None:
        raise NoSuchPlace(asked.after)
    standings = board(
        session, found.id, class_of(device_class),
        limit=asked.limit, after=after, person=person_id, before_freeze=frozen_at is not None,
    )  # fmt: skip

    def line(ranked: Ranked) -> LineAnswer:
        shown = _ranked if class_of(device_class) else _checked
        return shown(ranked, metric, you=ranked.person_id == person_id, staff=staff)

    here = f"/api/v1/leaderboards/{course}/{assignment}/{device_class}"
    return BoardAnswer(
        assignment=f"{course}/{assignment}",
        device_class=device_class,
        metric=metric.value,
        frozen_at=None if frozen_at is None else frozen_at.isoformat(),
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
    """Of one that was not measured: a bound is no speed, and ranks nobody."""
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
        launch=f"{tile}{ranked.launch}".removesuffix(" · "),
        reached_at=ranked.reached_at.isoformat(),
        you=you,
        name=ranked.name if staff else ranked.shown,
        pseudonym=ranked.shown,
        submission=ranked.submission if you or staff else None,
    )


def _value(score: float, metric: Metric) -> float:
    return -score if metric is Metric.TIME else score


def _frozen(at: datetime | None) -> datetime | None:
    return at if at is not None and at <= datetime.now(UTC) else None
