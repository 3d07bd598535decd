"""Submissions in a portal, brought to wherever a test wants them, by what workers would send."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import select

from kernels.report import Report
from server.grading.attempts import begin, claimed, ticket_of
from server.grading.models import Job
from server.recording.origin import submitted_digest
from server.recording.record import record
from server.submissions.models import Mode
from server.submissions.verdicts import give_up
from tests.server.course import NOW, ACourse, report_for, step_of
from worker.contract.messages import StepKind, StepResult


def handed_in(course: ACourse, name: str, mode: Mode = Mode.CHECK, **more: Any) -> tuple[str, int]:
    """The public name of a submission, and the number of its job."""
    accepted = course.hand_in(name, mode=mode, **more)
    job = course.row(select(Job.id).where(Job.submission_id == accepted.submission.id))
    return accepted.submission.public_id, job


def taken(course: ACourse, job: int, kind: StepKind = StepKind.CHECK) -> None:
    """A worker has the step."""
    with course.sessions.begin() as session:
        step = step_of(session, job, kind)
        begin(session, step, NOW)
        claimed(session, step, "host-1", NOW)


def graded(course: ACourse, job: int, report: Report | None = None, **more: Any) -> None:
    """A worker has taken the job's check, and it ends it: with that report, or with one of these fields."""
    taken(course, job)
    with course.sessions.begin() as session:
        step = step_of(session, job)
        found = replace(report, seed=step.job.seed) if report is not None else report_for(step.job, **more)
        result = StepResult(ticket_of(step), "host-1", found, graded=submitted_digest(step), seconds=2.0)
    record(course.sessions, result, NOW)


def given_up(course: ACourse, job: int) -> None:
    """No worker could do it."""
    taken(course, job)
    with course.sessions.begin() as session:
        give_up(session, step_of(session, job), "the disk is full", NOW, "host-1")


def overwritten(course: ACourse, job: int, packed: bytes) -> None:
    """What is kept of the result is something else."""
    with course.sessions.begin() as session:
        found = session.get_one(Job, job)
        assert found.result is not None
        found.result.report = packed
