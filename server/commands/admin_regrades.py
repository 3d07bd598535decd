"""`tilelab admin regrades`: how far what is graded again has come, and ending what still waits of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.commands.asking import course_named
from server.commands.database import database_in_use
from server.commands.moments import clock_text, zone_of
from server.commands.revoking import revoke
from server.staff.submissions.regrading import Run, cancel_waiting, runs, turned
from worker.commands.root import Exit, WrongUse, leave

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group()
def regrades() -> None:
    """Show how far what is graded again has come, and end what still waits of it.

    \b
    Example:
      tilelab admin regrades list cs483
      tilelab admin regrades show cs483 17
    """  # noqa: D301 - click reads the escape


@regrades.command("list")
@click.argument("course")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000))
@_as_json
def list_runs(course: str, limit: int, as_json: bool) -> None:
    """List the last regrades in COURSE, the latest first.

    \b
    Example:
      tilelab admin regrades list cs483
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        of = course_named(session, course)
        found, zone = runs(session, of.id, limit), zone_of(of)
    if as_json:
        click.echo(json.dumps([_shown(run) for run in found]))
    elif found:
        click.echo("\n".join(_lines(found, zone)))
    else:
        click.echo(f"Nothing was graded again in {course}.")
    leave(Exit.ACCEPTED)


@regrades.command()
@click.argument("course")
@_number
@_as_json
def show(course: str, number: int, as_json: bool) -> None:
    """Show how far the regrade NUMBER is, and which verdicts came out otherwise (the first hundred).

    \b
    Example:
      tilelab admin regrades show cs483 17
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        of = course_named(session, course)
        found, zone = _run(session, of.id, number), zone_of(of)
        otherwise = turned(session, found)
    if as_json:
        changed = [
            {"submission": one.public_id, "was": one.was.value, "now": one.now.value} for one in otherwise
        ]
        click.echo(json.dumps(_shown(found) | {"turned": changed}))
    else:
        click.echo("\n".join(_lines([found], zone)))
        for one in otherwise:
            click.echo(f"    {one.public_id}  {safe(one.student)}: {one.was.value} is now {one.now.value}")
    leave(Exit.ACCEPTED)


@regrades.command()
@click.argument("course")
@_number
@_as_json
def cancel(course: str, number: int, as_json: bool) -> None:
    """End what no worker has taken yet of the regrade NUMBER; it keeps the verdict that it had.

    \b
    Example:
      tilelab admin regrades cancel cs483 17
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions:
        with sessions.begin() as session:
            course_id = course_named(session, course).id
            before = _run(session, course_id, number)
        if not before.waiting:
            raise WrongUse(f"Nothing of the regrade {number} waits any more.")
        revoke(cancel_waiting(sessions, before, course_id, None))
        with sessions.begin() as session:
            found = _run(session, course_id, number)
    ended = found.cancelled - before.cancelled
    more = f"; {found.waiting:,} still wait: call again" if found.waiting else ""
    click.echo(json.dumps(_shown(found)) if as_json else f"Cancelled: {ended:,}{more}.")
    leave(Exit.ACCEPTED)


def _run(session: Session, course_id: int, number: int) -> Run:
    found = runs(session, course_id, 1, number)
    if not found:
        raise WrongUse(
            f"There is no regrade {number} in this course; tilelab admin regrades list shows them."
        )
    return found[0]


def _lines(found: Sequence[Run], zone: ZoneInfo) -> list[str]:
    head = ["regrade", f"at ({zone.key})", "by", "assignment", "waiting", "at work", "done", "cancelled"]
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
