"""Tables of jobs, steps, attempts and results.

The rows are the queue. The next work is read from them, so nothing is lost if the broker loses everything.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import IntEnum, StrEnum

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    select,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from kernels.verdict import Verdict
from server.courses.models import SOURCE_BYTES, Exercise
from server.database.base import Base, BigId, choice
from server.grading.reports import REPORT_BYTES
from worker.contract.messages import StepKind

MAX_ATTEMPTS = 3
WORK_BYTES = 16 * 2**20
NO_SOURCE = hashlib.sha256(b"").hexdigest()
"""Of the empty file that replaces a removed source. No one can submit it."""

# Conditions of partial indexes: they hold only open steps, so they stay small.
_QUEUED = text("state = 'queued'")
_IN_FLIGHT = text("state IN ('sent', 'running')")
_PROOF = text("proof_file IS NOT NULL")
_TRIAL = text("trial_of_id IS NOT NULL")


class Priority(IntEnum):
    """Priorities of steps, the first one first. Within a priority, the queue is fair to people."""

    STAFF = 0
    DEADLINE = 1
    NORMAL = 2
    REGRADE = 3
    EXPERIMENT = 4


class JobKind(StrEnum):
    SUBMISSION = "submission"
    REGRADE = "regrade"
    EXPERIMENT = "experiment"
    PROOF = "proof"
    TRIAL = "trial"


class JobState(StrEnum):
    """The state of a job. It is `queued` until a worker first claims one of its steps."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class StepState(StrEnum):
    """The state of a step.

    queued: waits in the database; sent: a message is on its way; running: a worker has claimed it
    """

    QUEUED = "queued"
    SENT = "sent"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AttemptOutcome(StrEnum):
    """How an attempt ended. lost: the worker stopped responding; fault: the worker reported a fault."""

    DONE = "done"
    FAULT = "fault"
    LOST = "lost"
    CANCELLED = "cancelled"


_ONE_ORIGIN = " + ".join(
    f"(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END)"
    for name in ("submission_id", "experiment_id", "regrade_id", "proof_file", "trial_of_id")
) + " = 1"  # fmt: skip


class Source(Base):
    """A source file, stored once however often it is submitted. digest: SHA-256 of its bytes."""

    __tablename__ = "sources"
    __table_args__ = (CheckConstraint(f"length(content) <= {SOURCE_BYTES}", name="content_bounded"),)

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    added_at: Mapped[datetime]


class Job(Base):
    """One run of grading one source, with everything that a worker must know.

    submission_id: None for a point of an experiment, and while the job is staged
    regrade_id, staged_for_id: of a staged job, its regrade and the submission; see server.regrades.staging
    proof_file: the file of the exercise that it grades to prove the exercise; see server.exercises.proof
    trial_of_id: the assignment that a student tries a kernel for; see server.assignments.trial
    person_id: whose share of the queue it uses
    device_class: the GPU that measures it if it passes; "" for none
    seed: 128 bits in hex, from which all inputs are generated
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(_ONE_ORIGIN, name="one_origin"),
        CheckConstraint("(regrade_id IS NULL) = (staged_for_id IS NULL)", name="staged_for_a_submission"),
        UniqueConstraint("regrade_id", "staged_for_id"),
        CheckConstraint("(verdict IS NOT NULL) = (state = 'done')", name="verdict_when_done"),
        CheckConstraint("(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))", name="ended_when_over"),
        Index("ix_jobs_proof", "exercise_id", postgresql_where=_PROOF, sqlite_where=_PROOF),
        Index("ix_jobs_trial", "trial_of_id", "person_id", postgresql_where=_TRIAL, sqlite_where=_TRIAL),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[JobKind] = mapped_column(choice(JobKind))
    submission_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id"), index=True)
    experiment_id: Mapped[int | None] = mapped_column(ForeignKey("experiments.id"), index=True)
    regrade_id: Mapped[int | None] = mapped_column(ForeignKey("staged_regrades.id"))
    staged_for_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id"), index=True)
    proof_file: Mapped[str | None] = mapped_column(String(100))
    trial_of_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    source_digest: Mapped[str] = mapped_column(ForeignKey("sources.digest"), index=True)
    exercise_id: Mapped[int] = mapped_column(ForeignKey("exercises.id"))
    device_class: Mapped[str] = mapped_column(String(48), default="")
    arch: Mapped[str] = mapped_column(String(16))
    tile: Mapped[int | None]
    seed: Mapped[str] = mapped_column(String(32))
    priority: Mapped[int] = mapped_column(SmallInteger)
    state: Mapped[JobState] = mapped_column(choice(JobState), default=JobState.QUEUED)
    verdict: Mapped[Verdict | None] = mapped_column(choice(Verdict, constrained=False))
    queued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    source: Mapped[Source] = relationship()
    exercise: Mapped[Exercise] = relationship()
    steps: Mapped[list[Step]] = relationship(back_populates="job", order_by="Step.id")
    result: Mapped[Result | None] = relationship(back_populates="job")


def judged_alike(exercise: Exercise) -> ColumnElement[bool]:
    """Jobs that used, or will use, this version of an exercise."""
    return Job.exercise_id.in_(select(Exercise.id).where(Exercise.digest == exercise.digest))


class Step(Base):
    """A step of a job. Steps are queued, sent and claimed.

    queue: the broker's queue
    person_id, priority, turn: its place in the queue, see server.grading.queue_order
    attempt: the number of attempts so far; a message that is sent again with the same token counts once
    token: of the present attempt; a result with another token is dropped
    work: what a worker needs beyond the job. In measure steps, `packed` of worker.contract.messages.PackedWork. In
        check steps of an experiment or a trial, see server.grading.changed_check
    digests: of the checked PTX that the step measures, separated by spaces
    work_digest: of the work of a measure step, from worker.contract.messages.measure_digest
    not_before: until when it stays queued after a fault
    fault: why the last attempt failed, for course staff
    present: the last attempt
    """

    __tablename__ = "steps"
    __table_args__ = (
        UniqueConstraint("job_id", "kind"),
        CheckConstraint(f"attempt BETWEEN 0 AND {MAX_ATTEMPTS}", name="attempts_capped"),
        CheckConstraint("(token IS NOT NULL) = (state IN ('sent', 'running'))", name="token_in_flight"),
        CheckConstraint(f"work IS NULL OR length(work) <= {WORK_BYTES}", name="work_bounded"),
        Index(
            "ix_steps_next", "queue", "priority", "turn", "id",
            postgresql_where=_QUEUED, sqlite_where=_QUEUED,
        ),
        Index("ix_steps_in_flight", "queue", "person_id", postgresql_where=_IN_FLIGHT, sqlite_where=_IN_FLIGHT),
        Index(
            "ix_steps_turn_of", "person_id", "queue", "priority", "turn",
            postgresql_where=_QUEUED, sqlite_where=_QUEUED,
        ),
        Index("ix_steps_ended", "queue", "ended_at"),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    kind: Mapped[StepKind] = mapped_column(choice(StepKind))
    state: Mapped[StepState] = mapped_column(choice(StepState), default=StepState.QUEUED)
    queue: Mapped[str] = mapped_column(String(60))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    priority: Mapped[int] = mapped_column(SmallInteger)
    turn: Mapped[int] = mapped_column(BigId)
    attempt: Mapped[int] = mapped_column(SmallInteger, default=0)
    token: Mapped[str | None] = mapped_column(String(32), unique=True)
    worker: Mapped[str | None] = mapped_column(String(100))
    work: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    digests: Mapped[str | None] = mapped_column(Text)
    work_digest: Mapped[str | None] = mapped_column(String(64))
    queued_at: Mapped[datetime]
    not_before: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    seconds: Mapped[float | None]
    fault: Mapped[str | None] = mapped_column(String(2000))

    job: Mapped[Job] = relationship(back_populates="steps")
    attempts: Mapped[list[Attempt]] = relationship(order_by="Attempt.number")
    present: Mapped[Attempt | None] = relationship(
        primaryjoin="and_(foreign(Step.id) == Attempt.step_id, foreign(Step.attempt) == Attempt.number)", viewonly=True
    )


class Attempt(Base):
    """An attempt at a step. started_at: when the dispatcher saw its claim."""

    __tablename__ = "attempts"
    __table_args__ = (CheckConstraint(f"number BETWEEN 1 AND {MAX_ATTEMPTS}", name="number_capped"),)

    step_id: Mapped[int] = mapped_column(ForeignKey("steps.id"), primary_key=True)
    number: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    token: Mapped[str] = mapped_column(String(32), unique=True)
    worker: Mapped[str | None] = mapped_column(String(100))
    sent_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[AttemptOutcome | None] = mapped_column(choice(AttemptOutcome))
    fault: Mapped[str | None] = mapped_column(String(2000))


class Result(Base):
    """The result of a job: one row, written once.

    report: the object that `tilelab grade --json` prints, as compressed JSON, see server.grading.reports
    ranked: whether the measurement counts on a leaderboard
    ms_low, ms_high: the 95 % interval of the median
    launch: grid and block, such as "64×64 · 16×16". Of the measured launch, otherwise of the counted launch (which the
        bound is for), otherwise of the largest launch
    melements: millions of elements a second
    tile: 0 if unknown
    bound_ms: the modelled speed of light, for the device of the evidence; bound_gflops: the same as a speed
    occupancy: modelled, from the driver if it was asked, 0 to 1
    not_ranked: a sentence why the measurement isn't ranked; "" if it is
    goals_missed: how many goals of the exercise the kernel misses; None if none were counted
    cause: of a failure, see kernels.report.causes; "" for none, and in results of earlier versions
    """

    __tablename__ = "results"
    __table_args__ = (CheckConstraint(f"length(report) <= {REPORT_BYTES}", name="report_bounded"),)

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    verdict: Mapped[Verdict] = mapped_column(choice(Verdict, constrained=False), index=True)
    device_class: Mapped[str] = mapped_column(String(48))
    report: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    gflops: Mapped[float | None]
    ms_median: Mapped[float | None]
    ms_low: Mapped[float | None]
    ms_high: Mapped[float | None]
    gbps: Mapped[float | None]
    melements: Mapped[float | None]
    launch: Mapped[str] = mapped_column(String(80), default="")
    tile: Mapped[int] = mapped_column(default=0)
    bound_ms: Mapped[float | None]
    bound_gflops: Mapped[float | None]
    not_ranked: Mapped[str] = mapped_column(String(500), default="")
    cublas_share: Mapped[float | None]
    occupancy: Mapped[float | None]
    ranked: Mapped[bool] = mapped_column(default=False)
    goals_missed: Mapped[int | None]
    cause: Mapped[str] = mapped_column(String(32), default="")
    recorded_at: Mapped[datetime] = mapped_column(index=True)

    job: Mapped[Job] = relationship(back_populates="result")


class QueueClock(Base):
    """The clock of a queue and priority, see server.grading.queue_order."""

    __tablename__ = "queue_clocks"

    queue: Mapped[str] = mapped_column(String(60), primary_key=True)
    priority: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    turn: Mapped[int] = mapped_column(BigId, default=0)
