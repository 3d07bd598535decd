"""Put work into the queue: a job with its first step, and sources kept once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.grading.models import Job, JobKind, Priority, Source, Step
from server.grading.queue_order import QueueOrder
from worker.contract.messages import CPU_QUEUE, StepKind

DEADLINE_NEAR = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be graded, and for whom; exactly one of `submission` and `experiment` is there.

    person: whose turn it takes
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


def queue_job(session: Session, work: Work, now: datetime) -> Job:
    """A new job with its check step, queued."""
    turn = QueueOrder(session, CPU_QUEUE, work.priority).next(work.person)
    job = Job(**_job(work, now), steps=[Step(**_check(work, turn, now))])
    session.add(job)
    return job


def queue_jobs(session: Session, works: Sequence[Work], now: datetime, turns: QueueOrder) -> list[int]:
    """The same for many at once, in a few statements; returns the numbers of the jobs, which count up as they come.

    turns: of the queue for check steps, and of the priority that all of them have
    """
    if not works:
        return []
    inserted = insert(Job).returning(Job.id, sort_by_parameter_order=True)
    numbers = list(session.scalars(inserted, [_job(work, now) for work in works]))
    steps = [_check(work, turns.next(work.person), now) for work in works]
    session.execute(insert(Step), [{"job_id": job} | step for job, step in zip(numbers, steps, strict=True)])
    return numbers


def _job(work: Work, now: datetime) -> dict[str, Any]:
    return {
        "kind": work.kind,
        "submission_id": work.submission,
        "experiment_id": work.experiment,
        "person_id": work.person,
        "source_digest": work.source,
        "exercise_id": work.exercise,
        "device_class": work.device_class,
        "arch": work.arch,
        "tile": work.tile,
        "seed": secrets.token_hex(16),
        "priority": work.priority,
        "queued_at": now,
    }


def _check(work: Work, turn: int, now: datetime) -> dict[str, Any]:
    return {
        "kind": StepKind.CHECK,
        "queue": CPU_QUEUE,
        "person_id": work.person,
        "priority": work.priority,
        "turn": turn,
        "queued_at": now,
    }


def priority_of(*, staff: bool, due_at: datetime | None, now: datetime) -> Priority:
    """Who comes first: staff try things out in front of a class, and near a deadline answers are worth most."""
    if staff:
        return Priority.STAFF
    if due_at is not None and now <= due_at <= now + DEADLINE_NEAR:
        return Priority.DEADLINE
    return Priority.NORMAL


def keep_source(session: Session, digest: str, content: bytes, now: datetime) -> str:
    """Keep a source unless it is kept already, also where two requests bring it at once; returns its digest."""
    row = {"digest": digest, "content": content, "added_at": now}
    session.execute(insert_into(session, Source).values(**row).on_conflict_do_nothing())
    return digest
