"""Queue jobs with their first steps, and store each source once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select
from sqlalchemy.orm import Session

from server.database.upsert import add
from server.grading.attempts import ticket_of
from server.grading.changed_check import ChangedCheck, pack_changed
from server.grading.models import Attempt, Job, JobKind, Priority, Result, Source, Step
from server.grading.queue_order import NEXT_TURN, QueueOrder, in_queue
from worker.contract.messages import CPU_QUEUE, StepKind, Ticket

DEADLINE_NEAR = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Work:
    """A job to queue. Exactly one of `submission`, `experiment`, `regrade`, `proof` and `trial_of` is set.

    regrade, staged_for: of a staged job, its regrade and the submission
    proof: the file of the exercise that the job grades to prove the exercise
    trial_of: the assignment that the person tries the kernel for
    person: whose share of the queue it uses
    changed: what a point of an experiment or a trial changes; None for the exercise itself
    """

    kind: JobKind
    priority: Priority
    person: int
    source: str
    exercise: int
    arch: str
    device_class: str = ""
    tile: int | None = None
    submission: int | None = None
    experiment: int | None = None
    regrade: int | None = None
    staged_for: int | None = None
    proof: str | None = None
    trial_of: int | None = None
    changed: ChangedCheck | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """The IDs of a new job and of its check step."""

    job: int
    step: int


def queue_job(session: Session, work: Work, now: datetime) -> Queued:
    """Queue a new job with its check step. Rows, not objects: each submission does this."""
    connection = session.connection()
    job = connection.execute(_ADD_JOB, _job(work, now)).scalar_one()
    place = in_queue(CPU_QUEUE, work.priority, work.person)
    step = connection.execute(_ADD_NEXT_STEP, {"job_id": job} | _check(work, now) | place).scalar_one()
    return Queued(job, step)


_ADD_JOB = insert(Job).returning(Job.id)
_ADD_NEXT_STEP = insert(Step).values(turn=NEXT_TURN).returning(Step.id)


def queue_jobs(session: Session, works: Sequence[Work], now: datetime, turns: QueueOrder) -> list[int]:
    """Queue many jobs in a few statements. Returns their IDs, which ascend in the given order.

    turns: the order of the check queue, in the priority that all jobs have
    """
    if not works:
        return []
    inserted = insert(Job).returning(Job.id, sort_by_parameter_order=True)
    numbers = list(session.scalars(inserted, [_job(work, now) for work in works]))
    steps = [_check(work, now) | {"turn": turns.next(work.person)} for work in works]
    session.execute(insert(Step), [{"job_id": job} | step for job, step in zip(numbers, steps, strict=True)])
    return numbers


def _job(work: Work, now: datetime) -> dict[str, Any]:
    return {
        "kind": work.kind,
        "submission_id": work.submission,
        "experiment_id": work.experiment,
        "regrade_id": work.regrade,
        "staged_for_id": work.staged_for,
        "proof_file": work.proof,
        "trial_of_id": work.trial_of,
        "person_id": work.person,
        "source_digest": work.source,
        "exercise_id": work.exercise,
        "device_class": work.device_class,
        "arch": work.arch,
        "tile": work.tile,
        # All inputs follow from the seed. A kernel could contain the answers if its author could guess it.
        "seed": secrets.token_hex(16),
        "priority": work.priority,
        "queued_at": now,
    }


def _check(work: Work, now: datetime) -> dict[str, Any]:
    return {
        "kind": StepKind.CHECK,
        "queue": CPU_QUEUE,
        "person_id": work.person,
        "priority": work.priority,
        "queued_at": now,
        "work": None if work.changed is None else pack_changed(work.changed),
    }


def priority_of(*, staff: bool, due_at: datetime | None, now: datetime) -> Priority:
    """The priority of a submission. Course staff come first, as they demonstrate in class; then near deadlines."""
    if staff:
        return Priority.STAFF
    if due_at is not None and now <= due_at <= now + DEADLINE_NEAR:
        return Priority.DEADLINE
    return Priority.NORMAL


def delete_jobs(session: Session, which: ColumnElement[bool]) -> list[Ticket]:
    """Delete jobs with all that belongs to them. Returns the tickets to revoke after the commit.

    which: a condition on jobs that nothing refers to
    """
    jobs = select(Job.id).where(which)
    # All steps, so that no dispatcher begins one meanwhile.
    query = select(Step).where(Step.job_id.in_(jobs)).order_by(Step.id).with_for_update()
    steps = session.scalars(query.execution_options(populate_existing=True)).all()
    tickets = [ticket_of(step) for step in steps if step.token is not None]
    own = select(Step.id).where(Step.job_id.in_(jobs))
    for gone in (
        delete(Attempt).where(Attempt.step_id.in_(own)),
        delete(Step).where(Step.job_id.in_(jobs)),
        delete(Result).where(Result.job_id.in_(jobs)),
        delete(Job).where(which),
    ):
        session.execute(gone.execution_options(synchronize_session=False))
    session.expire_all()
    return tickets


def keep_source(session: Session, digest: str, content: bytes, now: datetime) -> str:
    """Store a source unless it is stored already. Returns its digest."""
    add_source(session, digest, content, now)
    return digest


def add_source(session: Session, digest: str, content: bytes, now: datetime) -> bool:
    """Store a source, also if two requests bring it at once. Returns whether it is new."""
    return add(session, Source, {"digest": digest, "content": content, "added_at": now})
