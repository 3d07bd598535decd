"""`tilelab admin assignment`: how assignments are set, and who has an extension."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from server.commands.database import database_in_use, in_session
from server.commands.moments import METAVAR, NONE, read_time
from server.commands.names import assignment_named, course_named, person_named
from server.commands.own_exercise import check_solution, exercise_in, exercise_named
from server.commands.setting_options import asked_for, setting_options, told, with_asked
from server.courses.exercises import Content
from server.courses.models import Assignment
from server.courses.service import CourseError, Terms, arch_of, assignments, courses
from server.database.engine import Sessions
from server.staff.assignments import service
from server.staff.assignments.exercise_update import Updated, update_exercise
from server.staff.assignments.service import Grant
from server.staff.assignments.setting import MOMENTS, Setting, setting_of
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse

_own_exercises = click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
_unchecked = click.option(
    "--unchecked", is_flag=True, help="Do not grade the solution of an exercise of your own."
)


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
@click.option("--tile", type=int, help="For files that do not set their own.  [default: the exercise's]")
@_own_exercises
@_unchecked
@setting_options
@answering()
def set_exercise(
    course: str,
    exercise: str,
    name: str,
    device_class: str,
    arch: str,
    tile: int | None,
    folder: Path | None,
    unchecked: bool,
    **given: Any,
) -> Answer:
    """Set EXERCISE in COURSE, as it is now; `tilelab exercises` shows which there are.

    EXERCISE is a name, or the path of a folder with an exercise of your own. The course keeps that with all its files.
    Its solution is graded first, and has to be accepted.

    A time is written like 2026-03-01T23:59, on the course's clock unless it names a zone.

    `tilelab admin course assign` is another name of this.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59
      tilelab admin assignment set cs483 ./my_exercises/matvec --points 5
    """  # noqa: D301 - click reads the escape
    terms = Terms(slug=name, device_class=device_class, arch=arch, tile=tile)
    with database_in_use() as sessions:
        with sessions.begin() as session:
            found = course_named(session, course)
            content = exercise_named(exercise, folder)
            asked = asked_for(given, found)
            setting = with_asked(
                Setting(), asked, service.wrong_terms(session, found, content.exercise, terms)
            )
        if not (content.shipped or unchecked):
            check_solution(content, arch or arch_of(device_class), tile, measured=bool(device_class))
        with sessions.begin() as session:
            found = course_named(session, course)
            made = service.set_exercise(session, found, None, content, terms, setting)
            shown, more = _shown(made), told(asked, found)
    line = f"Set {course}/{made.slug}: {made.title}{'; ' if more else ''}{more}."
    return Answer(shown, line)


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@setting_options
@answering()
@in_session
def change(session: Session, name: str, **given: Any) -> Answer:
    """Change how an assignment is set; what is not given stays.

    A time is written like 2026-03-01T23:59, on the course's clock unless it names a zone; `none` takes it away.

    \b
    Example:
      tilelab admin assignment change cs483/tiled --due 2026-03-02T23:59
      tilelab admin assignment change cs483/tiled --freeze none --attempts any
    """  # noqa: D301 - click reads the escape
    found = assignment_named(session, name)
    asked = asked_for(given, found.course)
    if not asked:
        raise WrongUse("Say what to change; --help shows what can be.")
    setting = with_asked(setting_of(found), asked)
    changed = service.change_setting(session, found.course, found, None, setting)
    shown, now = _shown(found), told(asked, found.course)
    return Answer(
        shown | {"changed": sorted(changed)},
        f"{name} is set so {'now' if changed else 'already'}: {now}.",
    )


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@click.option("--due", default=NONE, metavar=METAVAR, help="Instead of the assignment's.")
@click.option("--closes", default=NONE, metavar=METAVAR, help="Instead of the assignment's.")
@click.option("--attempts", "extra", type=int, default=0, show_default=True, help="Beside the assignment's.")
@click.option("--reason", default="", help="For staff; it stays out of the audit.")
@click.option("--withdraw", is_flag=True, help="Take the extension back.")
@answering()
def extend(
    name: str,
    email: str,
    due: str,
    closes: str,
    extra: int,
    reason: str,
    withdraw: bool,
) -> Answer:
    """Let one student have more time or attempts than the others.

    \b
    Example:
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59 --reason "was ill"
      tilelab admin assignment extend cs483/tiled ada@university.edu --withdraw
    """  # noqa: D301 - click reads the escape
    if withdraw and (extra or reason or {due, closes} != {NONE}):
        raise WrongUse("--withdraw takes the whole extension back, and goes alone.")
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
            more = kept | ({"attempts": f"{extra} more"} if extra else {})
            line = f"{email} has an extension for {name}: {told(more, found.course)}."
    return Answer(shown, line)


@assignment.command()
@click.argument("name", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option("--all", "everything", is_flag=True, help="All assignments of all courses.")
@_own_exercises
@_unchecked
@answering()
def update(name: str | None, everything: bool, folder: Path | None, unchecked: bool) -> Answer:
    """Take the exercise as it is now, as after an upgrade: workers refuse what another judge set.

    One that comes with Tilelab is taken as it is installed. A course's own exercise stays what the course keeps of it,
    judged as this version judges; to change it, give the folder that its folder lies in with --exercises.

    Where it judges otherwise, what waits to be graded is judged so, too. Verdicts and points stay; boards begin anew,
    until what was handed in is graded again with `tilelab admin regrade`. What cannot be updated is told, and keeps
    none of the others: the exit code is 2 then.

    \b
    Example:
      tilelab admin assignment update --all
      tilelab admin assignment update cs483/mine --exercises my_exercises
    """  # noqa: D301 - click reads the escape
    if everything == (name is not None):
        raise WrongUse("Give either COURSE/ASSIGNMENT or --all.")
    if folder is not None and name is None:
        raise WrongUse("--exercises changes one exercise: give COURSE/ASSIGNMENT, not --all.")
    with database_in_use() as sessions:
        content = None
        if name is not None and folder is not None:
            content = _changed(sessions, name, folder, unchecked=unchecked)
        with sessions.begin() as session:
            names = [_name(assignment_named(session, name))] if name is not None else [
                _name(one) for course in courses(session) for one in assignments(session, course)
            ]  # fmt: skip
        done, refused = _updated(sessions, names, content)
    lines = [
        {"name": one, "changed": update is not None, "waiting": update.waiting if update else 0}
        for one, update in done.items()
    ]
    return Answer(
        {"assignments": lines, "refused": refused},
        "\n".join(f"{one}: {_update_line(one, update)}" for one, update in done.items()),
        Exit.WRONG_USE if refused else Exit.ACCEPTED,
        [f"tilelab: {one}: {why}" for one, why in refused.items()],
    )


def _changed(sessions: Sessions, name: str, folder: Path, *, unchecked: bool) -> Content:
    """The exercise of an assignment as it is in a folder now; raises WrongUse where it is not the course's own."""
    with sessions.begin() as session:
        found = assignment_named(session, name)
        exercise, arch, tile, measured = found.exercise, found.arch, found.tile, bool(found.device_class)
        if exercise.course_id is None:
            raise WrongUse(
                f"{name} has the exercise {exercise.name} that comes with Tilelab, and keeps it. To use a folder of "
                "your own, make another assignment: tilelab admin assignment set COURSE FOLDER"
            )
        content = exercise_in(folder, exercise.name)
    if not unchecked:
        check_solution(content, arch, tile, measured=measured)
    return content


def _updated(
    sessions: Sessions, names: list[str], content: Content | None
) -> tuple[dict[str, Updated | None], dict[str, str]]:
    """Each in a transaction of its own: what changed, None for one that is up to date; and what was refused."""
    done: dict[str, Updated | None] = {}
    refused: dict[str, str] = {}
    for one in names:
        try:
            with sessions.begin() as session:
                done[one] = update_exercise(session, assignment_named(session, one), None, content=content)
        except CourseError as error:
            refused[one] = str(error)
    return done, refused


def _update_line(name: str, update: Updated | None) -> str:
    if update is None:
        return "it is up to date."
    if not update.judges:
        return "students get its files as they are now; it judges as before."
    more = f", and so are {update.waiting:,} that waited" if update.waiting else ""
    return (
        f"judged by the exercise as it is now{more}. `tilelab admin regrade {name}` grades the others again."
    )


def _name(assignment: Assignment) -> str:
    return f"{assignment.course.slug}/{assignment.slug}"


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
        **{name: _iso(getattr(setting, name)) for name in MOMENTS},
    }
