"""`tilelab admin assignment`: how assignments are set, and who has an extension."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from server.commands.asking import assignment_named, course_named, person_named
from server.commands.database import database_in_use
from server.commands.moments import METAVAR, read_time, time_text
from server.courses.models import Assignment, Counts, Course
from server.courses.service import CourseError, Terms, assignments, courses
from server.database.engine import Sessions
from server.staff import assignments as service
from server.staff.assignments import Grant
from server.staff.setting import Setting, mistakes, setting_of
from server.staff.updating import update_exercise
from worker.commands.root import Exit, WrongUse, leave

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_own_exercises = click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
_ANY = "any"
_TIMES = {"opens_at": "opens", "due_at": "due", "closes_at": "closes", "board_frozen_at": "freeze"}

_OPTIONS = (
    click.option("--title", help="What students see above it."),
    click.option("--points", type=float),
    click.option("--opens", "opens_at", metavar=METAVAR, help="When students see it."),
    click.option("--due", "due_at", metavar=METAVAR, help="Until when it is in time."),
    click.option("--closes", "closes_at", metavar=METAVAR, help="Until when late ones are taken."),
    click.option("--late-percent", "late_percent_per_day", type=float, help="Of the points, lost for each day late."),
    click.option("--attempts", help="Submissions for the ranking; `any` for any number."),
    click.option("--interval", "min_interval_seconds", type=int, help="Seconds between two of one student."),
    click.option("--checks", "checks_per_hour", type=int, help="Checks of one student in an hour."),
    click.option("--counts", type=click.Choice([counts.value for counts in Counts]), help="Which submission counts."),
    click.option("--freeze", "board_frozen_at", metavar=METAVAR, help="From when boards stand still for students."),
    click.option("--listed/--unlisted", default=None, help="Whether students see it, once it has opened."),
)  # fmt: skip


def _setting_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def assignment() -> None:
    """Set exercises, change how they are set, and let single students have more.

    A time that names no zone is one on the course's clock.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59
      tilelab admin assignment change cs483/tiled --closes 2026-03-04T23:59 --late-percent 20
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59
      tilelab admin assignment update --all
    """  # noqa: D301 - click reads the escape


@assignment.command("set")
@click.argument("course")
@click.argument("exercise")
@click.option("--name", default="", help="In addresses.  [default: the exercise's]")
@click.option("--device-class", default="", help="What to measure on, such as h200; checked only without.")
@click.option("--arch", default="", help="What to compile for, such as sm_90.  [default: the device class's]")
@click.option("--tile", type=int, help="[default: the exercise's]")
@_own_exercises
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

    `tilelab admin course assign` is another name of this.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = course_named(session, course)
        asked = _asked_for(given, found)
        terms = Terms(slug=name, device_class=device_class, arch=arch, tile=tile)
        made = service.set_exercise(
            session,
            found,
            None,
            exercise,
            terms,
            _right(replace(Setting(), **asked)),
            folders=_folders(folder),
        )
        shown, times = _shown(made), _times(asked, found)
    click.echo(json.dumps(shown) if as_json else f"Set {course}/{made.slug}: {made.title}{times}.")
    leave(Exit.ACCEPTED)


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@_setting_options
@_as_json
def change(name: str, as_json: bool, **given: Any) -> None:
    """Change how an assignment is set; what is not given stays. `none` takes a time away.

    \b
    Example:
      tilelab admin assignment change cs483/tiled --due 2026-03-02T23:59
      tilelab admin assignment change cs483/tiled --freeze none --attempts any
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, name)
        asked = _asked_for(given, found.course)
        if not asked:
            raise WrongUse("Say what to change; --help shows what can be.")
        changed = service.change_setting(
            session, found.course, found, None, replace(setting_of(found), **asked)
        )
        shown, times = _shown(found), _times(asked, found.course)
    if as_json:
        click.echo(json.dumps(shown | {"changed": sorted(changed)}))
    else:
        words = ", ".join(word.replace("_", " ") for word in sorted(changed))
        click.echo(f"Changed of {name}: {words}{times}." if changed else f"{name} is set so already{times}.")
    leave(Exit.ACCEPTED)


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@click.option("--due", default="none", metavar=METAVAR, help="Instead of the assignment's.")
@click.option("--closes", default="none", metavar=METAVAR, help="Instead of the assignment's.")
@click.option("--attempts", "extra", type=int, default=0, show_default=True, help="Beside the assignment's.")
@click.option("--reason", default="", help="For staff; it stays out of the audit.")
@click.option("--withdraw", is_flag=True, help="Take the extension back.")
@_as_json
def extend(
    name: str,
    email: str,
    due: str,
    closes: str,
    extra: int,
    reason: str,
    withdraw: bool,
    as_json: bool,
) -> None:
    """Let one student have more time or attempts than the others.

    \b
    Example:
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59 --reason "was ill"
      tilelab admin assignment extend cs483/tiled ada@university.edu --withdraw
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, name)
        number = person_named(session, email).id
        shown: dict[str, Any] = {"email": email, "extended": not withdraw}
        if withdraw:
            there = service.withdraw(session, found.course, found, None, number)
            line = f"{email} has no extension for {name}{' any more' if there else ''}."
        else:
            times = {
                "due_at": read_time("--due", due, found.course),
                "closes_at": read_time("--closes", closes, found.course),
            }
            given = Grant(**times, extra_attempts=extra, reason=reason)
            service.grant(session, found.course, found, None, number, given)
            shown |= {word: _iso(moment) for word, moment in times.items()} | {"extra_attempts": extra}
            kept = {word: moment for word, moment in times.items() if moment is not None}
            line = f"{email} has an extension for {name}{_times(kept, found.course)}."
    click.echo(json.dumps(shown) if as_json else line)
    leave(Exit.ACCEPTED)


@assignment.command()
@click.argument("name", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option("--all", "everything", is_flag=True, help="All assignments of all courses.")
@_own_exercises
@_as_json
def update(name: str | None, everything: bool, folder: Path | None, as_json: bool) -> None:
    """Judge by the exercise as it is installed now, as after an upgrade: workers refuse what another judge set.

    What waits to be graded is judged so, too. Verdicts and points stay; boards begin anew, until what was handed in
    is graded again with `tilelab admin regrade`. What cannot be updated is told, and keeps none of the others: the
    exit code is 2 then.

    \b
    Example:
      tilelab admin assignment update --all
      tilelab admin assignment update cs483/mine --exercises my_exercises
    """  # noqa: D301 - click reads the escape
    if everything == (name is not None):
        raise WrongUse("Give either COURSE/ASSIGNMENT or --all.")
    with database_in_use() as sessions:
        with sessions.begin() as session:
            names = [_name(assignment_named(session, name))] if name is not None else [
                _name(one) for course in courses(session) for one in assignments(session, course)
            ]  # fmt: skip
        done, refused = _updated(sessions, names, folder)
    if as_json:
        lines = [
            {"name": one, "changed": count is not None, "waiting": count or 0} for one, count in done.items()
        ]
        click.echo(json.dumps({"assignments": lines, "refused": refused}))
    else:
        for one, count in done.items():
            click.echo(f"{one}: {_update_line(one, count)}")
    for one, why in refused.items():
        WrongUse(f"{one}: {why}").show()
    leave(Exit.WRONG_USE if refused else Exit.ACCEPTED)


def _updated(
    sessions: Sessions, names: list[str], folder: Path | None
) -> tuple[dict[str, int | None], dict[str, str]]:
    """Each in a transaction of its own: how many waited, None for one that judges as before; and what was refused."""
    done: dict[str, int | None] = {}
    refused: dict[str, str] = {}
    for one in names:
        try:
            with sessions.begin() as session:
                done[one] = update_exercise(
                    session, assignment_named(session, one), None, folders=_folders(folder)
                )
        except CourseError as error:
            refused[one] = str(error)
    return done, refused


def _update_line(name: str, waiting: int | None) -> str:
    if waiting is None:
        return "it is up to date."
    more = f", and so are {waiting:,} that waited" if waiting else ""
    return (
        f"judged by the exercise as it is now{more}. `tilelab admin regrade {name}` grades the others again."
    )


def _asked_for(given: Mapping[str, Any], course: Course) -> dict[str, Any]:
    """What was given at all, as a setting has it; raises WrongUse."""
    context = click.get_current_context()
    source = click.core.ParameterSource.DEFAULT
    found = {name: value for name, value in given.items() if context.get_parameter_source(name) is not source}
    for name, option in _TIMES.items():
        if name in found:
            found[name] = read_time(f"--{option}", found[name], course)
    if "counts" in found:
        found["counts"] = Counts(found["counts"])
    if "attempts" in found:
        found["attempts"] = _attempts(found["attempts"])
    return found


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


def _folders(folder: Path | None) -> tuple[Path, ...]:
    return () if folder is None else (folder,)


def _name(assignment: Assignment) -> str:
    return f"{assignment.course.slug}/{assignment.slug}"


def _times(given: Mapping[str, Any], course: Course) -> str:
    """The moments among what was given, so that whoever typed them sees which they are."""
    return "".join(
        f"; {word} {time_text(given[name], course)}" for name, word in _TIMES.items() if name in given
    )


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _shown(assignment: Assignment) -> dict[str, Any]:
    setting = setting_of(assignment)
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
        **{name: _iso(getattr(setting, name)) for name in _TIMES},
    }
