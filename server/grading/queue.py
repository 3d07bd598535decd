"""Where a job stands in the queue, and how long it will wait, as far as that can be said honestly."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from server.fleet.service import known_workers, slots
from server.grading.models import Job, Step, StepState
from server.grading.turns import IN_FLIGHT, QUEUED, in_state
from worker.messages import CPU_QUEUE

COUNTED = 1_000
"""How far a position is counted; beyond, it is "more than that"."""

_RECENT = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A job's place.

    position: 1 for the next to be taken, 0 for one that is at work, None where the job is over; COUNTED + 1 stands for
        "more than COUNTED"
    seconds: until a worker takes it; None where nobody can tell
    reason: why nobody can, a sentence; "" where it is told, or nothing is awaited
    """

    position: int | None
    seconds: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """The position in words."""
        if self.position is None:
            return "not in the queue"
        if self.position > COUNTED:
            return f"more than {COUNTED:,} are before it"
        return f"number {self.position:,} in the queue" if self.position else "at work"


def place_of(session: Session, job: Job, now: datetime) -> Place:
    """The place of a job's open step."""
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    step = session.scalar(select(Step).where(Step.job_id == job.id, open_states))
    if step is None:
        return Place(None)
    if step.state is StepState.RUNNING:
        return Place(0, 0.0)
    ahead = _sent_before(session, step) if step.state is StepState.SENT else _ahead(session, step)
    position = min(ahead, COUNTED) + 1
    if ahead > COUNTED:
        return Place(position, None, f"More than {COUNTED:,} steps are before it.")
    seconds, reason = _wait(session, step.queue, ahead, now)
    return Place(position, seconds, reason)


def _ahead(session: Session, step: Step) -> int:
    """What is taken before a queued step: those queued before it, and all that are sent; counted to COUNTED + 1."""
    order = tuple_(Step.priority, Step.turn, Step.id)
    mine = tuple_(step.priority, step.turn, step.id)
    before = select(Step.id).where(Step.queue == step.queue, QUEUED, order < mine).limit(COUNTED + 1)
    queued = session.scalar(select(func.count()).select_from(before.subquery())) or 0
    return queued + _sent(session, step.queue)


def _sent_before(session: Session, step: Step) -> int:
    """Sent earlier, and not begun."""
    query = select(func.count()).where(
        Step.queue == step.queue, IN_FLIGHT, Step.state == StepState.SENT, Step.sent_at < step.sent_at
    )
    return session.scalar(query) or 0


def _sent(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.SENT)
    return session.scalar(query) or 0


def _running(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.RUNNING)
    return session.scalar(query) or 0


def _wait(session: Session, queue: str, ahead: int, now: datetime) -> tuple[float | None, str]:
    """Seconds until a slot is free for who has `ahead` before it, and why not where they cannot be told."""
    live = slots(known_workers(session, now)).get(queue, 0)
    return estimate(
        queue, ahead, live, partial(_running, session, queue), partial(usual_seconds, session, queue)
    )


def estimate(
    queue: str, ahead: int, live: int, running_now: Callable[[], int], usual_now: Callable[[], float | None]
) -> tuple[float | None, str]:
    """Seconds until a slot is free for who has `ahead` before it, and why not where they cannot be told.

    live: slots that take from the queue; the others are asked only where they are needed
    """
    if not live:
        return None, f"No worker {_what(queue)} is there; it waits until one comes."
    running = running_now()
    if ahead + running < live:
        return 0.0, ""
    usual = usual_now()
    if usual is None:
        return None, "Nothing of its kind has been graded yet, so nobody knows how long it takes."
    # Those at work are half done, on average.
    return round(usual * (ahead + running / 2) / live, 1), ""


def _what(queue: str) -> str:
    return "that checks" if queue == CPU_QUEUE else f"that measures on {queue.removeprefix('gpu.')}"


def usual_seconds(session: Session, queue: str) -> float | None:
    """The median of what recent steps of a queue took."""
    query = (
        select(Step.seconds)
        .where(Step.queue == queue, Step.ended_at.is_not(None), Step.seconds.is_not(None))
        .order_by(Step.ended_at.desc())
        .limit(_RECENT)
    )
    recent = [seconds for seconds in session.scalars(query) if seconds is not None]
    return statistics.median(recent) if recent else None
