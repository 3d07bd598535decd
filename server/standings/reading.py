"""A board, for whoever is in its course."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from server.courses.service import find_assignment, is_shown, role_in
from server.standings.boards import Ranked
from server.standings.metric import metric_of
from server.standings.service import board
from server.web.identity import is_staff

SHOWN = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """One line of a board.

    rank: its place, counted line by line; shared_rank: of the first that it is statistically level with
    value: by the board's metric, measured; interval: its 95 % interval
    tied: whether the interval leaves open which of two or more is faster
    cublas_share, occupancy: 0 to 1; None where there is none
    launch: tile, grid and block
    name: for staff the real one, for others as `pseudonym`
    submission: None for other students, to whom a student is nobody's business
    """

    rank: int
    shared_rank: int
    tied: bool
    value: float
    interval: tuple[float, float]
    cublas_share: float | None
    occupancy: float | None
    launch: str
    reached_at: str
    you: bool
    name: str
    pseudonym: str
    submission: str | None


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """A board.

    metric: "gflops" or "gbps", of which more is better, or "time" in ms
    own: your line, wherever it is
    frozen_at: the board as it stood then is what you see; None where you see it as it is
    """

    assignment: str
    device_class: str
    metric: str
    frozen_at: str | None
    lines: tuple[LineAnswer, ...]
    own: LineAnswer | None
    more: bool


def read_board(
    session: Session, person_id: int, course: str, assignment: str, device_class: str
) -> BoardAnswer | None:
    """The board as this person may see it; None where there is no such assignment, or none in a course of theirs."""
    if not all(_NAME.fullmatch(name) for name in (course, assignment, device_class)):
        return None
    found = find_assignment(session, f"{course}/{assignment}")
    role = None if found is None else role_in(session, person_id, found.course_id)
    if found is None or role is None or not is_shown(found, role, datetime.now(UTC)):
        return None
    metric, staff = metric_of(found.exercise), is_staff(role)
    frozen_at = None if staff else _frozen(found.board_frozen_at)
    standings = board(
        session, found.id, device_class, limit=SHOWN, person=person_id, before_freeze=frozen_at is not None
    )

    def line(ranked: Ranked) -> LineAnswer:
        return _line(ranked, metric, you=ranked.person_id == person_id, staff=staff)

    return BoardAnswer(
        assignment=f"{course}/{assignment}",
        device_class=device_class,
        metric=metric.value,
        frozen_at=None if frozen_at is None else frozen_at.isoformat(),
        lines=tuple(map(line, standings.rows)),
        own=None if standings.own is None else line(standings.own),
        more=standings.more,
    )


def _line(ranked: Ranked, metric: Metric, *, you: bool, staff: bool) -> LineAnswer:
    low, high = sorted((_value(ranked.low, metric), _value(ranked.high, metric)))
    tile = f"tile {ranked.tile} · " if ranked.tile else ""
    return LineAnswer(
        rank=ranked.rank,
        shared_rank=ranked.level or ranked.rank,
        tied=ranked.tied,
        value=_value(ranked.score, metric),
        interval=(low, high),
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
