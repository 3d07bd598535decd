"""`tilelab admin course`: courses with their people and assignments."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.text_safety import safe
from kernels.wording import plural
from server.accounts.service import find_person
from server.acts.act import Target
from server.acts.field import plain_values
from server.audit.service import note
from server.commands.acts import asked_for, carry_out, options
from server.commands.admin.assignment import set_exercise
from server.commands.course_times import time_text
from server.commands.database import database_in_use, in_session
from server.commands.names import course_named, on, person_named
from server.commands.revocation import revoke
from server.courses import service
from server.courses.creation import copy_course, days_until
from server.courses.deletion import delete_course, losses_of_course
from server.courses.models import Assignment, Course, Role
from server.courses.settings import COURSE_SETTINGS, settings_of
from server.operations.retention import RETENTION, preview
from server.roster import service as roster
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_on_course = partial(on, "SLUG", course_named)


@click.group()
def course() -> None:
    """Create and change courses, enrol people, create assignments.

    \b
    Example:
      tilelab admin course add cs483 "Applied Parallel Programming"
      tilelab admin course change cs483 --zone America/Chicago
      tilelab admin course copy cs483 cs483-s27 --starts 2027-01-18
      tilelab admin course enrol cs483 ada@university.edu --role instructor
      tilelab admin course code cs483
      tilelab admin course assign cs483 tiled --device-class h200 --due 2026-03-01T23:59
    """


@course.command()
@click.argument("slug")
@click.argument("title")
@answering()
@in_session
def add(session: Session, slug: str, title: str) -> Answer:
    """Create a course. SLUG is its short name for addresses.

    \b
    Example:
      tilelab admin course add cs483 "Applied Parallel Programming"
    """
    made = service.create_course(session, slug, title)
    note(session, None, "course.created", f"course {made.slug}", course_id=made.id)
    shown = _settings(made)
    return Answer(shown, f"Created the course {shown['slug']}.")


@course.command()
@_on_course(options(COURSE_SETTINGS.fields))
def change(session: Session, found: Course, **given: Any) -> Answer:
    """Change a course's settings. Other settings stay unchanged.

    \b
    Example:
      tilelab admin course change cs483 --title "Parallel Programming" --zone America/Chicago
      tilelab admin course change cs483 --late-days 3
      tilelab admin course change cs483 --archived
    """
    asked = asked_for(COURSE_SETTINGS, given, found)
    changed = carry_out(COURSE_SETTINGS, session, Target(found), asked)
    over = f", {plural(found.late_days, 'late day')}" if "late_days" in asked else ""
    over += ", archived" if found.archived_at is not None else ""
    return Answer(
        _settings(found) | {"changed": changed},
        f"{'Changed' if changed else 'Unchanged'} {found.slug}: {found.title} ({found.time_zone}{over}).",
    )


@course.command()
@_on_course(options(RETENTION.fields))
def retention(session: Session, found: Course, **given: Any) -> Answer:
    """Show or set how long a course keeps details of submissions after it is archived.

    Sources, findings, messages and students' experiments go then. Points, verdicts and speeds stay.

    \b
    Example:
      tilelab admin course retention cs483
      tilelab admin course retention cs483 --days 365
      tilelab admin course retention cs483 --days none
    """
    if asked := asked_for(RETENTION, given, found):
        carry_out(RETENTION, session, Target(found), asked)
    shown = preview(session, found, found.retention_days)
    if found.retention_days is None:
        line = f"{found.slug} keeps everything."
    else:
        when = time_text(shown.at, found) if shown.at else f"{found.retention_days} days after it is archived"
        line = (
            f"{found.slug}: details of {plural(shown.submissions, 'submission')}, "
            f"{plural(shown.messages, 'message')} and {plural(shown.experiments, 'experiment')} go: {when}."
        )
    return Answer({"days": found.retention_days, **plain_values(shown)}, line)


@course.command()
@click.argument("slug")
@click.argument("new_slug")
@click.option("--title", help="The copy's title.  [default: the same]")
@click.option("--days", type=int, default=0, help="Days to move all dates.  [default: 0]")
@click.option("--starts", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="First day, instead of --days.")
@click.option("--instructor", metavar="EMAIL", help="Person to add as the copy's instructor.")
@answering()
@in_session
def copy(
    session: Session,
    slug: str,
    new_slug: str,
    title: str | None,
    days: int,
    starts: datetime | None,
    instructor: str | None,
) -> Answer:
    """Copy a course's settings and assignments to NEW_SLUG, without people and submissions.

    --starts moves the first date of an assignment to DAY, and all other dates by as many days.

    \b
    Example:
      tilelab admin course copy cs483 cs483-s27 --starts 2027-01-18 --instructor ada@university.edu
    """
    if days and starts:
        raise WrongUse("use either --days or --starts.")
    found = course_named(session, slug)
    if starts is not None:
        days = days_until(session, found, starts.date())
    person = None if instructor is None else person_named(session, instructor)
    made = copy_course(session, found, None, new_slug, title or found.title, days=days, instructor=person)
    shown = _shown(session, made, with_members=True) | {"days": days}
    return Answer(shown, "\n".join(_lines(session, made, with_members=True)))


@course.command()
@click.argument("slug")
@click.option("--yes", is_flag=True, help="Delete without confirmation.")
@answering()
def delete(slug: str, yes: bool) -> Answer:
    """Delete a course that nothing was submitted to. Accounts stay.

    \b
    Example:
      tilelab admin course delete cs483-test
    """
    with database_in_use() as sessions:
        with sessions.begin() as session:
            losses = losses_of_course(session, course_named(session, slug))
        if not yes:  # outside a transaction: others would wait for the answer
            removed = (
                f"{plural(losses.assignments, 'assignment')}, {plural(losses.exercises, 'exercise')} of its own and "
                f"{plural(losses.members, 'membership')}"
            )
            click.confirm(f"Permanently delete {slug} with {removed}?", abort=True, err=True)
        with sessions.begin() as session:
            tickets = delete_course(session, course_named(session, slug), None)
        revoke(tickets)
    return Answer({"deleted": slug} | asdict(losses), f"Deleted the course {slug}.")


@course.command()
@_on_course()
def code(session: Session, found: Course) -> Answer:
    """Create an enrolment code for students, and print it. An earlier code stops working.

    \b
    Example:
      tilelab admin course code cs483
    """
    made = roster.make_code(session, found, None)
    return Answer({"slug": found.slug, "code": made}, made)


@course.command("no-code")
@_on_course()
def no_code(session: Session, found: Course) -> Answer:
    """Remove the enrolment code. Students can't join by themselves any more.

    \b
    Example:
      tilelab admin course no-code cs483
    """
    roster.withdraw_code(session, found, None)
    return Answer({"slug": found.slug, "code": None}, f"{found.slug} has no enrolment code.")


@course.command("list")
@click.argument("slug", required=False)
@answering()
@in_session
def list_courses(session: Session, slug: str | None) -> Answer:
    """List courses with their assignments. With SLUG, also list the course's people.

    \b
    Example:
      tilelab admin course list cs483 --json
    """
    found = service.courses(session) if slug is None else [course_named(session, slug)]
    shown = [_shown(session, entry, with_members=slug is not None) for entry in found]
    lines = [line for entry in found for line in _lines(session, entry, with_members=slug is not None)]
    return Answer(shown if slug is None else shown[0], "\n".join(lines))


@course.command()
@_on_course(
    click.argument("emails", nargs=-1, required=True, metavar="EMAIL..."),
    click.option("--role", type=click.Choice([role.value for role in Role]), default="student", show_default=True),
)
def enrol(session: Session, found: Course, emails: tuple[str, ...], role: str) -> Answer:
    """Add people to a course, or change their role. Adds all of them, or none.

    \b
    Example:
      tilelab admin course enrol cs483 ada@university.edu bob@university.edu
    """
    for email in emails:
        person = find_person(session, email)
        if person is None:
            raise WrongUse(f"no person with the email {email}. Create an account with `tilelab admin user add`.")
        roster.enrol(session, found, None, person, Role(role))
    told = {"slug": found.slug, "role": role, "enrolled": list(emails)}
    return Answer(told, f"Enrolled in {found.slug} as {role}: {len(emails)}.")


course.add_command(set_exercise, "assign")


def _settings(course: Course) -> dict[str, Any]:
    return {"slug": course.slug, **plain_values(settings_of(course))}


def _shown(session: Session, course: Course, *, with_members: bool) -> dict[str, Any]:
    shown = _settings(course) | {
        "assignments": [_shown_assignment(entry) for entry in service.assignments(session, course)]
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
        "own_exercise": assignment.exercise.course_id is not None,
        "exercise_version": assignment.exercise.version,
        "device_class": assignment.device_class,
        "arch": assignment.arch,
        "tile": assignment.tile,
        "points": assignment.points,
        "opens_at": None if assignment.opens_at is None else assignment.opens_at.isoformat(),
        "due_at": None if assignment.due_at is None else assignment.due_at.isoformat(),
    }


def _lines(session: Session, course: Course, *, with_members: bool) -> list[str]:
    over = " (archived)" if course.archived_at is not None else ""
    lines = [f"{click.style(course.slug, bold=True)}: {safe(course.title)}{over}"]
    for one in service.assignments(session, course):
        due = f", due {time_text(one.due_at, course)}" if one.due_at else ""
        device = one.device_class or "not measured"
        lines.append(f"    {one.slug}: {safe(one.title)} ({device}, {one.arch}{due})")
    if with_members:
        lines += [
            f"    {entry.role.value:<10}  {safe(entry.person.email)}  {safe(entry.person.name)}"
            for entry in service.members(session, course)
        ]
    return lines
