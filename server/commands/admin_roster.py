"""`tilelab admin roster`: who is in a course, as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from server.commands.asking import course_named
from server.commands.database import database_in_use
from server.staff.roster import Member, roster_csv
from server.staff.roster import roster as read_members
from server.staff.roster_csv import MOST_BYTES, Read, Unreadable, decoded, read_roster
from server.staff.roster_plan import Plan, carry_out, make_plan
from worker.commands.root import Exit, WrongUse, leave

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def roster() -> None:
    """Read a course's roster from a CSV file, or write it as one.

    \b
    Example:
      tilelab admin roster import cs483 students.csv --dry-run
      tilelab admin roster export cs483 > roster.csv
    """  # noqa: D301 - click reads the escape


@roster.command("import")
@click.argument("course")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--drop-others", is_flag=True, help="Drop students who are not in the file; staff stay.")
@_as_json
def import_roster(course: str, file: Path, dry_run: bool, drop_others: bool, as_json: bool) -> None:
    """Take the people in FILE into COURSE, all of them or none; `-` reads standard input.

    The first line names the columns: email,name,role,section, of which the last two may be left out. Nobody is
    deleted, and who has an account keeps the name that it has. A line with a mistake is named, and nothing is changed.

    \b
    Example:
      tilelab admin roster import cs483 students.csv --dry-run
      tilelab admin roster import cs483 students.csv --drop-others
    """  # noqa: D301 - click reads the escape
    read = _read(file)
    with database_in_use() as sessions, sessions.begin() as session:
        found = course_named(session, course)
        plan = make_plan(session, found, read, drop_others=drop_others)
        if not plan.problems and not dry_run:
            carry_out(session, found, plan, None)
    if as_json:
        click.echo(json.dumps(_shown(plan, done=not plan.problems and not dry_run)))
    elif not plan.problems:
        _print(plan, dry_run=dry_run)
    for problem in plan.problems:
        where = f"line {problem.line}: " if problem.line else ""
        click.echo(f"{where}{problem.text}", err=True)
    leave(Exit.WRONG_USE if plan.problems else Exit.ACCEPTED)


@roster.command("export")
@click.argument("course")
@_as_json
def export_roster(course: str, as_json: bool) -> None:
    """Write the roster of COURSE to standard output, as `import` reads it; without those who dropped.

    \b
    Example:
      tilelab admin roster export cs483 > roster.csv
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        members = read_members(session, course_named(session, course).id)
    if as_json:
        click.echo(json.dumps([_member(one) for one in members if one.dropped_at is None]))
    else:
        click.echo(roster_csv(members).replace("\r\n", "\n"), nl=False)
    leave(Exit.ACCEPTED)


def _read(file: Path) -> Read:
    try:
        with click.open_file(str(file), "rb") as source:
            return read_roster(decoded(source.read(MOST_BYTES + 1)))
    except Unreadable as error:
        raise WrongUse(f"{file}: {error}") from error
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror or error}.") from error


def _shown(plan: Plan, *, done: bool) -> dict[str, Any]:
    return {
        "done": done,
        "counts": dict(plan.counts),
        "changes": [
            {
                "change": entry.change.value, "email": entry.email, "name": entry.name, "role": entry.role.value,
                "section": entry.section, "was": entry.was,
            }
            for entry in plan.changes
        ],
        "problems": [{"line": problem.line, "text": problem.text} for problem in plan.problems],
    }  # fmt: skip


def _print(plan: Plan, *, dry_run: bool) -> None:
    for entry in plan.changes:
        section = f", section {entry.section}" if entry.section else ""
        before = f" (was {entry.was})" if entry.was else ""
        click.echo(f"{entry.change.value:<10}  {entry.email}  {entry.role.value}{section}{before}")
    counts = ", ".join(f"{count} {name}" for name, count in plan.counts.items() if count)
    click.echo(f"{'Would be' if dry_run else 'Now'}: {counts or 'nobody'}.")


def _member(one: Member) -> dict[str, Any]:
    return {"email": one.email, "name": one.name, "role": one.role.value, "section": one.section}
