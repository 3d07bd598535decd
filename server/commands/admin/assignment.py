"""`tilelab admin assignment`: assignments, their settings and extensions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.wording import plural
from server.accounts.models import Person
from server.acts.act import Target, assignment_target
from server.acts.field import plain_values
from server.assignments import creation
from server.assignments import creation as order
from server.assignments.exercise_update import Updated, update_exercise
from server.assignments.extensions import EXTENSION, EXTENSIONS_FILE, WITHDRAWAL, Grant
from server.assignments.practice import PRACTICE
from server.assignments.settings import SETTINGS, AssignmentSettings, setting_of, wrong_settings
from server.commands.acts import STUDENT, Named, asked_for, carry_out, options, told, verb, wrong_options
from server.commands.admin.requests.extensions import extension_requests
from server.commands.database import database_in_use, in_session
from server.commands.exercise_lookup import check_solution, exercise_in, exercise_named
from server.commands.names import assignment_named, course_named, on_assignment, on_course, person_named
from server.commands.options import even_if_lower, file_preview
from server.commands.student_file import import_student_file
from server.courses.deletion import delete_assignment, losses_of_assignment
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, Terms, arch_of, assignments, courses
from server.database.engine import Sessions
from server.exercises.service import newest_content
from server.exercises.stored import Content
from server.teams.placement import PLACEMENT, TEAMS_FILE
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse

_own_exercises = click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with your own exercises."
)
_unchecked = click.option("--unchecked", is_flag=True, help="Don't grade your own exercise's solution first.")


@click.group(commands=[extension_requests])
def assignment() -> None:
    """Create assignments, change their settings, and grant extensions.

    Times without a zone are in the course's time zone.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59
      tilelab admin assignment change cs483/tiled --closes 2026-03-04T23:59 --late-percent 20
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59
      tilelab admin assignment update --all
    """


@assignment.command("set")
@click.argument("course")
@click.argument("exercise")
@click.option("--name", default="", help="Short name for addresses.  [default: the exercise's]")
@click.option("--device-class", default="", help="GPU to measure on, such as h200.  [default: not measured]")
@click.option("--arch", default="", help="Architecture, such as sm_90.  [default: the device class's]")
@click.option("--tile", type=int, help="Tile width, if a file defines none.  [default: the exercise's]")
@click.option("--own", is_flag=True, help="EXERCISE is one of the course's own published exercises.")
@_own_exercises
@_unchecked
@options(SETTINGS.fields)
@answering()
def set_exercise(
    course: str,
    exercise: str,
    name: str,
    device_class: str,
    arch: str,
    tile: int | None,
    own: bool,
    folder: Path | None,
    unchecked: bool,
    **given: Any,
) -> Answer:
    """Create an assignment in COURSE from EXERCISE. `tilelab exercises` lists the exercises.

    EXERCISE is a name, or the folder of your own exercise. The course then keeps a copy of your folder. Its solution
    is graded first and must be accepted. With --own, EXERCISE is one of the course's own exercises, see `tilelab admin
    exercise`.

    Write times as 2026-03-01T23:59, in the course's time zone or with a zone.

    `tilelab admin course assign` does the same.

    \b
    Example:
      tilelab admin assignment set cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59
      tilelab admin assignment set cs483 ./my_exercises/matvec --points 5
    """
    terms = Terms(slug=name, device_class=device_class, arch=arch, tile=tile)
    with database_in_use() as sessions:
        with sessions.begin() as session:
            found = course_named(session, course)
            content = newest_content(session, found.id, exercise) if own else exercise_named(exercise, folder)
            asked = _settings_asked_for(given, found)
            setting = replace(AssignmentSettings(title=content.exercise.title), **asked)
            wrong = creation.wrong_terms(session, found, content.exercise, terms) | wrong_settings(setting)
            if wrong:
                raise wrong_options(SETTINGS, wrong, {"slug": "--name", "device_class": "--device-class"})
        if not (content.shipped or own or unchecked):
            check_solution(content, arch or arch_of(device_class), tile, measured=bool(device_class))
        with sessions.begin() as session:
            found = course_named(session, course)
            made = creation.set_exercise(session, found, None, content, terms, setting)
            shown, more = _shown(made), told(SETTINGS, asked, found)
    line = f"Created {course}/{made.slug}: {made.title}{'; ' if more else ''}{more}."
    return Answer(shown, line)


@assignment.command()
@on_assignment(options(SETTINGS.fields), even_if_lower)
def change(session: Session, found: Assignment, confirmed: str, **given: Any) -> Answer:
    """Change an assignment's settings. Other settings stay unchanged.

    If points fall, the command names the students and changes nothing, until you add --yes.

    Write times as 2026-03-01T23:59, in the course's time zone or with a zone; `none` removes a time.

    \b
    Example:
      tilelab admin assignment change cs483/tiled --due 2026-03-02T23:59
      tilelab admin assignment change cs483/tiled --freeze none --attempts any
    """
    asked = _settings_asked_for(given, found.course)
    changed = carry_out(SETTINGS, session, assignment_target(found), asked, confirmed)
    shown, now = _shown(found), told(SETTINGS, asked, found.course)
    return Answer(shown | {"changed": sorted(changed)}, f"{'Changed' if changed else 'Unchanged'} {found.name}: {now}.")


@verb(
    assignment,
    PRACTICE,
    Named((click.argument("course"),), lambda session, course: Target(course_named(session, course))),
    "exercises",
)
def practice(_session: Session, on: Target, made: list[Assignment]) -> Answer:
    """Add exercises that come with Tilelab as practice to COURSE: without points, deadline or a gradebook column.

    \b
    Example:
      tilelab admin assignment practice cs483 --exercises naive,tiled
      tilelab admin assignment practice cs483 --exercises all
    """
    slugs = [one.slug for one in made]
    shown = {"course": on.course.slug, "assignments": slugs}
    return Answer(shown, f"Added {plural(len(slugs), 'exercise')} as practice: {', '.join(slugs)}.")


@assignment.command("order")
@on_course(
    click.argument("names", metavar="[ASSIGNMENT]...", nargs=-1),
    click.option("--by-deadline", is_flag=True, help="Sort by deadline again."),
)
def order_assignments(session: Session, course: Course, names: tuple[str, ...], by_deadline: bool) -> Answer:
    """Set or show the order of a course's assignments. The named ones come first.

    \b
    Example:
      tilelab admin assignment order cs483 vecadd naive tiled
    """
    if by_deadline and names:
        raise WrongUse("use either assignments or --by-deadline.")
    if by_deadline:
        listed = order.order_by_deadline(session, course, None)
    else:
        listed = order.order(session, course, None, names) if names else list(assignments(session, course))
    slugs = [one.slug for one in listed]
    return Answer({"course": course.slug, "assignments": slugs}, "\n".join(slugs))


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.option("--yes", is_flag=True, help="Delete without confirmation.")
@answering()
def delete(name: str, yes: bool) -> Answer:
    """Delete an assignment that nothing was submitted to, with its extensions.

    \b
    Example:
      tilelab admin assignment delete cs483/tiled
    """
    with database_in_use() as sessions:
        with sessions.begin() as session:
            losses = losses_of_assignment(session, assignment_named(session, name))
        if not yes:  # outside a transaction: others would wait for the answer
            click.confirm(
                f"Permanently delete {name} and {plural(losses.extensions, 'extension')}?", abort=True, err=True
            )
        with sessions.begin() as session:
            delete_assignment(session, assignment_named(session, name), None)
    return Answer({"deleted": name, "extensions": losses.extensions}, f"Deleted {name}.")


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@options(EXTENSION.fields)
@click.option("--withdraw", is_flag=True, help="Remove the extension.")
@even_if_lower
@answering()
@in_session
def extend(session: Session, name: str, email: str, withdraw: bool, confirmed: str, **given: Any) -> Answer:
    """Give one student more time or more attempts.

    \b
    Example:
      tilelab admin assignment extend cs483/tiled ada@university.edu --due 2026-03-08T23:59 --reason "was ill"
      tilelab admin assignment extend cs483/tiled ada@university.edu --withdraw
    """
    on = assignment_target(assignment_named(session, name), person_named(session, email).id)
    asked = asked_for(EXTENSION, given, on.course)
    shown = {"email": email, "extended": not withdraw}
    if withdraw:
        if asked:
            raise WrongUse("--withdraw removes the whole extension. Use it without other options.")
        there = carry_out(WITHDRAWAL, session, on, {}, confirmed)
        removed = f"Removed the extension of {email} for {name}."
        return Answer(shown, removed if there else f"{email} has no extension for {name}.")
    carry_out(EXTENSION, session, on, asked, confirmed)
    granted = plain_values(replace(Grant(), **asked), private=False)
    kept = {each: asked[each] for each in granted if asked.get(each)}
    more = " more" if "extra_attempts" in kept else ""
    line = f"{email} has an extension for {name}: {told(EXTENSION, kept, on.course)}{more}."
    return Answer(shown | granted, line)


@assignment.command("extend-many")
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@file_preview
@even_if_lower
@answering()
def extend_many(name: str, file: Path, preview: bool, confirmed: str) -> Answer:
    """Grant the extensions in FILE, all of them or none. `-` reads standard input.

    The first line names the columns: email,due,closes,attempts,reason. You can leave out all but the email. Empty cells
    change nothing. An extension replaces the student's earlier one.

    \b
    Example:
      tilelab admin assignment extend-many cs483/tiled extensions.csv
    """
    return import_student_file(EXTENSIONS_FILE, name, file, confirmed, preview=preview)


@verb(assignment, PLACEMENT, STUDENT, "team")
def team(session: Session, on: Target, _: bool) -> Answer:
    """Put a student into a team of COURSE/ASSIGNMENT. A new name makes a team, and "" removes the student.

    What a team submitted before still counts for its members of that time.

    \b
    Example:
      tilelab admin assignment team cs483/tiled ada@university.edu --team 7
    """
    email, name = session.get_one(Person, on.person).email, PLACEMENT.values(session, on).team
    where = f"in team {name}" if name else "in no team"
    return Answer({"email": email, "team": name}, f"{on.assignment.name}: {email} is {where}.")


@assignment.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@file_preview
@answering()
def teams(name: str, file: Path, preview: bool) -> Answer:
    """Put students into the teams in FILE, all of them or none. `-` reads standard input.

    The first line names the columns: email,team. An empty team removes the student. Students who aren't in the file
    keep their team. `tilelab admin export teams` writes the present teams.

    \b
    Example:
      tilelab admin assignment teams cs483/tiled teams.csv --preview
    """
    return import_student_file(TEAMS_FILE, name, file, "", preview=preview)


@assignment.command()
@click.argument("name", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option("--all", "everything", is_flag=True, help="All assignments of all courses.")
@_own_exercises
@_unchecked
@answering()
def update(name: str | None, everything: bool, folder: Path | None, unchecked: bool) -> Answer:
    """Update an assignment to the current version of its exercise.

    Do this after an upgrade of Tilelab, because workers refuse assignments of another version. A course's own exercise
    keeps its files. To replace them, use --exercises with the folder that contains the exercise's folder.

    If the judging changes, waiting submissions are graded by the new version. Verdicts and points stay. Leaderboards
    restart empty until you regrade with `tilelab admin regrade`. Reports assignments that can't be updated, and
    continues; the exit code is then 2.

    \b
    Example:
      tilelab admin assignment update --all
      tilelab admin assignment update cs483/mine --exercises my_exercises
    """
    if everything == (name is not None):
        raise WrongUse("use either COURSE/ASSIGNMENT or --all.")
    if folder is not None and name is None:
        raise WrongUse("--exercises changes one exercise. Use COURSE/ASSIGNMENT, not --all.")
    with database_in_use() as sessions:
        content = None
        if name is not None and folder is not None:
            content = _changed(sessions, name, folder, unchecked=unchecked)
        with sessions.begin() as session:
            names = [assignment_named(session, name).name] if name is not None else [
                one.name for course in courses(session) for one in assignments(session, course)
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
    """Read a course's own exercise again from its folder. Raises WrongUse for Tilelab's exercises."""
    with sessions.begin() as session:
        found = assignment_named(session, name)
        exercise, arch, tile, measured = found.exercise, found.arch, found.tile, bool(found.device_class)
        if exercise.course_id is None:
            raise WrongUse(
                f"{name} uses Tilelab's exercise {exercise.name}, which can't be replaced. To use your own folder, "
                "create another assignment: `tilelab admin assignment set COURSE FOLDER`."
            )
        content = exercise_in(folder, exercise.name)
    if not unchecked:
        check_solution(content, arch, tile, measured=measured)
    return content


def _updated(
    sessions: Sessions, names: list[str], content: Content | None
) -> tuple[dict[str, Updated | None], dict[str, str]]:
    """Update each assignment in its own transaction.

    return: the updates by name (None if it was up to date), and the reasons of refused ones
    """
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
        return "up to date."
    if not update.judges:
        return "updated its files for students. Judging is unchanged."
    more = f", also for {update.waiting:,} waiting submissions" if update.waiting else ""
    return f"updated{more}. Regrade the others with `tilelab admin regrade {name}`."


def _settings_asked_for(given: dict[str, Any], course: Course) -> dict[str, Any]:
    """The given options as settings. Without something to compare, there are no tiers."""
    asked = asked_for(SETTINGS, given, course)
    if "speed_by" in asked and asked["speed_by"] is None:
        asked["speed_tiers"] = ""
    return asked


def _shown(assignment: Assignment) -> dict[str, Any]:
    return {"name": assignment.slug, **plain_values(setting_of(assignment))}
