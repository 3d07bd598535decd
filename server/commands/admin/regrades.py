"""`tilelab admin regrades`: progress of regrades, and cancelling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.wording import plural, rounded_points
from server.acts.act import Target, assignment_target
from server.commands.acts import Named, verb
from server.commands.course_times import clock_text, zone_of
from server.commands.database import database_in_use
from server.commands.names import assignment_named, course_named, on_assignment, on_course
from server.commands.options import even_if_lower
from server.commands.revocation import revoke
from server.courses.models import Assignment, Course
from server.grades.grade import Grade
from server.regrades.service import Regrade, cancel_waiting, changed_verdicts, runs
from server.regrades.staged_preview import Preview, preview
from server.regrades.staging import DROP, apply, find_staged, progress
from server.submissions.models import StagedRegrade
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
      tilelab admin regrades staged cs483/tiled
    """


@regrades.command("list")
@on_course(click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000)))
def list_runs(session: Session, course: Course, limit: int) -> Answer:
    """List the regrades in COURSE, newest first.

    \b
    Example:
      tilelab admin regrades list cs483
    """
    found, zone = runs(session, course.id, limit), zone_of(course)
    text = "\n".join(_lines(found, zone)) if found else f"No regrades in {course.slug} yet."
    return Answer([_shown(run) for run in found], text)


@regrades.command()
@on_course(_number)
def show(session: Session, course: Course, number: int) -> Answer:
    """Show the progress of the regrade NUMBER, and the first 100 changed verdicts.

    \b
    Example:
      tilelab admin regrades show cs483 17
    """
    found, zone = _run(session, course.id, number), zone_of(course)
    otherwise = changed_verdicts(session, found)
    changed = [{"submission": one.public_id, "was": one.was, "now": one.now} for one in otherwise]
    lines = [f"    {one.public_id}  {safe(one.student)}: {one.was} became {one.now}" for one in otherwise]
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
    """
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


@regrades.command("staged")
@on_assignment()
def show_staged(session: Session, assignment: Assignment) -> Answer:
    """Show what the staged regrade of an assignment would change: verdicts, points and ranks.

    \b
    Example:
      tilelab admin regrades staged cs483/tiled
    """
    staged = _staged(session, assignment)
    found = progress(session, staged)
    if not found.over:
        waiting = found.waiting + found.running
        return Answer(
            {"assignment": assignment.name, "waiting": waiting, "done": found.done},
            f"{waiting:,} of {found.total:,} are not graded yet. The changes are known once all are.",
        )
    changes = preview(session, staged)
    return Answer(
        {"assignment": assignment.name, "waiting": 0, "done": found.done, **_changes_shown(changes)},
        "\n".join(_changes(changes)),
    )


@regrades.command("apply")
@on_assignment(even_if_lower)
def apply_staged(session: Session, assignment: Assignment, confirmed: str) -> Answer:
    """Let the verdicts of an assignment's staged regrade count, all at once.

    \b
    Example:
      tilelab admin regrades apply cs483/tiled
    """
    changes = preview(session, _staged(session, assignment))
    if changes.lower and not confirmed:
        listed = "\n".join(_changes(changes))
        raise WrongUse(f"this lowers {plural(changes.lower, 'grade')}.\n{listed}\nConfirm with --yes.")
    count = apply(session, assignment, None)
    return Answer({"assignment": assignment.name, "applied": count, **_changes_shown(changes)}, f"Applied: {count:,}.")


def _with_staged(session: Session, assignment: str) -> Target:
    found = assignment_named(session, assignment)
    _staged(session, found)
    return assignment_target(found)


@verb(regrades, DROP, Named((click.argument("assignment", metavar="COURSE/ASSIGNMENT"),), _with_staged), name="drop")
def drop_staged(_session: Session, on: Target, _: object) -> Answer:
    """Delete an assignment's staged regrade. Nothing changes.

    \b
    Example:
      tilelab admin regrades drop cs483/tiled
    """
    name = on.assignment.name
    return Answer({"assignment": name, "dropped": True}, f"Dropped the staged regrade of {name}.")


def _staged(session: Session, assignment: Assignment) -> StagedRegrade:
    found = find_staged(session, assignment)
    if found is None:
        raise WrongUse(f"no regrade of {assignment.name} is staged. `tilelab admin regrade --stage` stages one.")
    return found


def _changes(found: Preview) -> list[str]:
    counts = (
        plural(len(found.verdicts), "changed verdict"),
        plural(len(found.grades), "changed grade"),
        plural(len(found.ranks), "changed rank"),
    )
    lines = [", ".join(counts) + "."]
    lines += [
        f"    {safe(one.student)} <{one.email}>: {_points(one.was)} -> {_points(one.now)} points"
        for one in found.grades
    ]
    lines += [f"    {one.public_id}  {safe(one.student)}: {one.was or 'none'} -> {one.now}" for one in found.verdicts]
    lines += [
        f"    {safe(one.student)}: rank {one.was or '-'} -> {one.now or '-'} ({one.device_class or 'cpu'})"
        for one in found.ranks
    ]
    return lines


def _points(grade: Grade) -> str:
    return "no" if grade.points is None else rounded_points(grade.points)


def _changes_shown(found: Preview) -> dict[str, Any]:
    return {
        "verdicts": [{"submission": one.public_id, "was": one.was, "now": one.now} for one in found.verdicts],
        "grades": [{"email": one.email, "was": one.was.points, "now": one.now.points} for one in found.grades],
        "ranks": [
            {"student": one.student, "device_class": one.device_class, "was": one.was, "now": one.now}
            for one in found.ranks
        ],
    }


def _run(session: Session, course_id: int, number: int) -> Regrade:
    found = runs(session, course_id, 1, number)
    if not found:
        raise WrongUse(f"no regrade {number} in this course. `tilelab admin regrades list` shows all regrades.")
    return found[0]


def _lines(found: Sequence[Regrade], zone: ZoneInfo) -> list[str]:
    head = ["regrade", f"time ({zone.key})", "by", "assignment", "waiting", "running", "done", "cancelled"]
    rows = [
        [
            str(run.number), clock_text(run.at, zone), safe(run.by or "command line"), run.assignment,
            f"{run.waiting:,}", f"{run.running:,}", f"{run.done:,}", f"{run.cancelled:,}",
        ]
        for run in found
    ]  # fmt: skip
    return table([head, *rows], "><<<>>>>", indent=0)


def _shown(run: Regrade) -> dict[str, Any]:
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
