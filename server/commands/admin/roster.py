"""`tilelab admin roster`: a course's people, imported from or exported to a CSV file."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.csv_tables import written
from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.wording import plural
from server.accounts.models import Person
from server.acts.act import Target
from server.assignments.accommodations import ACCOMMODATION
from server.audit.service import note
from server.commands.acts import MEMBER, verb
from server.commands.database import database_in_use, in_session
from server.commands.names import course_named, on_course, person_named
from server.commands.table_file import read_file
from server.courses.models import Course, Membership
from server.courses.service import hold_course
from server.database.engine import Sessions
from server.roster.csv_file import Read, domain_of, read_roster
from server.roster.invitations import invite_all, mail_all
from server.roster.members import CHANGE, DROP, RESTORE
from server.roster.plan import Plan, carry_out, make_plan
from server.roster.service import membership_of, roster_csv
from server.roster.service import roster as read_members
from server.roster.students import add_staff_note, read_notes, remove_staff_note
from server.settings import read_public_url
from server.table_file import Unreadable
from server.text import storable
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse


@click.group()
def roster() -> None:
    """Import a course's roster from a CSV file, export it, or change single people.

    \b
    Example:
      tilelab admin roster import cs483 students.csv --dry-run
      tilelab admin roster export cs483 > roster.csv
      tilelab admin roster drop cs483 bob@university.edu
      tilelab admin roster invitations cs483 > invitations.csv
    """


@roster.command("import")
@click.argument("course")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--drop-others", is_flag=True, help="Drop students who are not in the file; staff stay.")
@click.option("--domain", default="", help="Domain of the logins, for a file without emails.")
@click.option("--yes", is_flag=True, help="Drop without confirmation.")
@answering()
def import_roster(course: str, file: Path, dry_run: bool, drop_others: bool, domain: str, yes: bool) -> Answer:
    """Add the people in FILE to COURSE, all of them or none. `-` reads standard input.

    The first line names the columns: email,name,role,section,student_id. The last three are optional. Takes files of
    Canvas, Moodle, Blackboard and Gradescope as well. Deletes nothing; accounts in use keep their name. If a line has a
    mistake, reports it and changes nothing.

    \b
    Example:
      tilelab admin roster import cs483 students.csv --dry-run
      tilelab admin roster import cs483 canvas.csv --domain university.edu
      tilelab admin roster import cs483 students.csv --drop-others --yes
    """
    read = _read(file, domain)
    with database_in_use() as sessions, sessions.begin() as session:
        found = course_named(session, course)
        plan = make_plan(session, found, read, drop_others=drop_others)
    if plan.drops and not plan.problems and not dry_run and not yes:
        _ask(plan, course, file)
    with database_in_use() as sessions, sessions.begin() as session:
        hold_course(session, found.id)
        plan = _as_shown(make_plan(session, found, read, drop_others=drop_others), plan)
        if not plan.problems and not dry_run:
            carry_out(session, found, plan, None)
    return Answer(
        _shown(plan, done=not plan.problems and not dry_run),
        "" if plan.problems else _text(plan, dry_run=dry_run),
        Exit.WRONG_USE if plan.problems else Exit.ACCEPTED,
        [f"line {one.line}: {one.text}" if one.line else one.text for one in plan.problems],
    )


@roster.command("export")
@on_course()
def export_roster(session: Session, found: Course) -> Answer:
    """Write the roster of COURSE to standard output, in the format of `import`. Leaves out dropped people.

    \b
    Example:
      tilelab admin roster export cs483 > roster.csv
    """
    members = read_members(session, found.id)
    note(session, None, "roster.exported", f"course {found.slug}", course_id=found.id, people=len(members))
    return Answer(
        [
            {
                "email": one.email,
                "name": one.name,
                "role": one.role.value,
                "section": one.section,
                "student_id": one.student_id,
            }
            for one in members
            if one.dropped_at is None
        ],
        roster_csv(members).replace("\r\n", "\n"),
    )


@verb(roster, CHANGE, MEMBER, "role", "section", "student_id", needed=False)
def change(session: Session, on: Target, changed: bool) -> Answer:
    """Change the role, section or student ID of one person in COURSE.

    \b
    Example:
      tilelab admin roster change cs483 ada@university.edu --section B2
      tilelab admin roster change cs483 tom@university.edu --role assistant
    """
    shown = _place(session, on)
    within = f", section {shown['section']}" if shown["section"] else ""
    return Answer(
        shown | {"changed": changed},
        f"{shown['email']} is {'now' if changed else 'already'} {shown['role']}{within} in {on.course.slug}.",
    )


@verb(roster, ACCOMMODATION, MEMBER, "extra_days", "extra_percent", "reason", name="more-time", needed=False)
def more_time(session: Session, on: Target, changed: bool) -> Answer:
    """Give a student of COURSE more time in every assignment, also in later ones. Zero ends it.

    \b
    Example:
      tilelab admin roster more-time cs483 ada@university.edu --percent 50 --reason "office for disabilities"
      tilelab admin roster more-time cs483 ada@university.edu --percent 0 --days 0
    """
    given = ACCOMMODATION.values(session, on)
    shown = {"email": session.get_one(Person, on.person).email, "changed": changed}
    shown |= {"extra_days": given.extra_days, "extra_percent": given.extra_percent}
    words = f"{plural(given.extra_days, 'extra day')} and {given.extra_percent} % more time"
    return Answer(shown, f"{shown['email']} has {words} in every assignment of {on.course.slug}.")


@verb(roster, DROP, MEMBER)
def drop(session: Session, on: Target, _: None) -> Answer:
    """Drop a person from COURSE. Their work stays, and `back` restores them.

    \b
    Example:
      tilelab admin roster drop cs483 bob@university.edu
    """
    shown = _place(session, on)
    return Answer(shown, f"Dropped {shown['email']} from {on.course.slug}.")


@verb(roster, RESTORE, MEMBER)
def back(session: Session, on: Target, _: None) -> Answer:
    """Restore a dropped person of COURSE with their former role.

    \b
    Example:
      tilelab admin roster back cs483 bob@university.edu
    """
    shown = _place(session, on)
    return Answer(shown, f"Restored {shown['email']} in {on.course.slug}.")


@roster.command()
@click.argument("course")
@click.option("--mail", is_flag=True, help="Send each person an e-mail, and write no links.")
@answering()
def invitations(course: str, mail: bool) -> Answer:
    """Create an invitation link for each person in COURSE without a password, and write them as CSV.

    Each link works once, for 14 days. Earlier links stop working. TILELAB_PUBLIC_URL is the portal's address for
    browsers. The dispatcher sends e-mails.

    \b
    Example:
      tilelab admin roster invitations cs483 > invitations.csv
      tilelab admin roster invitations cs483 --mail
    """
    with database_in_use() as sessions:
        if mail:
            return _mailed(sessions, course)
        portal = read_public_url()
        with sessions.begin() as session:
            made = invite_all(session, course_named(session, course), None)
    rows = [{"email": one.email, "name": one.name, "link": f"{portal}{one.path}"} for one in made]
    text = written(("email", "name", "link"), ([*row.values()] for row in rows))
    return Answer(rows, text.replace("\r\n", "\n"))


def _mailed(sessions: Sessions, course: str) -> Answer:
    with sessions.begin() as session:
        asked = [person.email for person in mail_all(session, course_named(session, course), None)]
    return Answer([{"email": email} for email in asked], f"{plural(len(asked), 'invitation')} to send.\n")


@roster.command()
@click.argument("course")
@click.argument("email")
@click.option("--add", metavar="TEXT", help="Add a note.")
@click.option("--remove", type=int, metavar="ID", help="Remove a note.")
@answering()
@in_session
def notes(session: Session, course: str, email: str, add: str | None, remove: int | None) -> Answer:
    """Show course staff's notes about one person in COURSE, the newest first. The person never sees them.

    \b
    Example:
      tilelab admin roster notes cs483 bob@university.edu
      tilelab admin roster notes cs483 bob@university.edu --add "Asked for a tutor."
    """
    found, member = _member_named(session, course, email)
    place = found.id, member.person_id
    if add is not None:
        add_staff_note(session, *place, None, storable(add))
    if remove is not None and not remove_staff_note(session, *place, remove, None):
        raise WrongUse(f"there is no note {remove} about {email}.")
    shown = [
        {
            "id": one.id, "author": None if one.author is None else one.author.name,
            "created_at": one.created_at.isoformat(), "text": one.text,
        }
        for one in read_notes(session, *place)
    ]  # fmt: skip
    rows = [
        (str(one["id"]), f"{one['created_at']}"[:10], one["author"] or "command line", one["text"]) for one in shown
    ]
    text = "\n".join(table([tuple(map(safe, map(str, row))) for row in rows], "><<<"))
    return Answer(shown, text or f"No notes about {email}.")


_MADE_WITH_A_CODE = (
    "            Joined with a code, so the email isn't confirmed. The password and tokens end. "
    "Next: tilelab admin user invite {email}"
)


def _read(file: Path, domain: str) -> Read:
    try:
        return read_roster(read_file(file).text, domain_of(domain))
    except Unreadable as error:
        raise WrongUse(f"{file}: {error}") from error


def _ask(plan: Plan, course: str, file: Path) -> None:
    """Ask for confirmation before students are dropped. Without a terminal, --yes is required."""
    who = f"{plan.drops:,} {'student' if plan.drops == 1 else 'students'} of {course}"
    if str(file) == "-" or not sys.stdin.isatty():
        raise WrongUse(f"this would drop {who}. Preview with --dry-run, or confirm with --yes.")
    click.confirm(f"Drop {who}, who are not in the file?", abort=True, err=True)


def _as_shown(plan: Plan, shown: Plan) -> Plan:
    if plan.digest != shown.digest:
        raise WrongUse("the course has changed meanwhile. Nothing was imported; run this again.")
    return plan


def _shown(plan: Plan, *, done: bool) -> dict[str, Any]:
    return {
        "done": done,
        "counts": dict(plan.counts),
        "changes": [
            {
                "change": entry.change.value, "email": entry.email, "name": entry.name, "role": entry.role.value,
                "section": entry.section, "student_id": entry.student_id, "was": entry.was,
                "needs_invitation": entry.unconfirmed,
            }
            for entry in plan.changes
        ],
        "problems": [asdict(problem) for problem in plan.problems],
    }  # fmt: skip


def _text(plan: Plan, *, dry_run: bool) -> str:
    lines = []
    for entry in plan.changes:
        section = f", section {entry.section}" if entry.section else ""
        before = f" (was {entry.was})" if entry.was else ""
        lines.append(f"{entry.change.value:<10}  {entry.email}  {entry.role.value}{section}{before}")
        if entry.unconfirmed:
            lines.append(_MADE_WITH_A_CODE.format(email=entry.email))
    counts = ", ".join(f"{count} {name}" for name, count in plan.counts.items() if count)
    return "\n".join([*lines, f"{'Dry run, no changes' if dry_run else 'Imported'}: {counts or 'no people'}."])


def _member_named(session: Session, course: str, email: str) -> tuple[Course, Membership]:
    found = course_named(session, course)
    return found, membership_of(session, found, person_named(session, email).id)


def _place(session: Session, on: Target) -> dict[str, Any]:
    member = membership_of(session, on.course, on.person)
    return {
        "email": member.person.email,
        "role": member.role.value,
        "section": member.section,
        "student_id": member.student_id,
        "dropped": member.dropped_at is not None,
    }
