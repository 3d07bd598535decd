"""The proof of a draft, and the acts on the draft: workers grade its kernels, and each must get its verdict.

Its jobs belong to no submission. They stay with the version, so a published version keeps its proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from kernels.exercise import Exercise as Found
from kernels.exercise import ExerciseError
from kernels.report import Report
from kernels.report.exercise_proof import ProofKernel, proof_kernels
from kernels.report.model import first_error
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.audit.service import note
from server.courses.models import Course, Exercise
from server.courses.service import DEFAULT_ARCH, CourseError
from server.exercises.service import delete_draft, find_own, publish_draft, subject
from server.exercises.stored import Content, kept_content, right_kernels_of, wrong_kernels_of
from server.fields import Text
from server.grading.models import Job, JobKind, JobState, Priority, Result
from server.grading.reports import ReportError, unpack
from server.grading.service import Work, delete_jobs, keep_source, queue_job
from server.grading.stored_report import read_report
from worker.contract.messages import Ticket

_OVER = frozenset({JobState.DONE, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """A kernel of a draft's check.

    state, verdict: None before the check begins; line: of the first finding, None for none
    problem: why the verdict isn't the expected one; "" if it is, or isn't known yet
    warning: why other inputs may hide the mistake; "" if no case says so
    """

    file: str
    tile: int | None
    state: JobState | None
    verdict: Verdict | None = None
    line: int | None = None
    message: str = ""
    problem: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of a version. unreadable: why this version of Tilelab can't judge it; "" if it can."""

    lines: tuple[CheckedKernel, ...]
    unreadable: str = ""

    @property
    def begun(self) -> bool:
        return any(line.state is not None for line in self.lines)

    @property
    def done(self) -> int:
        return sum(line.state in _OVER for line in self.lines)

    @property
    def over(self) -> bool:
        return bool(self.lines) and self.done == len(self.lines)

    @property
    def problems(self) -> int:
        return sum(bool(line.problem) for line in self.lines)

    @property
    def complete(self) -> bool:
        """Whether every kernel got the verdict that it must get."""
        return self.over and not self.problems and not self.unreadable


def start_proof(
    session: Session, course: Course, draft: Exercise, actor: Person, now: datetime | None = None
) -> list[Ticket]:
    """Queue the kernels of a draft, in place of an earlier proof. Returns the tickets to revoke after the commit.

    raise (CourseError): this version of Tilelab can't judge the exercise
    """
    moment = now or datetime.now(UTC)
    number, name = draft.id, draft.name
    tickets = delete_jobs(session, _proof_jobs(number))
    draft = session.get_one(Exercise, number)
    try:
        content, kernels = _kernels(session, draft)
    except ExerciseError as error:
        raise CourseError(str(error)) from error
    if content.exercise.digest != draft.digest:
        raise CourseError("This version of Tilelab judges the exercise differently. Upload the exercise again.")
    for kernel in kernels:
        file = content.files[kernel.file]
        source = keep_source(session, hashlib.sha256(file).hexdigest(), file, moment)
        work = Work(
            kind=JobKind.PROOF, priority=Priority.NORMAL, person=actor.id, source=source, exercise=number,
            arch=DEFAULT_ARCH, tile=kernel.tile, proof=kernel.file,
        )  # fmt: skip
        queue_job(session, work, moment)
    note(
        session, actor, "exercise.checked", subject(course, name), now=moment, course_id=course.id,
        kernels=len(kernels),
    )  # fmt: skip
    return tickets


def proof_of(session: Session, row: Exercise) -> Proof:
    """The proof of a version so far."""
    try:
        content, kernels = _kernels(session, row)
    except ExerciseError as error:
        return Proof((), str(error))
    found = content.exercise
    jobs = {
        (job.proof_file, job.tile): job
        for job in session.scalars(select(Job).where(_proof_jobs(row.id)).order_by(Job.id))
    }
    other = "" if found.digest == row.digest else "This version of Tilelab judges the exercise differently."
    lines = (_line(session, found, each, jobs.get((each.file, each.tile))) for each in kernels)
    return Proof(tuple(lines), other)


def _proof_jobs(exercise_id: int) -> ColumnElement[bool]:
    return (Job.exercise_id == exercise_id) & Job.proof_file.is_not(None)


def _kernels(session: Session, row: Exercise) -> tuple[Content, Sequence[ProofKernel]]:
    content = kept_content(session, row)
    kernels = proof_kernels(content.exercise, wrong_kernels_of(content), right_kernels_of(content))
    return content, tuple(kernels)


def _line(session: Session, exercise: Found, kernel: ProofKernel, job: Job | None) -> CheckedKernel:
    if job is None:
        return CheckedKernel(kernel.file, kernel.tile, None)
    if job.state is JobState.CANCELLED:
        return CheckedKernel(kernel.file, kernel.tile, job.state, problem="an operator cancelled it; check again")
    if job.verdict is None:
        return CheckedKernel(kernel.file, kernel.tile, job.state)
    if job.verdict is Verdict.SYSTEM_ERROR:
        return CheckedKernel(
            kernel.file, kernel.tile, job.state, job.verdict, problem="grading failed on our side; check again"
        )
    report = _report(session, job, job.verdict)
    if report is None:
        return CheckedKernel(
            kernel.file, kernel.tile, job.state, job.verdict, problem="its report can't be read; check again"
        )
    leading = first_error(report.findings, report.verdict)
    return CheckedKernel(
        kernel.file, kernel.tile, job.state, job.verdict, None if leading is None else leading.line,
        report.message, kernel.problem(exercise, report), kernel.warning(exercise, report),
    )  # fmt: skip


def _report(session: Session, job: Job, verdict: Verdict) -> Report | None:
    packed = session.scalar(select(Result.report).where(Result.job_id == job.id))
    if packed is None:
        return None
    try:
        return read_report(unpack(packed), verdict)
    except ReportError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """Publish a draft. version: of the draft that you checked, so that no other one is published."""

    version: Annotated[str, Text("[0-9a-f]{1,64}"), Asked("Version", needed=True)] = ""


def _draft(session: Session, on: Target) -> Exercise:
    found = find_own(session, on.course.id, on.item)
    if found is None or found.draft is None:
        raise CourseError(f"The exercise {on.item} has no draft.")
    return found.draft


def _publish(session: Session, on: Target, actor: Person | None, given: Proven) -> int:
    draft = _draft(session, on)
    if draft.version != given.version:
        raise CourseError("Someone else changed the draft meanwhile. Load it again and check it.")
    if not proof_of(session, draft).complete:
        raise CourseError("The draft isn’t proven. Check it, and correct what fails.")
    return publish_draft(session, on.course, draft, actor)


def _check(session: Session, on: Target, actor: Person | None, _: Nothing) -> Sequence[Ticket]:
    assert actor is not None, "workers check for a person"
    return start_proof(session, on.course, _draft(session, on), actor)


def _discard(session: Session, on: Target, actor: Person | None, _: Nothing) -> Sequence[Ticket]:
    draft = _draft(session, on)
    about, version = subject(on.course, draft.name), draft.version[:12]
    tickets = delete_draft(session, draft)
    note(session, actor, "exercise.discarded", about, course_id=on.course.id, version=version)
    return tickets


CHECK = Act(asks=Nothing, do=_check, revokes=True)
PUBLISH = Act(asks=Proven, do=_publish)
DISCARD = Act(asks=Nothing, do=_discard, revokes=True)
