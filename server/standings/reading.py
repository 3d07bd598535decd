"""A board, for whoever is in its course."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy.orm import Session

from kernels.exercise import read_exercise
from kernels.exercise.model import Metric
from server.courses.models import Assignment, Role
from server.courses.service import find_assignment, role_in
from server.standings.service import Ranked, board
from server.web.identity import is_staff

SHOWN = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """One line of a board.

    value: by the board's metric, measured
    name, submission: None for other students, to whom a student is nobody's business
    """

    rank: int
    value: float
    reached_at: str
    you: bool
    name: str | None
    submission: str | None


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """A board. metric: "gflops" or "gbps", of which more is better, or "time" in ms; own: your line, wherever it is."""

    assignment: str
    device_class: str
    metric: str
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
    if found is None or role is None or not _open_to(role, found):
        return None
    metric = _metric(found.exercise.name, found.exercise.definition)
    standings = board(session, found.id, device_class, limit=SHOWN, person=person_id)

    def line(ranked: Ranked) -> LineAnswer:
        you = ranked.person_id == person_id
        named = you or is_staff(role)
        return LineAnswer(
            rank=ranked.rank,
            value=-ranked.score if metric == Metric.TIME else ranked.score,
            reached_at=ranked.reached_at.isoformat(),
            you=you,
            name=ranked.name if named else None,
            submission=ranked.submission if named else None,
        )

    return BoardAnswer(
        assignment=f"{course}/{assignment}",
        device_class=device_class,
        metric=metric.value,
        lines=tuple(map(line, standings.rows)),
        own=None if standings.own is None else line(standings.own),
        more=standings.more,
    )


def _open_to(role: Role, assignment: Assignment) -> bool:
    return is_staff(role) or assignment.opens_at is None or assignment.opens_at <= datetime.now(UTC)


@lru_cache(maxsize=256)
def _metric(name: str, definition: str) -> Metric:
    return read_exercise(name, definition).metric
