"""What must be true after a campaign, read from the database and from the list of processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.grading.models import MAX_ATTEMPTS, Attempt, AttemptOutcome, Job, JobState, Result, Step
from server.submissions.models import Submission
from tests.faults.load import SubmissionInput

SYSTEM_ERRORS_ALLOWED = 0.01


@dataclass(slots=True)
class Account:
    """The outcome.

    lost: accepted submissions without a verdict; wrong: those with another than their kernel has
    broken: rules that do not hold, in words
    """

    accepted: int = 0
    done: int = 0
    system_errors: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def good(self) -> bool:
        return not (self.lost or self.wrong or self.broken)


def unfinished(session: Session) -> int:
    """Jobs that have no verdict yet."""
    return session.scalar(select(func.count()).where(Job.state.in_([JobState.QUEUED, JobState.RUNNING]))) or 0


def account(session: Session, handed_in: Sequence[SubmissionInput]) -> Account:
    """Look at every submission that was accepted."""
    found = Account(accepted=len(handed_in))
    rows = session.execute(
        select(Submission.public_id, Job.id, Job.verdict, Result.verdict)
        .join(Job, Job.submission_id == Submission.id, isouter=True)
        .join(Result, Result.job_id == Job.id, isouter=True)
    ).all()
    jobs: dict[str, list[tuple[int | None, Verdict | None, Verdict | None]]] = {}
    for public_id, job, verdict, recorded in rows:
        jobs.setdefault(public_id, []).append((job, verdict, recorded))
    for each in handed_in:
        _one(session, found, each, jobs.get(each.id, []))
    allowed = SYSTEM_ERRORS_ALLOWED * len(handed_in)
    if found.system_errors > allowed:
        found.broken.append(f"{found.system_errors} ended in system_error; {allowed:.1f} are allowed")
    if len({each.id for each in handed_in}) != len(handed_in):
        found.broken.append("two requests with different keys were answered with the same submission")
    _attempts(session, found)
    return found


def _one(
    session: Session,
    found: Account,
    each: SubmissionInput,
    jobs: Sequence[tuple[int | None, Verdict | None, Verdict | None]],
) -> None:
    if len(jobs) != 1 or jobs[0][0] is None:
        found.broken.append(f"{each.id} has {len(jobs)} jobs")
        return
    (job, verdict, recorded) = jobs[0]
    if verdict is None or recorded is not verdict:
        found.lost.append(f"{each.id} (job {job}, {each.kernel}): verdict {verdict}, recorded {recorded}")
        return
    found.done += 1
    found.verdicts[verdict.value] += 1
    if verdict is Verdict.SYSTEM_ERROR:
        found.system_errors += 1
        _three_faults(session, found, job)
    elif verdict.value != each.verdict:
        found.wrong.append(f"{each.id} (job {job}, {each.kernel}): {verdict.value}, not {each.verdict}")


def _three_faults(session: Session, found: Account, job: int | None) -> None:
    """A fault of ours is told only after three of them on one step."""
    ended = session.execute(
        select(Attempt.step_id, func.count())
        .join(Step, Step.id == Attempt.step_id)
        .where(Step.job_id == job, Attempt.outcome.in_([AttemptOutcome.FAULT, AttemptOutcome.LOST]))
        .group_by(Attempt.step_id)
    ).all()
    if max((count for _, count in ended), default=0) < MAX_ATTEMPTS:
        found.broken.append(f"job {job} ended in system_error before {MAX_ATTEMPTS} faults")


def _attempts(session: Session, found: Account) -> None:
    for outcome, count in session.execute(select(Attempt.outcome, func.count()).group_by(Attempt.outcome)):
        found.attempts[outcome.value if outcome else "open"] += count
    most = session.scalar(select(func.max(Step.attempt))) or 0
    if most > MAX_ATTEMPTS:
        found.broken.append(f"a step had {most} attempts")
    per_job = select(Step.job_id).join(Attempt).where(Attempt.outcome == AttemptOutcome.DONE)
    twice = session.execute(
        per_job.add_columns(Step.kind, func.count()).group_by(Step.job_id, Step.kind).having(func.count() > 1)
    ).all()
    if twice:
        found.broken.append(f"{len(twice)} steps have more than one attempt that counts")
