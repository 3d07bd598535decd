"""A course in a database: people, an assignment, and what workers would say of submissions to it."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.measurement import Environment, Measurement
from kernels.report import Report
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Correction, Course, Extension, Membership, Role
from server.database.engine import Sessions
from server.exercises.stored import Content, installed_content, keep
from server.fleet.worker_keys import register_key
from server.grading.attempts import ticket_of
from server.grading.models import Job, Result, Step
from server.recording.origin import submitted_digest
from server.recording.recorder import Recorder, read
from server.submissions.models import Mode, Submission
from server.submissions.service import Accepted, SubmissionInput, accept
from server.submissions.source import read_source
from tests.services.redis_server import A_WORKER, as_worker
from worker.contract.credential import seal
from worker.contract.measure_work import MeasureRequest
from worker.contract.messages import CPU_QUEUE, MeasureWork, PackedWork, StepKind, StepResult, encode, pack_work

T = TypeVar("T")

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
AFTER_ANY_PAUSE = datetime(2100, 1, 1, tzinfo=UTC)
"""When a step that failed may be given out again, whenever it failed."""

SOURCE = b"__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"
SUBMITTED = read_source(SOURCE)
DIGEST = "d" * 64
WORKER = "host-1.abc"


@dataclass
class ACourse:
    """The course, with `assignment` for all to hand in to."""

    sessions: Sessions
    course: int
    assignment: int
    people: dict[str, int] = field(default_factory=dict)

    @classmethod
    def make(cls, sessions: Sessions, **assignment: Any) -> ACourse:
        with sessions.begin() as session:
            course = Course(slug="gpu", title="GPU", created_at=NOW)
            session.add(course)
            session.flush()
            given: dict[str, Any] = {"slug": "tiled", "device_class": "h200", "arch": "sm_90"}
            set_one = Assignment(
                course_id=course.id, exercise_id=keep(session, _tiled(), None, NOW).id, title="Tiled", created_at=NOW,
                **(given | assignment),
            )  # fmt: skip
            session.add(set_one)
            session.flush()
            return cls(sessions, course.id, set_one.id)

    def person(self, name: str, role: Role | None = Role.STUDENT) -> int:
        """The person of that name, made on first mention."""
        if name not in self.people:
            with self.sessions.begin() as session:
                made = Person(email=f"{name}@example.edu", name=name, created_at=NOW, proven_at=NOW)
                session.add(made)
                session.flush()
                if role is not None:
                    session.add(Membership(course_id=self.course, person_id=made.id, role=role, created_at=NOW))
                self.people[name] = made.id
        return self.people[name]

    def change(self, **fields: Any) -> None:
        """Set these columns of the assignment."""
        with self.sessions.begin() as session:
            _set(session.get_one(Assignment, self.assignment), fields)

    def change_course(self, **fields: Any) -> None:
        with self.sessions.begin() as session:
            _set(session.get_one(Course, self.course), fields)

    def extend(self, name: str, **fields: Any) -> None:
        """Give that person an extension."""
        self._add(Extension, name, created_at=NOW, **fields)

    def correct(self, name: str, **fields: Any) -> None:
        """Correct that person's grade."""
        self._add(Correction, name, corrected_at=NOW, **fields)

    def _add(self, table: type[Extension | Correction], name: str, **fields: Any) -> None:
        person = self.person(name)
        with self.sessions.begin() as session:
            session.add(table(assignment_id=self.assignment, person_id=person, **fields))

    def rows(self, query: Select[T]) -> list[T]:
        """The first column of what a query finds."""
        return read_rows(self.sessions, query)

    def row(self, query: Select[T]) -> T:
        """The same where there is exactly one."""
        return read_row(self.sessions, query)

    def deeds(self, action: str = "") -> list[AuditEvent]:
        """What the audit has of this action, or of all that begin so."""
        return self.rows(select(AuditEvent).where(AuditEvent.action.startswith(action)).order_by(AuditEvent.id))

    def actions(self, prefix: str = "") -> list[str]:
        """The same by their names."""
        return [deed.action for deed in self.deeds(prefix)]

    def hand_in(
        self,
        name: str,
        source: bytes = SOURCE,
        mode: Mode = Mode.RANK,
        *,
        now: datetime = NOW,
        key: str | None = None,
        device_class: str | None = None,
    ) -> Accepted:
        asked = SubmissionInput(self.person(name), self.assignment, read_source(source), mode, device_class, key)
        return accept(self.sessions, asked, now)

    def job(self, name: str, **more: Any) -> int:
        """The number of the job of what that person hands in."""
        accepted = self.hand_in(name, **more)
        with self.sessions.begin() as session:
            return (
                session.scalars(
                    select(Job.id).where(Job.submission_id == accepted.submission.id).order_by(Job.id.desc())
                ).first()
                or 0
            )


def _set(row: object, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)


def read_rows(made: Sessions, query: Select[T]) -> list[T]:
    with made.begin() as session:
        return list(session.scalars(query))


def read_row(made: Sessions, query: Select[T]) -> T:
    (found,) = read_rows(made, query)
    return found


@cache
def _tiled() -> Content:
    return installed_content("tiled")


def step_of(session: Session, job: int, kind: StepKind = StepKind.CHECK) -> Step:
    return session.scalars(select(Step).where(Step.job_id == job, Step.kind == kind)).one()


def result_of(session: Session, job: int) -> Result | None:
    return session.get(Result, job)


def report_for(job: Job, verdict: Verdict = Verdict.ACCEPTED, **more: Any) -> Report:
    """A report on the job, as its worker would write it."""
    given: dict[str, Any] = {
        "verdict": verdict, "message": "So it is.", "exercise": job.exercise.name, "device": "cpu",
        "arch": job.arch, "tile": 16, "seed": job.seed,
    }  # fmt: skip
    return Report(**(given | more))


def measured(gflops: float, device_class: str = "h200", **more: Any) -> Measurement:
    ms = 2 * 2048**3 / gflops / 1e6
    environment = Environment(
        device="NVIDIA H200", device_class=device_class, cc="9.0", multiprocessors=132, memory_bytes=1 << 37,
        max_sm_mhz=1980, driver="570", cupy="14", compiler="13",
    )  # fmt: skip
    given: dict[str, Any] = {
        "sizes": {"Width": 2048}, "ms_median": ms, "ci": (ms, ms), "spread": (ms, ms), "repeats": 9,
        "settled": True, "gflops": gflops, "cublas_share": 0.1, "metric": "gflops", "environment": environment,
        "ptx_digest": DIGEST,
    }  # fmt: skip
    return Measurement(**(given | more))


def measure_work(job: Job, report: Report) -> PackedWork:
    plan = make_plan(find_exercise(job.exercise.name), None, job.tile, job.seed)
    request = MeasureRequest(plan, (), None, (), "gflops")
    return pack_work(MeasureWork(request, report, (DIGEST,), compared=True))


def check_result(session: Session, job: int, verdict: Verdict = Verdict.ACCEPTED, **more: Any) -> StepResult:
    """What comes back of a job's check step that is under way."""
    step = step_of(session, job)
    report = report_for(step.job, verdict)
    goes_on = step.job.device_class and verdict is Verdict.ACCEPTED
    result = StepResult(ticket_of(step), WORKER, report, seconds=2.0)
    if goes_on:
        result = replace(result, report=None, measure=measure_work(step.job, report))
    return replace(result, **{"graded": submitted_digest(step), **more})


def measure_result(session: Session, job: int, gflops: float, **more: Any) -> StepResult:
    """What comes back of a job's measure step that is under way."""
    step = step_of(session, job, StepKind.MEASURE)
    report = report_for(step.job, device=step.job.device_class, measurement=measured(gflops))
    result = StepResult(ticket_of(step), WORKER, report, graded=submitted_digest(step), seconds=3.0, busy_ms=900.0)
    return replace(result, **more)


def signed(made: Sessions, result: StepResult) -> str:
    """The message with a result, from a worker whose key the database knows."""
    with made.begin() as session:
        register_key(session, as_worker("redis://127.0.0.1/0"), NOW)
    return seal(A_WORKER, encode(result))


def in_broker(body: object) -> str:
    """A task with this argument, as it waits in the broker."""
    return json.dumps({"body": b64encode(json.dumps([[body], {}, {}]).encode()).decode()})


def written(recorder: Recorder, *bodies: object) -> bool:
    """Let it write the results in these messages. Returns whether it did."""
    return not recorder.write(read([in_broker(body) for body in bodies]))


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


__all__ = ["CPU_QUEUE", "ACourse", "Submission"]
