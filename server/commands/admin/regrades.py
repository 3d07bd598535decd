"""`tilelab admin regrades`: progress of regrades, and cancelling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.commands.course_times import clock_text, zone_of
from server.commands.database import database_in_use, in_session
from server.commands.names import course_named
from server.commands.revocation import revoke
from server.staff.submissions.regrades import Run, cancel_waiting, changed_verdicts, runs
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group()
def regrades() -> None:
    """Show regrades and their progress, or cancel what still waits.

    \b
    Example:
      tilelab admin regrades list cs483
      tilelab admin regrades show cs483 17
    """  # noqa: D301 - click reads the escape


@regrades.command("list")
@click.argument("course")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000))
@answering()
@in_session
def list_runs(session: Session, course: str, limit: int) -> Answer:
    """List the regrades in COURSE, newest first.

    \b
    Example:
      tilelab admin regrades list cs483
    """  # noqa: D301 - click reads the escape
    of = course_named(session, course)
    found, zone = runs(session, of.id, limit), zone_of(of)
    text = "\n".join(_lines(found, zone)) if found else f"No regrades in {course} yet."
    return Answer([_shown(run) for run in found], text)


@regrades.command()
@click.argument("course")
@_number
@answering()
@in_session
def show(session: Session, course: str, number: int) -> Answer:
    """Show the progress of the regrade NUMBER, and the first 100 changed verdicts.

    \b
    Example:
      tilelab admin regrades show cs483 17
    """  # noqa: D301 - click reads the escape
    of = course_named(session, course)
    found, zone = _run(session, of.id, number), zone_of(of)
    otherwise = changed_verdicts(session, found)
    changed = [{"submission": one.public_id, "was": one.was.value, "now": one.now.value} for one in otherwise]
    lines = [
        f"    {one.public_id}  {safe(one.student)}: {one.was.value} became {one.now.value}"
        for one in otherwise
    ]
    return Answer(_shown(found) | {"turned": changed}, "\n".join([*_lines([found], zone), *lines]))


@regrades.command()
@click.argument("course")
@_number
@answering()
def cancel(course: str, number: int) -> Answer:
    """Cancel what still waits of the regrade NUMBER. These submissions keep their verdicts.

    \b
    Example:
      tilelab admin regrades cancel cs483 17
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions:
        with sessions.begin() as session:
            course_id = course_named(session, course).id
            before = _run(session, course_id, number)
        if not before.waiting:
            raise WrongUse(f"nothing of the regrade {number} is waiting.")
        revoke(cancel_waiting(sessions, before, course_id, None))
        with sessions.begin() as session:
            found = _run(session, course_id, number)
    ended = found.cancelled - before.cancelled
    more = f"; {found.waiting:,} still wait. Run this again" if found.waiting else ""
    return Answer(_shown(found), f"Cancelled: {ended:,}{more}.")


def _run(session: Session, course_id: int, number: int) -> Run:
    found = runs(session, course_id, 1, number)
    if not found:
        raise WrongUse(
            f"no regrade {number} in this course. `tilelab admin regrades list` shows all regrades."
        )
    return found[0]


def _lines(found: Sequence[Run], zone: ZoneInfo) -> list[str]:
    head = ["regrade", f"time ({zone.key})", "by", "assignment", "waiting", "running", "done", "cancelled"]
    rows = [
        [
            str(run.number), clock_text(run.at, zone), safe(run.by or "command line"), run.assignment,
            f"{run.waiting:,}", f"{run.running:,}", f"{run.done:,}", f"{run.cancelled:,}",
        ]
        for run in found
    ]  # fmt: skip
    return table([head, *rows], "><<<>>>>", indent=0)


def _shown(run: Run) -> dict[str, Any]:
    return {
        "regrade": run.number,
        "at": run.at.isoformat(timespec="seconds"),
        "by": run.by,
        "assignment": run.assignment,
        "total": run.total,
        "waiting": run.waiting,
        "running": run.running,
        "done": run.done,
        "cancelled": run.cancelled,
    }
