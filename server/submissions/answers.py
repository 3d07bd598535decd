"""What the API says of a submission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.report import Report
from kernels.verdict import Verdict
from server.courses.service import is_staff, role_in
from server.grading.models import JobState, Result, StepState
from server.grading.reports import unpack
from server.http.operation import Reads
from server.submissions.models import Mode
from server.submissions.progress.answer import WaitAnswer, wait_answer
from server.submissions.progress.jobs import StepStatus, SubmissionStatus, read_statuses
from server.submissions.queries import visible_submission
from worker.contract.messages import StepKind

_NOT_RUN = "not_run"
_CHECK_STEPS = ("compile", "check")


@dataclass(frozen=True, slots=True)
class AcceptedAnswer:
    """What a program gets for what it handed in.

    url: where to read what becomes of it
    position: its place in the queue, 0 once it is at work, None where it is over, as one handed in again may be
    """

    id: str
    url: str
    position: int | None


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """A step as its owner sees it.

    state: queued, sent, running, done, failed, cancelled, or not_run where the kernel did not come so far
    seconds: that it took; None before its end
    attempt: how often it was given to a worker
    """

    name: str
    state: str
    seconds: float | None
    attempt: int


@dataclass(frozen=True, slots=True)
class SubmissionAnswer:
    """A submission and what became of it.

    Where it is graded again, `state`, `position`, `wait` and `steps` are about that; `verdict` and `result` stay what
    they were until there is another.

    assignment: COURSE/ASSIGNMENT
    device_class: what it is measured on; "" for nothing
    state: queued, running, done or cancelled; verdict: None until there is a final one
    position: its place in the queue, 1 for the next, 0 for one at work; None where it is over
    wait: until its turn; None where it is over
    steps: compile, check and, where it is measured, measure
    result: the object that `tilelab grade --json` prints, as the version that graded it wrote it, its `seed` for staff
        alone; None as `verdict`
    """

    id: str
    assignment: str
    mode: Mode
    device_class: str
    state: JobState
    verdict: Verdict | None
    position: int | None
    wait: WaitAnswer | None
    steps: tuple[StepAnswer, ...]
    result: Annotated[Mapping[str, Any] | None, Reads(Report | None)]


def step_answers(status: SubmissionStatus, report: Mapping[str, Any] | None) -> tuple[StepAnswer, ...]:
    """All steps of a job, also those that are still to come.

    A worker compiles and checks in one step; the report tells how long each took.
    """
    seconds = (report or {}).get("seconds", {})
    check = status.step(StepKind.CHECK)
    answers = [] if check is None else [_part_of_check(name, check, report, seconds) for name in _CHECK_STEPS]
    if status.device_class:
        answers.append(_measure(status.step(StepKind.MEASURE), over=status.over))
    return tuple(answers)


def _part_of_check(
    name: str, step: StepStatus, report: Mapping[str, Any] | None, seconds: Mapping[str, float]
) -> StepAnswer:
    state = str(step.state)
    if step.state is StepState.DONE and report is not None and name not in seconds:
        state = _NOT_RUN
    return StepAnswer(name, state, seconds.get(name), step.attempt)


def _measure(step: StepStatus | None, *, over: bool) -> StepAnswer:
    if step is None:
        return StepAnswer("measure", _NOT_RUN if over else str(StepState.QUEUED), None, 0)
    return StepAnswer("measure", str(step.state), step.seconds, step.attempt)


def read_submission(
    session: Session, person_id: int, public_id: str, now: datetime
) -> SubmissionAnswer | None:
    """The submission as its owner or the staff of its course may see it; None for anyone else."""
    submission = visible_submission(session, person_id, public_id)
    if submission is None:
        return None
    status = read_statuses(session, [submission.id], now)[submission.id]
    assignment = submission.assignment
    sees_seed = is_staff(role_in(session, person_id, assignment.course_id))
    report = _report(session, submission.judged_job_id, sees_seed=sees_seed)
    return SubmissionAnswer(
        id=submission.public_id,
        assignment=f"{assignment.course.slug}/{assignment.slug}",
        mode=submission.mode,
        device_class=submission.device_class,
        state=status.state,
        verdict=status.verdict,
        position=status.position,
        wait=wait_answer(status.place),
        steps=step_answers(status, report if status.id == submission.judged_job_id else None),
        result=report,
    )


def _report(session: Session, job: int | None, *, sees_seed: bool) -> Mapping[str, Any] | None:
    """The report as it was written. From the seed all numbers of the judge can be made again: it is for staff."""
    packed = session.scalar(select(Result.report).where(Result.job_id == job))
    if packed is None:
        return None
    return unpack(packed) if sees_seed else {**unpack(packed), "seed": ""}
