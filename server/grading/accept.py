"""Put work into the queue: a job with its first step, and sources kept once."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.grading.models import Job, JobKind, Priority, Source, Step
from server.grading.turns import Turns
from worker.messages import CPU_QUEUE, StepKind

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
    exercise: str
    arch: str
    device_class: str = ""
    tile: int | None = None
    submission: int | None = None
    experiment: int | None = None


def queue_job(session: Session, work: Work, now: datetime, turns: Turns | None = None) -> Job:
    """A new job with its check step, queued.

    turns: of the queue for check steps and of this priority; who queues many at once gives the same one each time
    """
    given = turns or Turns(session, CPU_QUEUE, work.priority)
    job = Job(
        kind=work.kind,
        submission_id=work.submission,
        experiment_id=work.experiment,
        person_id=work.person,
        source_digest=work.source,
        exercise_digest=work.exercise,
        device_class=work.device_class,
        arch=work.arch,
        tile=work.tile,
        seed=secrets.token_hex(16),
        priority=work.priority,
        queued_at=now,
    )
    job.steps.append(
        Step(
            kind=StepKind.CHECK,
            queue=CPU_QUEUE,
            person_id=work.person,
            priority=work.priority,
            turn=given.next(work.person),
            queued_at=now,
        )
    )
    session.add(job)
    return job


def priority_of(*, staff: bool, due_at: datetime | None, now: datetime) -> Priority:
    """Who comes first: staff try things out in front of a class, and near a deadline answers are worth most."""
    if staff:
        return Priority.STAFF
    if due_at is not None and now <= due_at <= now + DEADLINE_NEAR:
        return Priority.DEADLINE
    return Priority.NORMAL


def keep_source(session: Session, content: bytes, now: datetime) -> str:
    """Keep a source unless it is kept already, also where two requests bring it at once; returns its digest."""
    digest = hashlib.sha256(content).hexdigest()
    row = {"digest": digest, "content": content, "added_at": now}
    session.execute(insert_into(session, Source).values(**row).on_conflict_do_nothing())
    return digest
