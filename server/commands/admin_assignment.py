"""`tilelab admin assignment`: how assignments are set, and who has an extension."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from server.accounts.service import find_person
from server.commands.asking import assignment_named, course_named
from server.commands.database import database_in_use
from server.commands.moments import MomentOrNone
from server.courses.models import Assignment, Counts
from server.courses.service import Terms
from server.staff import assignments as service
from server.staff.assignments import Grant
from server.staff.setting import Setting, mistakes, setting_of
from worker.commands.root import Exit, WrongUse, leave

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_ANY = "any"

_OPTIONS = (
    click.option("--title", help="What students see above it."),
    click.option("--points", type=float),
    click.option("--opens", "opens_at", type=MomentOrNone(), help="When students see it."),
    click.option("--due", "due_at", type=MomentOrNone(), help="Until when it is in time."),
    click.option("--closes", "closes_at", type=MomentOrNone(), help="Until when late ones are taken."),
    click.option("--late-percent", "late_percent_per_day", type=float, help="Of the points, lost for each day late."),
    click.option("--attempts", help="Submissions for the ranking; `any` for any number."),
    click.option("--interval", "min_interval_seconds", type=int, help="Seconds between two of one student."),
    click.option("--checks", "checks_per_hour", type=int, help="Checks of one student in an hour."),
    click.option("--counts", type=click.Choice([counts.value for counts in Counts]), help="Which submission counts."),
    click.option("--freeze", "board_frozen_at", type=MomentOrNone(), help="From when boards stand still for students."),
    click.option("--listed/--unlisted", default=None, help="Whether students see it, once it has opened."),
)  # fmt: skip


def _setting_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def assignment() -> None:
    """Set exercises, change how they are set, and let single students have more.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59+01:00
      tilelab admin assignment change cs483/tiled --closes 2026-03-04T23:59+01:00 --late-percent 20
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59+01:00
    """  # noqa: D301 - click reads the escape


@assignment.command("set")
@click.argument("course")
@click.argument("exercise")
@click.option("--name", default="", help="In addresses.  [default: the exercise's]")
@click.option("--device-class", default="", help="What to measure on, such as h200; checked only without.")
@click.option("--arch", default="", help="What to compile for, such as sm_90.  [default: the device class's]")
@click.option("--tile", type=int, help="[default: the exercise's]")
@click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
@_setting_options
@_as_json
def set_exercise(
    course: str,
    exercise: str,
    name: str,
    device_class: str,
    arch: str,
    tile: int | None,
    folder: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Set EXERCISE in COURSE, as it is now; `tilelab exercises` shows which there are.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59+01:00
    """  # noqa: D301 - click reads the escape
    folders = () if folder is None else (folder,)
    with database_in_use() as sessions, sessions.begin() as session:
        setting = _changed(Setting(), _asked_for(given))
        terms = Terms(slug=name, device_class=device_class, arch=arch, tile=tile)
        made = service.set_exercise(
            session, course_named(session, course), None, exercise, terms, _right(setting), folders=folders
        )
        shown = _shown(made)
    click.echo(json.dumps(shown) if as_json else f"Set {course}/{made.slug}: {made.title}.")
    leave(Exit.ACCEPTED)


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@_setting_options
@_as_json
def change(name: str, as_json: bool, **given: Any) -> None:
    """Change how an assignment is set; what is not given stays. `none` takes a time away.

    \b
    Example:
      tilelab admin assignment change cs483/tiled --due 2026-03-02T23:59+01:00
      tilelab admin assignment change cs483/tiled --freeze none --attempts any
    """  # noqa: D301 - click reads the escape
    asked = _asked_for(given)
    if not asked:
        raise WrongUse("Say what to change; --help shows what can be.")
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, name)
        setting = _changed(setting_of(found), asked)
        changed = service.change_setting(session, found.course, found, None, setting)
        shown = _shown(found)
    if as_json:
        click.echo(json.dumps(shown | {"changed": sorted(changed)}))
    else:
        words = ", ".join(word.replace("_", " ") for word in sorted(changed))
        click.echo(f"Changed of {name}: {words}." if changed else f"{name} is set so already.")
    leave(Exit.ACCEPTED)


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@click.option("--due", "due_at", type=MomentOrNone(), help="Instead of the assignment's.")
@click.option("--closes", "closes_at", type=MomentOrNone(), help="Instead of the assignment's.")
@click.option("--attempts", "extra", type=int, default=0, show_default=True, help="Beside the assignment's.")
@click.option("--reason", default="", help="For staff; it stays out of the audit.")
@click.option("--withdraw", is_flag=True, help="Take the extension back.")
@_as_json
def extend(
    name: str,
    email: str,
    due_at: datetime | None,
    closes_at: datetime | None,
    extra: int,
    reason: str,
    withdraw: bool,
    as_json: bool,
) -> None:
    """Let one student have more time or attempts than the others.

    \b
    Example:
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59+01:00 --reason "was ill"
      tilelab admin assignment extend cs483/tiled ada@university.edu --withdraw
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, name)
        number = _person(session, email)
        if withdraw:
            there = service.withdraw(session, found.course, found, None, number)
            line = f"{email} has no extension for {name}{' any more' if there else ''}."
        else:
            given = Grant(due_at=due_at, closes_at=closes_at, extra_attempts=extra, reason=reason)
            service.grant(session, found.course, found, None, number, given)
            line = f"{email} has an extension for {name}."
    click.echo(json.dumps({"email": email, "extended": not withdraw}) if as_json else line)
    leave(Exit.ACCEPTED)


def _asked_for(given: dict[str, Any]) -> dict[str, Any]:
    """What was given at all: `none` for a time was, and is None by now."""
    context = click.get_current_context()
    source = click.core.ParameterSource.DEFAULT
    return {name: value for name, value in given.items() if context.get_parameter_source(name) is not source}


def _changed(setting: Setting, asked: dict[str, Any]) -> Setting:
    more = dict(asked)
    if "counts" in more:
        more["counts"] = Counts(more["counts"])
    if "attempts" in more:
        more["attempts"] = _attempts(more["attempts"])
    return replace(setting, **more)


def _attempts(text: str) -> int | None:
    if text == _ANY:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise WrongUse(f"--attempts is {text!r}; a number is needed, or any.")
    return int(text)


def _right(setting: Setting) -> Setting:
    wrong = mistakes(replace(setting, title=setting.title or _ANY))  # without one it is the exercise's own
    if wrong:
        raise WrongUse(next(iter(wrong.values())))
    return setting


def _person(session: Session, email: str) -> int:
    person = find_person(session, email)
    if person is None:
        raise WrongUse(f"Nobody has the email {email}; tilelab admin user list shows everyone.")
    return person.id


def _shown(assignment: Assignment) -> dict[str, Any]:
    setting = setting_of(assignment)
    times = {
        name: None if (moment := getattr(setting, name)) is None else moment.isoformat()
        for name in ("opens_at", "due_at", "closes_at", "board_frozen_at")
    }
    return {
        "name": assignment.slug,
        "title": setting.title,
        "points": setting.points,
        "late_percent_per_day": setting.late_percent_per_day,
        "attempts": setting.attempts,
        "min_interval_seconds": setting.min_interval_seconds,
        "checks_per_hour": setting.checks_per_hour,
        "counts": setting.counts.value,
        "listed": setting.listed,
        **times,
    }
