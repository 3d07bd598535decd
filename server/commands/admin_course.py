"""`tilelab admin course`: courses, who is in them, and what is set."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from server.accounts.service import find_person
from server.audit.service import note
from server.commands.asking import course_named
from server.commands.database import database_in_use
from server.commands.moments import Moment
from server.courses import service
from server.courses.models import Assignment, Course, Role
from server.staff.assignments import set_exercise
from worker.commands.root import Exit, WrongUse, leave

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def course() -> None:
    """Make courses, enrol people, set exercises.

    \b
    Example:
      tilelab admin course add cs483 "Applied Parallel Programming"
      tilelab admin course enrol cs483 ada@university.edu --role instructor
      tilelab admin course assign cs483 tiled --device-class h200 --due 2026-03-01T23:59+01:00
    """  # noqa: D301 - click reads the escape


@course.command()
@click.argument("slug")
@click.argument("title")
def add(slug: str, title: str) -> None:
    """Make a course. SLUG is its name in addresses.

    \b
    Example:
      tilelab admin course add cs483 "Applied Parallel Programming"
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        made = service.create_course(session, slug, title)
        note(session, None, "course.created", f"course {made.slug}", course_id=made.id)
    click.echo(f"Made the course {made.slug}.")
    leave(Exit.ACCEPTED)


@course.command("list")
@click.argument("slug", required=False)
@_as_json
def list_courses(slug: str | None, as_json: bool) -> None:
    """List the courses with what is set in them; of one course also who is in it.

    \b
    Example:
      tilelab admin course list cs483 --json
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = service.courses(session) if slug is None else [course_named(session, slug)]
        shown = [_shown(session, entry, with_members=slug is not None) for entry in found]
    if as_json:
        click.echo(json.dumps(shown if slug is None else shown[0]))
    else:
        for entry in shown:
            _print(entry)
    leave(Exit.ACCEPTED)


@course.command()
@click.argument("slug")
@click.argument("emails", nargs=-1, required=True, metavar="EMAIL...")
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), default="student", show_default=True
)
def enrol(slug: str, emails: tuple[str, ...], role: str) -> None:
    """Take people into a course, or give those in it another role. All of them, or none.

    \b
    Example:
      tilelab admin course enrol cs483 ada@university.edu bob@university.edu
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = course_named(session, slug)
        for email in emails:
            person = find_person(session, email)
            if person is None:
                raise WrongUse(f"Nobody has the email {email}; tilelab admin user add makes someone.")
            service.enrol(session, found, person, Role(role))
            note(session, None, "member.added", f"person {person.id}", course_id=found.id, role=role)
    click.echo(f"Enrolled in {slug} as {role}: {len(emails)}.")
    leave(Exit.ACCEPTED)


@course.command()
@click.argument("slug")
@click.argument("exercise")
@click.option("--name", default="", help="Of the assignment in addresses.  [default: the exercise's]")
@click.option("--title", default="", help="[default: the exercise's]")
@click.option("--device-class", default="", help="What to measure on, such as h200; checked only without.")
@click.option("--arch", default="", help="What to compile for, such as sm_90.  [default: the device class's]")
@click.option("--tile", type=int, help="[default: the exercise's]")
@click.option("--points", type=float, default=0.0, show_default=True)
@click.option("--opens", type=Moment(), help="When students see it.")
@click.option("--due", type=Moment(), help="Until when it is to be handed in.")
@click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
def assign(
    slug: str,
    exercise: str,
    name: str,
    title: str,
    device_class: str,
    arch: str,
    tile: int | None,
    points: float,
    opens: datetime | None,
    due: datetime | None,
    folder: Path | None,
) -> None:
    """Set an exercise in a course, as it is now; `tilelab exercises` shows which there are.

    `tilelab admin assignment set` does the same with every setting that the portal has.

    \b
    Example:
      tilelab admin course assign cs483 tiled --device-class h200 --points 10 --due 2026-03-01T23:59+01:00
    """  # noqa: D301 - click reads the escape
    terms = service.Terms(
        slug=name, title=title, device_class=device_class, arch=arch, tile=tile, points=points,
        opens_at=opens, due_at=due,
    )  # fmt: skip
    with database_in_use() as sessions, sessions.begin() as session:
        found = course_named(session, slug)
        folders = () if folder is None else (folder,)
        made = set_exercise(session, found, None, exercise, terms, folders=folders)
    click.echo(f"Set {slug}/{made.slug}: {made.title}.")
    leave(Exit.ACCEPTED)


def _shown(session: Session, course: Course, *, with_members: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "slug": course.slug,
        "title": course.title,
        "archived": course.archived_at is not None,
        "assignments": [_shown_assignment(entry) for entry in service.assignments(session, course)],
    }
    if with_members:
        shown["members"] = [
            {"email": entry.person.email, "name": entry.person.name, "role": entry.role.value}
            for entry in service.members(session, course)
        ]
    return shown


def _shown_assignment(assignment: Assignment) -> dict[str, Any]:
    return {
        "name": assignment.slug,
        "title": assignment.title,
        "exercise": assignment.exercise.name,
        "device_class": assignment.device_class,
        "arch": assignment.arch,
        "tile": assignment.tile,
        "points": assignment.points,
        "opens_at": None if assignment.opens_at is None else assignment.opens_at.isoformat(),
        "due_at": None if assignment.due_at is None else assignment.due_at.isoformat(),
    }


def _print(shown: dict[str, Any]) -> None:
    click.echo(f"{click.style(shown['slug'], bold=True)}: {shown['title']}")
    for assignment in shown["assignments"]:
        device = assignment["device_class"] or "checked only"
        due = f", due {assignment['due_at']}" if assignment["due_at"] else ""
        click.echo(f"    {assignment['name']}: {assignment['title']} ({device}, {assignment['arch']}{due})")
    for member in shown.get("members", ()):
        click.echo(f"    {member['role']:<10}  {member['email']}  {member['name']}")
