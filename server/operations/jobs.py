"""Jobs for staff: a filtered list, and one job with its whole history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.grading.models import Attempt, Job, JobState, Step
from server.grading.queue import place_of
from server.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs; None for any.

    assignment: its ID; older_than: minimum time since the job was queued
    """

    state: JobState | None = None
    verdict: Verdict | None = None
    email: str | None = None
    assignment: int | None = None
    older_than: timedelta | None = None


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list."""

    job: int
    kind: str
    state: str
    verdict: str | None
    person: str
    submission: str | None
    exercise: str
    device_class: str
    queued_at: datetime


def jobs(session: Session, wanted: Filter, limit: int, now: datetime) -> list[JobLine]:
    """The newest jobs first."""
    query = (
        select(Job, Person.email, Submission.public_id)
        .join(Person, Person.id == Job.person_id)
        .outerjoin(Submission, Submission.id == Job.submission_id)
    )
    query = _filtered(query, wanted, now).order_by(Job.id.desc()).limit(limit)
    found: Sequence[Any] = session.execute(query).all()
    return [
        JobLine(
            job.id, job.kind.value, job.state.value, job.verdict and job.verdict.value, email, public_id,
            job.exercise.name, job.device_class, job.queued_at,
        )
        for job, email, public_id in found
    ]  # fmt: skip


def _filtered(query: Any, wanted: Filter, now: datetime) -> Any:
    if wanted.state is not None:
        query = query.where(Job.state == wanted.state)
    if wanted.verdict is not None:
        query = query.where(Job.verdict == wanted.verdict)
    if wanted.email is not None:
        query = query.where(Person.email == wanted.email.lower())
    if wanted.assignment is not None:
        query = query.where(Submission.assignment_id == wanted.assignment)
    if wanted.older_than is not None:
        query = query.where(Job.queued_at < now - wanted.older_than)
    return query


def whole_job(session: Session, number: int, now: datetime) -> dict[str, Any] | None:
    """Everything known about a job, as plain values; None if it doesn't exist."""
    job = session.get(Job, number)
    if job is None:
        return None
    place = place_of(session, job, now)
    submission = session.get(Submission, job.submission_id) if job.submission_id is not None else None
    return {
        "job": job.id,
        "kind": job.kind.value,
        "state": job.state.value,
        "verdict": job.verdict and job.verdict.value,
        "person": session.get_one(Person, job.person_id).email,
        "submission": submission and submission.public_id,
        "assignment": submission and submission.assignment.name,
        "exercise": job.exercise.name,
        "device_class": job.device_class,
        "arch": job.arch,
        "priority": job.priority,
        "position": place.position,
        "wait": {"seconds": place.seconds, "reason": place.reason},
        "queued_at": _moment(job.queued_at),
        "started_at": _moment(job.started_at),
        "ended_at": _moment(job.ended_at),
        "steps": [_step(step) for step in job.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.kind.value,
        "state": step.state.value,
        "queue": step.queue,
        "worker": step.worker,
        "seconds": step.seconds,
        "fault": step.fault,
        "attempts": [_attempt(attempt) for attempt in step.attempts],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "outcome": attempt.outcome and attempt.outcome.value,
        "fault": attempt.fault,
        "sent_at": _moment(attempt.sent_at),
        "started_at": _moment(attempt.started_at),
        "ended_at": _moment(attempt.ended_at),
    }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")
