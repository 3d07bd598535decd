"""Submissions as the API returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.report import Report
from kernels.verdict import Verdict
from server.courses.models import HintStep
from server.courses.service import is_staff
from server.fields import Reads
from server.grading.models import JobState, Result, StepState
from server.grading.reports import unpack
from server.submissions.hints import Hints
from server.submissions.models import Mode, Submission
from server.submissions.progress.jobs import StepStatus, SubmissionStatus, read_statuses
from server.submissions.progress.streams import wait_answer
from server.submissions.queries import NAMED, visible_row
from server.submissions.result.report import for_reader
from server.submissions.result.worth import worth_of
from worker.contract.answers import Wait
from worker.contract.messages import StepKind

_NOT_RUN = "not_run"
_CHECK_STEPS = ("compile", "check")


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """A step of grading.

    state: queued, sent, running, done, failed, cancelled, or not_run if an earlier step ended the grading
    seconds: its duration; None before its end
    attempt: how often it was sent to a worker
    queued_at, started_at: when it was queued, and when the last worker took it. One worker compiles and checks, so both
        have the same times. None if not yet
    """

    name: str
    state: str
    seconds: float | None
    attempt: int
    queued_at: datetime | None = None
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SubmissionAnswer:
    """A submission with its progress and result.

    During a regrade, `state`, `position`, `wait` and `steps` are about the regrade. `verdict` and `result` keep their
    values until the new verdict.

    assignment: COURSE/ASSIGNMENT
    device_class: the GPU that measures it; "" for none
    state: queued, running, done or cancelled; verdict: None before the first verdict
    worth: the points in words, such as "10/10 points, this submission counts"; "" without a verdict
    position: in the queue, 1 for the next, 0 in progress; None if it is over
    wait: the time until a worker starts it; None if it is over
    steps: compile, check, and measure if a GPU measures it
    result: the object that `tilelab grade --json` prints, in the format of the version that graded it; None without a
        verdict. Its `seed` is for course staff only
    hint: what `result` says about a mistake: `question`, `finding` for what is wrong and where, or `edit` for all
    """

    id: str
    assignment: str
    mode: Mode
    device_class: str
    state: JobState
    verdict: Verdict | None
    worth: str
    position: int | None
    wait: Wait | None
    steps: tuple[StepAnswer, ...]
    result: Annotated[Mapping[str, Any] | None, Reads(Report | None)]
    hint: HintStep


def step_answers(status: SubmissionStatus, report: Mapping[str, Any] | None) -> tuple[StepAnswer, ...]:
    """All steps of a job, including future ones.

    A worker compiles and checks in one step; the report has the duration of each.
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
    return StepAnswer(name, state, seconds.get(name), step.attempt, step.queued_at, step.started_at)


def _measure(step: StepStatus | None, *, over: bool) -> StepAnswer:
    if step is None:
        return StepAnswer("measure", _NOT_RUN if over else str(StepState.QUEUED), None, 0)
    return StepAnswer("measure", str(step.state), step.seconds, step.attempt, step.queued_at, step.started_at)


def read_submission(session: Session, person_id: int, public_id: str, now: datetime) -> SubmissionAnswer | None:
    """Read a submission for its owner or course staff; None for anyone else."""
    found = visible_row(session, NAMED, person_id, public_id)
    if found is None:
        return None
    submission, role, _ = found
    status = read_statuses(session, [submission.id], now)[submission.id]
    assignment = submission.assignment
    staff = is_staff(role)
    hints = submission.hints(staff=staff)
    report = _report(session, submission, staff=staff, hints=hints)
    return SubmissionAnswer(
        id=submission.public_id,
        assignment=assignment.name,
        mode=submission.mode,
        device_class=submission.device_class,
        state=status.state,
        verdict=status.verdict,
        worth=worth_of(session, submission, person_id, now, as_staff=staff),
        position=status.position,
        wait=wait_answer(status.place),
        steps=step_answers(status, report if status.id == submission.judged_job_id else None),
        result=report,
        hint=hints.shown,
    )


def _report(session: Session, submission: Submission, *, staff: bool, hints: Hints) -> Mapping[str, Any] | None:
    packed = session.scalar(select(Result.report).where(Result.job_id == submission.judged_job_id))
    if packed is None or submission.verdict is None:
        return None
    return for_reader(unpack(packed), submission.verdict, staff=staff, hints=hints)
