"""`tilelab admin jobs`: grading jobs with their steps; retry and cancel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.verdict import Verdict
from server.commands.database import database_in_use, in_session
from server.commands.names import assignment_named, person_named
from server.commands.options import even_if_lower
from server.commands.revocation import revoke
from server.grading.models import Job, JobState
from server.operations.jobs import Filter, JobLine, whole_job
from server.operations.jobs import jobs as find_jobs
from server.regrades.service import begin, plan
from server.submissions.changes import NotPossible, cancel, retry
from server.submissions.criteria import SubmissionCriteria
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse

_NUMBER = click.IntRange(1, 2**63 - 1)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.group()
def jobs() -> None:
    """List, show, retry or cancel jobs. A job grades one submission.

    \b
    Example:
      tilelab admin jobs list --verdict system_error
      tilelab admin jobs retry 17 18
    """


@jobs.command("list")
@click.option("--state", type=click.Choice([state.value for state in JobState]), help="Only in this state.")
@click.option("--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only this verdict.")
@click.option("--person", "email", help="Only jobs of the person with this email.")
@click.option("--assignment", help="Only jobs of COURSE/ASSIGNMENT.")
@click.option("--older-than", help="Only jobs queued longer ago than this, such as 90s, 10m, 2h or 3d.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@answering()
def list_jobs(
    state: str | None,
    verdict: str | None,
    email: str | None,
    assignment: str | None,
    older_than: str | None,
    limit: int,
) -> Answer:
    """List jobs, newest first.

    \b
    Examples:
      tilelab admin jobs list --state queued --older-than 10m
      tilelab admin jobs list --person ada@university.edu --assignment demo/tiled --json
    """
    now = datetime.now(UTC)
    with database_in_use() as sessions, sessions.begin() as session:
        wanted = Filter(
            state=None if state is None else JobState(state),
            verdict=None if verdict is None else Verdict(verdict),
            email=None if email is None else person_named(session, email).email,
            assignment=None if assignment is None else assignment_named(session, assignment).id,
            older_than=None if older_than is None else _span(older_than),
        )
        found = find_jobs(session, wanted, limit, now)
    data = [asdict(line) | {"queued_at": line.queued_at.isoformat(timespec="seconds")} for line in found]
    return Answer(data, "\n".join(_lines(found)) if found else "No matching jobs.")


@jobs.command()
@click.argument("job", type=_NUMBER)
@answering()
@in_session
def show(session: Session, job: int) -> Answer:
    """Show one job with its steps and attempts.

    \b
    Example:
      tilelab admin jobs show 17
    """
    found = whole_job(session, job, datetime.now(UTC))
    if found is None:
        raise WrongUse(_no_job(job))
    return Answer(found, "\n".join(_shown(found)))


@jobs.command("retry")
@click.argument("numbers", metavar="JOB...", nargs=-1, type=_NUMBER)
@click.option("--assignment", help="Instead of JOB: regrade all submissions to COURSE/ASSIGNMENT.")
@even_if_lower
@answering()
def retry_jobs(numbers: tuple[int, ...], assignment: str | None, confirmed: str) -> Answer:
    """Grade the submission of each JOB again, as a new job.

    With --assignment, students may lose points. Then the command names them and changes nothing, until you add --yes.

    \b
    Examples:
      tilelab admin jobs retry 17
      tilelab admin jobs retry --assignment demo/tiled
    """
    if bool(numbers) == (assignment is not None):
        raise WrongUse("use either numbers of jobs or --assignment.")
    with database_in_use() as sessions, sessions.begin() as session:
        if assignment is not None:
            found = assignment_named(session, assignment)
            planned = plan(session, found.course_id, SubmissionCriteria(assignment=found.slug))
            made = begin(session, planned, None, confirmed)
            lines = [f"Queued {len(made):,} jobs."]
        else:
            made = _retried(session, numbers)
            lines = [f"Job {old} is graded again as job {new}." for old, new in zip(numbers, made, strict=True)]
    return Answer({"jobs": made}, "\n".join(lines))


@jobs.command("cancel")
@click.argument("numbers", metavar="JOB...", nargs=-1, required=True, type=_NUMBER)
@answering()
def cancel_jobs(numbers: tuple[int, ...]) -> Answer:
    """Cancel each JOB without a verdict. If REDIS_URL is set, running workers stop too.

    Reports jobs that can't be cancelled, and continues. The exit code is then 2.

    \b
    Example:
      tilelab admin jobs cancel 17 18
    """
    done: list[int] = []
    others: list[tuple[int, str]] = []
    with database_in_use() as sessions:
        for number in numbers:
            try:
                with sessions.begin() as session:
                    _check_there(session, number)
                    tickets = cancel(session, number, None)
            except (NotPossible, WrongUse) as error:
                others.append((number, str(error)))
            else:
                revoke(tickets)
                done.append(number)
    why = [{"job": number, "why": text} for number, text in others]
    return Answer(
        {"cancelled": done, "not_cancelled": why},
        f"Cancelled: {', '.join(f'job {number}' for number in done)}." if done else "",
        Exit.WRONG_USE if others else Exit.ACCEPTED,
        [f"tilelab: {text}" for _, text in others],
    )


def _retried(session: Session, numbers: Sequence[int]) -> list[int]:
    try:
        for number in numbers:
            _check_there(session, number)
        return [retry(session, number, None).id for number in numbers]
    except (NotPossible, WrongUse) as error:
        raise WrongUse(f"{error}{' None was retried.' if len(numbers) > 1 else ''}") from error


def _check_there(session: Session, number: int) -> None:
    if session.get(Job, number) is None:
        raise WrongUse(_no_job(number))


def _no_job(number: int) -> str:
    return f"no job {number}. `tilelab admin jobs list` shows the jobs."


def _span(text: str) -> timedelta:
    matched = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if matched is None:
        raise WrongUse(f"--older-than {text!r}: use a number with s, m, h or d, such as 10m.")
    return timedelta(seconds=int(matched[1]) * _UNITS[matched[2]])


def _lines(found: list[JobLine]) -> list[str]:
    head = ["job", "queued (UTC)", "state", "verdict", "person", "exercise", "device", "kind"]
    rows = [
        [
            str(line.job), f"{line.queued_at:%Y-%m-%d %H:%M:%S}", line.state, line.verdict or "",
            safe(line.person), line.exercise, line.device_class, line.kind,
        ]
        for line in found
    ]  # fmt: skip
    return table([head, *rows], "><<<<<<<", indent=0)


def _shown(found: dict[str, Any]) -> list[str]:
    first = ["kind", "state", "verdict", "person", "assignment", "submission", "exercise", "device_class", "arch"]
    lines = [f"job {found['job']}"]
    lines += [f"  {name.replace('_', ' ')}: {safe(str(found[name]))}" for name in first if found[name]]
    moments = [name for name in ("queued_at", "started_at", "ended_at") if found[name]]
    lines += [f"  {name.removesuffix('_at')}: {found[name]}" for name in moments]
    if found["position"] is not None:
        lines.append(f"  position: {found['position']}")
    if found["wait"]["reason"]:
        lines.append(f"  {found['wait']['reason']}")
    for step in found["steps"]:
        took = f" after {step['seconds']:.1f} s" if step["seconds"] is not None else ""
        lines.append(f"  step {step['step']}: {step['state']}{took}, queue {step['queue']}")
        lines += [f"    {_attempt_line(attempt)}" for attempt in step["attempts"]]
    return lines


def _attempt_line(attempt: dict[str, Any]) -> str:
    parts = [f"attempt {attempt['number']}: {attempt['outcome'] or 'running'}, sent {attempt['sent_at']}"]
    if attempt["worker"]:
        parts.append(f"worker {safe(attempt['worker'])}")
    if attempt["fault"]:
        parts.append(safe(attempt["fault"]))
    return ", ".join(parts)
