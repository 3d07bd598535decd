"""`tilelab admin announce`: announcements on a course or an assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.acts.act import Target, assignment_target
from server.commands.acts import Named, carry_out, verb
from server.commands.course_times import clock_text, zone_of
from server.commands.database import in_session
from server.commands.names import assignment_named, course_named
from server.courses.models import Course
from server.talk.announcements import (
    ANNOUNCE,
    CHANGE,
    LONGEST_TEXT,
    PUBLISH_AGAIN,
    WITHDRAW,
    NewAnnouncement,
    StaffLine,
    find_announcement,
    staff_announcements,
)
from server.talk.models import Announcement
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_MOST_BYTES = 4 * LONGEST_TEXT + 1
_file = click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)
_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group()
def announce() -> None:
    """Write, change and withdraw announcements on a course or an assignment.

    \b
    Example:
      tilelab admin announce add cs483 "Midterm on Friday" midterm.md
      tilelab admin announce add cs483/tiled "Later deadline" -
      tilelab admin announce list cs483
      tilelab admin announce withdraw cs483 3
    """


@announce.command("list")
@click.argument("course")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000))
@answering()
@in_session
def list_all(session: Session, course: str, limit: int) -> Answer:
    """List the announcements of COURSE, newest first.

    \b
    Example:
      tilelab admin announce list cs483
    """
    of = course_named(session, course)
    part = staff_announcements(session, of.id, limit)
    head = ["number", "written", "about", "title", "seen by"]
    rows = [_row(line, of, part.students) for line in part.lines]
    text = "\n".join(table([head, *rows], "><<<<")) if rows else f"No announcements in {course} yet."
    return Answer([_shown(line.announcement, seen=line.seen) for line in part.lines], text)


@announce.command()
@click.argument("name", metavar="COURSE[/ASSIGNMENT]")
@click.argument("title")
@click.argument("file", type=_file)
@answering()
@in_session
def add(session: Session, name: str, title: str, file: Path) -> Answer:
    """Publish the Markdown in FILE. `-` reads standard input.

    \b
    Example:
      tilelab admin announce add cs483 "Midterm on Friday" midterm.md
      echo "Submit until Monday." | tilelab admin announce add cs483/tiled "Later deadline" -
    """
    on = assignment_target(assignment_named(session, name)) if "/" in name else Target(course_named(session, name))
    given = NewAnnouncement(title=title, text=_read(file), assignment=name.partition("/")[2])
    made = ANNOUNCE.carry_out(session, on, None, lambda _: given)
    return Answer(_shown(made), f"Published announcement {made.id}.")


@announce.command()
@click.argument("course")
@_number
@click.option("--title", help="New title.  [default: unchanged]")
@click.option("--file", type=_file, help="File with the new text; - for standard input.  [default: unchanged]")
@click.option("--again", is_flag=True, help="Show it as new to everyone.")
@answering()
@in_session
def change(session: Session, course: str, number: int, title: str | None, file: Path | None, again: bool) -> Answer:
    """Change announcement NUMBER of COURSE.

    \b
    Example:
      tilelab admin announce change cs483 3 --file midterm.md --again
    """
    on = _announcement(session, course, number)
    given: dict[str, Any] = {"title": title, "text": None if file is None else _read(file), "again": again}
    asked = {name: value for name, value in given.items() if value is not None}
    changed = carry_out(CHANGE, session, on, asked)
    return Answer(_shown(on.item), "Announcement changed." if changed else "Nothing to change.")


def _announcement(session: Session, course: str, number: int) -> Target:
    of = course_named(session, course)
    found = find_announcement(session, of.id, number)
    if found is None:
        raise WrongUse(f"no announcement {number}. `tilelab admin announce list {of.slug}` shows all.")
    return Target(of, item=found)


_ANNOUNCEMENT = Named((click.argument("course"), _number), _announcement)


@verb(announce, WITHDRAW, _ANNOUNCEMENT)
def withdraw(_session: Session, on: Target, _: None) -> Answer:
    """Hide announcement NUMBER of COURSE from students.

    \b
    Example:
      tilelab admin announce withdraw cs483 3
    """
    return Answer(_shown(on.item), f"Announcement {on.item.id} is withdrawn. Students no longer see it.")


@verb(announce, PUBLISH_AGAIN, _ANNOUNCEMENT)
def publish(_session: Session, on: Target, _: None) -> Answer:
    """Show the withdrawn announcement NUMBER of COURSE again.

    \b
    Example:
      tilelab admin announce publish cs483 3
    """
    return Answer(_shown(on.item), f"Announcement {on.item.id} is published.")


def _read(file: Path) -> str:
    with click.open_file(str(file), "rb") as opened:
        content: bytes = opened.read(_MOST_BYTES)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(content) == _MOST_BYTES:
            return content.decode("utf-8", "replace")
        raise WrongUse("the text isn't UTF-8. Save the file as UTF-8.") from error


def _row(line: StaffLine, course: Course, students: int) -> list[str]:
    one = line.announcement
    about = "course" if one.assignment is None else one.assignment.slug
    state = "withdrawn" if one.withdrawn_at else f"{line.seen} of {students}"
    return [str(one.id), clock_text(one.created_at, zone_of(course)), about, safe(one.title), state]


def _shown(one: Announcement, **more: Any) -> dict[str, Any]:
    return {
        "number": one.id,
        "assignment": None if one.assignment is None else one.assignment.slug,
        "title": one.title,
        "text": one.text,
        "author": None if one.author is None else one.author.email,
        "created_at": one.created_at.isoformat(),
        "changed_at": None if one.changed_at is None else one.changed_at.isoformat(),
        "withdrawn": one.withdrawn_at is not None,
        **more,
    }
