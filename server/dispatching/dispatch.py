"""Send queued steps: first write the attempt to the database, then send a message to the broker.

An attempt and its token are in the database before any message. If the dispatcher is killed in between, the message is
sent later with the same token: see server.dispatching.attempt_watch.
"""

from __future__ import annotations

import base64
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.dispatching.step_choice import choose, experiments_in_flight
from server.grading.attempts import begin, ticket_of
from server.grading.changed_check import ChangedCheck, unpack_changed
from server.grading.models import JobKind, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED, advance
from worker.contract.fleet import SLOTS_OF_A_GPU
from worker.contract.messages import CheckWork, ExerciseText, StepKind, StepMessage, is_gpu_queue

WITHOUT_WORKERS = 2
"""Messages sent to a queue without known workers: a worker may be there whose record is lost."""


FROZEN_SECONDS = 2
"""How long a dispatcher may stand still while it takes steps, which lasts milliseconds. Then another one takes over."""

_TAKING = 1
"""The first key of the advisory locks; the second one is the queue."""


class Unsendable(ValueError):
    """The step can never become a message; the text tells course staff why."""


def room(slots: int, sent: int) -> int:
    """Messages that a queue of the broker still takes: only what its slots will start soon.

    The order of sent messages is fixed. Steps that aren't sent yet can still be overtaken by people with fewer steps.
    """
    # Twice the slots: a slot that ends a step finds the next message already there.
    return max(0, (2 * slots if slots else WITHOUT_WORKERS) - sent)


def room_for_experiments(slots: int, under_way: int, *, on_gpu: bool = False) -> int:
    """Steps of experiments that a queue still takes. Of two or more slots, one stays free for submissions.

    So a submission waits at most for the point that runs on the only slot. No point waits ahead of it in the broker.
    The slots of a GPU take turns, so of each three, another one stays free: submissions get most of the GPU's time.
    """
    free = 1 + (slots // len(SLOTS_OF_A_GPU) if on_gpu else 0)
    return max(0, max(1, slots - free) - under_way)


def take(session: Session, queue: str, slots: int, cap: int, now: datetime) -> list[Step]:
    """Start attempts at the next steps of a queue. Dispatchers that run at the same time take different steps.

    slots: of the live workers for this queue
    cap: steps of one person under way while others wait. It is lowered to the number of slots, so that one person
        can't fill a small fleet
    """
    if not _alone(session, queue):
        return []
    free = room(slots, _sent(session, queue))
    if not free:
        return []
    under_way = experiments_in_flight(session, queue)
    experiments = room_for_experiments(slots, under_way, on_gpu=is_gpu_queue(queue))
    chosen = choose(session, queue, min(cap, max(slots, 1)), free, now, experiments)
    if not chosen:
        return []
    query = select(Step).where(Step.id.in_([each.step for each in chosen]), QUEUED).order_by(Step.id)
    # Another dispatcher may hold some of them, or has sent them since they were chosen.
    locked = {step.id: step for step in session.scalars(query.with_for_update(skip_locked=True))}
    # Send them in the order of the queue.
    steps = [locked[each.step] for each in chosen if each.step in locked]
    for step in steps:
        begin(session, step, now)
    turns: dict[int, int] = {}
    for step in steps:
        turns[step.priority] = max(turns.get(step.priority, 0), step.turn)
    session.flush()
    advance(session, queue, turns)
    return steps


def _alone(session: Session, queue: str) -> bool:
    """Whether no other dispatcher takes from this queue until the transaction ends. So the room is counted once.

    A frozen dispatcher keeps the lock only until PostgreSQL ends its transaction.
    """
    if session.get_bind().dialect.name != "postgresql":
        return True
    lock = func.pg_try_advisory_xact_lock(_TAKING, func.hashtext(queue))
    limit = func.set_config("idle_in_transaction_session_timeout", f"{FROZEN_SECONDS}s", True)
    alone, _ = session.execute(select(lock, limit)).one()
    return bool(alone)


def _sent(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.SENT)
    return session.scalar(query) or 0


def message_of(step: Step, lease_seconds: float) -> StepMessage:
    """Build the message for the attempt under way; raises Unsendable."""
    check = None
    if step.kind is StepKind.CHECK:
        check = check_work_of(step, base64.b64encode(step.job.source.content).decode())
    measure = _measure_work(step) if step.kind is StepKind.MEASURE else None
    return StepMessage(ticket_of(step), step.attempt, lease_seconds, check=check, measure=measure)


def check_work_of(step: Step, source: str) -> CheckWork:
    """The work of a check step, with this text as its source; raises Unsendable."""
    job = step.job
    exercise = job.exercise
    changed = _changed(step) or ChangedCheck(exercise.definition, exercise.digest, evidence=True)
    return CheckWork(
        source=source,
        exercise=ExerciseText(exercise.name, changed.definition, changed.digest),
        arch=job.arch,
        device_class=job.device_class,
        seed=job.seed,
        tile=job.tile,
        evidence=changed.evidence,
        repeats=changed.repeats,
        trial=changed.trial,
    )


def _changed(step: Step) -> ChangedCheck | None:
    if step.job.kind not in {JobKind.EXPERIMENT, JobKind.TRIAL} or step.work is None:
        return None
    try:
        return unpack_changed(step.work)
    except ValueError as error:
        raise Unsendable(f"the check step's work cannot be read: {error}") from error


def _measure_work(step: Step) -> str:
    if step.work is None:
        raise Unsendable("the measure step has no work")
    try:
        return step.work.decode()
    except UnicodeDecodeError as error:
        raise Unsendable(f"the measure step's work cannot be read: {error}") from error
