"""The roster's page."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.accounts.access import nothing_here
from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.by_form import change_by_form
from server.audit.service import note
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import CourseInvitation, Role
from server.courses.service import hold_course
from server.courses.staff_pages import Desk, acting, asked, back, desk_of, looked_for, mistakes_noted, staff, the_course
from server.enrolment.authority import barriers
from server.enrolment.course_invitations import invitations_in, withdraw
from server.http.forms import Form, filled, sent
from server.http.site import site, site_address
from server.roster.csv_file import MOST_LINES, Read, UnknownColumns, domain_of, read_roster
from server.roster.invitations import HandedOut, hand_out, invite_all, mail_all
from server.roster.members import CHANGE, DROP, RESTORE, ROLES
from server.roster.plan import Plan, carry_out, make_plan
from server.roster.service import (
    STATES,
    Member,
    Wanted,
    add,
    is_wanted,
    last_submissions,
    make_code,
    membership_of,
    roster,
    roster_csv,
    sections,
    withdraw_code,
)
from server.table_file import MOST_BYTES, Source, Unreadable, decoded

PAGE = 50


@dataclass(frozen=True, slots=True)
class Part:
    """A page of a roster. fit: matches on all pages; number: from 1."""

    members: Sequence[Member]
    fit: int
    number: int
    pages: int


@dataclass(frozen=True, slots=True)
class RosterPage:
    """code: the enrolment code; None for none. uninvited: how many members the viewer can invite.

    last: each member's last submission
    invited: people with an account who haven't accepted an invitation
    barred: members for whose accounts the viewer can't create links
    """

    desk: Desk
    part: Part
    last: Mapping[int, datetime]
    wanted: Form
    sections: list[str]
    form: Form
    code: str | None
    counts: dict[str, int]
    uninvited: int
    barred: frozenset[int]
    invited: Sequence[CourseInvitation] = ()
    link: HandedOut | None = None
    host: str = ""


@staff.get("/roster")
def show_roster(slug: str) -> str | tuple[str, int]:
    """List the members; none if the filter is invalid."""
    page = _page(staff_of(slug), filled({"role": Role.STUDENT.value}))
    return _html(page) if page.wanted.right else (_html(page), 422)


@staff.get("/roster.csv")
def export_roster(slug: str) -> Response:
    """Export the roster as CSV, for importing it again."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        members = roster(session, course.course_id)
    with site().sessions.begin() as session:
        subject = f"course {course.slug}"
        note(session, acting(session), "roster.exported", subject, course_id=course.course_id, people=len(members))
    text = roster_csv(members)
    return csv_answer(text, f"{course.slug}-roster.csv")


@staff.post("/roster")
def add_member(slug: str) -> str | Response | tuple[str, int]:
    """Add one person."""
    course = instructor_of(slug)
    form = sent("email", "name", "role", "section", "student_id")
    role = _role(form)
    if not form["name"]:
        form.mistake("name", "Enter a name.")
    if form.right and role is not None:
        with mistakes_noted(form, "email"), site().sessions.begin() as session:
            member = add(
                session, the_course(session, course), acting(session), email=form["email"], name=form["name"],
                role=role, section=form["section"], student_id=form["student_id"],
            )  # fmt: skip
            return back("staff.show_roster", slug, "member-invited" if member is None else "member-added")
    return _html(_page(course, form)), 422


@staff.post("/roster/<int(max=9007199254740991):person>")
def change_member(slug: str, person: int) -> Response | tuple[str, int]:
    """Save a member's role, section and student ID."""
    return _carry_out(CHANGE, slug, person, "member-changed")


@staff.post("/roster/<int(max=9007199254740991):person>/drop")
def drop_member(slug: str, person: int) -> Response | tuple[str, int]:
    """Drop a member; deletes nothing."""
    return _carry_out(DROP, slug, person, "member-dropped")


@staff.post("/roster/<int(max=9007199254740991):person>/take-back")
def take_member_back(slug: str, person: int) -> Response | tuple[str, int]:
    """Restore a dropped member."""
    return _carry_out(RESTORE, slug, person, "member-back")


@staff.post("/roster/<int(max=9007199254740991):person>/link")
def make_link(slug: str, person: int) -> str:
    """Create a password link, and show it in this answer only."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        row = the_course(session, course)
        membership_of(session, row, person)
        link = hand_out(session, row, acting(session), session.get_one(Person, person))
    return _html(_page(course, filled({"role": Role.STUDENT.value}), link))


@staff.post("/roster/invitations.csv")
def make_invitations(slug: str) -> Response:
    """Create a link for each member without a password, as CSV."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        links = invite_all(session, the_course(session, course), acting(session))
    rows = ([link.email, link.name, f"{site_address()}{link.path}"] for link in links)
    return csv_answer(written(("email", "name", "link"), rows), f"{course.slug}-invitations.csv")


@staff.post("/roster/invitations/mail")
def mail_invitations(slug: str) -> Response:
    """Let the mailer send an invitation to each member without a password."""
    course = instructor_of(slug)
    if site().settings.mail is None:
        raise nothing_here()
    with site().sessions.begin() as session:
        mail_all(session, the_course(session, course), acting(session))
    return back("staff.show_roster", slug, "invitations-mailed")


@staff.post("/roster/invited/<int(max=9007199254740991):number>/withdraw")
def withdraw_invitation(slug: str, number: int) -> Response:
    """Withdraw an invitation to a person with an account."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        withdraw(session, the_course(session, course), acting(session), number)
    return back("staff.show_roster", slug, "invitation-withdrawn")


@staff.post("/roster/code")
def change_code(slug: str) -> Response:
    """Create or withdraw the enrolment code."""
    course = instructor_of(slug)
    withdraw = request.form.get("do") == "withdraw"
    with site().sessions.begin() as session:
        (withdraw_code if withdraw else make_code)(session, the_course(session, course), acting(session))
    return back("staff.show_roster", slug, "code-withdrawn" if withdraw else "code-made")


def csv_answer(text: str, name: str) -> Response:
    """A CSV download. It begins with a byte order mark, by which spreadsheets detect UTF-8."""
    answer = Response("\N{ZERO WIDTH NO-BREAK SPACE}" + text, mimetype="text/csv")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _page(course: Membership, form: Form, link: HandedOut | None = None) -> RosterPage:
    wanted = looked_for(request.args, "text", "section", "state")
    wanted.values["state"] = wanted["state"] or "here"
    wanted.choose("state", STATES)
    with site().readers.begin() as session:
        everybody = roster(session, course.course_id)
        there_are = sections(session, course.course_id)
        wanted.choose("section", [("", "All"), *((one, one) for one in there_are)])
        fits = Wanted(wanted["text"], section=wanted["section"], state=wanted["state"])
        shown = [one for one in everybody if is_wanted(one, fits)] if wanted.right else []
        part = part_of(shown, asked("page", 6))
        last = last_submissions(session, course.course_id, part.members)
        invited = {one.person_id for one in everybody if one.dropped_at is None and not one.has_password}
        barred = _barred(session, course, invited | {one.person_id for one in part.members})
        code = the_course(session, course).enrolment_code
        waiting = invitations_in(session, course.course_id)
    here = [one for one in everybody if one.dropped_at is None]
    counts = {role.value: sum(one.role is role for one in here) for role in Role}
    return RosterPage(
        desk_of(course, "roster"), part, last, wanted, there_are, form, code,
        counts | {"dropped": len(everybody) - len(here)}, len(invited - barred), barred, waiting, link, site_address(),
    )  # fmt: skip


def _barred(session: Session, course: Membership, numbers: set[int]) -> frozenset[int]:
    """People for whose accounts the viewer can't create links; empty for assistants, who create none."""
    if not course.is_instructor:
        return frozenset()
    return frozenset(barriers(session, acting(session), sorted(numbers)))


def _html(page: RosterPage) -> str:
    offered = [(one, one) for one in page.sections]
    return render_template("roster/roster.html", page=page, roles=ROLES, states=STATES, sections=offered)


def sections_of(session: Session, course_id: int) -> list[tuple[str, str]]:
    """The sections to choose from, with all of them as the first choice."""
    return [("", "All"), *((one, one) for one in sections(session, course_id))]


def part_of(members: Sequence[Member], asked_for: str) -> Part:
    """The requested page; the first or last if there is no such page."""
    pages = max(1, -(-len(members) // PAGE))
    number = int(asked_for) if asked_for.isascii() and asked_for.isdecimal() else 1
    number = min(max(1, number), pages)
    return Part(members[PAGE * (number - 1) : PAGE * number], len(members), number, pages)


def _carry_out(act: Act[Any], slug: str, person: int, notice: str) -> Response | tuple[str, int]:
    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), people=(person,))

    return change_by_form(act, slug, find, partial(back, "staff.show_roster", slug, notice))


def _role(form: Form) -> Role | None:
    try:
        return Role(form["role"])
    except ValueError:
        form.mistake("role", "This role doesn’t exist. Choose student, assistant or instructor.")
        return None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportPage:
    """What a file would change.

    plan: the changes; None before a file is sent
    read: the file's content
    columns: names to choose from, if the file doesn't show which column has the emails or the names
    """

    desk: Desk
    form: Form
    plan: Plan | None = None
    read: Read | None = None
    outdated: bool = False
    columns: Sequence[str] = ()


@staff.get("/roster/import")
def import_roster(slug: str) -> str:
    """Show the form for a file."""
    return _import_page(ImportPage(desk_of(instructor_of(slug), "roster"), filled({})))


@staff.post("/roster/import")
def preview_roster(slug: str) -> str | tuple[str, int]:
    """Preview the file's changes; changes nothing."""
    course = instructor_of(slug)
    form, read, columns = _sent_roster()
    if read is None:
        return _import_page(ImportPage(desk_of(course, "roster"), form, columns=columns)), 422
    return show_preview(course, form, read)


@staff.post("/roster/apply")
def apply_roster(slug: str) -> str | Response | tuple[str, int]:
    """Apply the previewed changes; if the course changed meanwhile, show a new preview instead."""
    course = instructor_of(slug)
    form, read, columns = _sent_roster()
    if read is None:
        return _import_page(ImportPage(desk_of(course, "roster"), form, columns=columns)), 422
    with site().sessions.begin() as session:
        hold_course(session, course.course_id)
        row = the_course(session, course)
        plan = make_plan(session, row, read, drop_others=form.checked("drop"), actor=acting(session))
        shown = request.form.get("digest", "")
        as_shown = hmac.compare_digest(shown.encode(), plan.digest.encode())
        if as_shown and not plan.problems:
            carry_out(session, row, plan, acting(session))
            return back("staff.show_roster", slug, "roster-imported")
    return show_preview(course, form, read, outdated=not as_shown)


def show_preview(course: Membership, form: Form, read: Read, *, outdated: bool = False) -> str | tuple[str, int]:
    """The page with the changes that a roster would make; changes nothing."""
    with site().readers.begin() as session:
        plan = make_plan(
            session, the_course(session, course), read, drop_others=form.checked("drop"), actor=acting(session)
        )
    if not plan.problems:
        form.values["text"] = read.text
    page = _import_page(ImportPage(desk_of(course, "roster"), form, plan, read, outdated))
    return (page, 422) if plan.problems else (page, 409) if outdated else page


def _sent_roster() -> tuple[Form, Read | None, Sequence[str]]:
    """The form, the roster, and the columns to choose from if it couldn't be read without that."""
    form = filled({name: request.form.get(name, "") for name in ("text", "drop", "domain", "email", "name")})
    chosen = {key: form[key] for key in ("email", "name") if form[key]}
    domain, columns = "", list[str]()

    def read(text: str) -> Read:
        try:
            return read_roster(text, domain, chosen)
        except UnknownColumns as error:
            columns.extend(error.columns)
            raise

    try:
        domain = domain_of(form["domain"])
    except Unreadable as error:
        form.mistake("domain", str(error))
    found = sent_table(form, read)
    return form, found if form.right else None, columns


def sent_table(form: Form, read: Callable[[str], T]) -> T | None:
    """Read the sent file or the pasted text; adds mistakes to the form."""
    content = sent_file()
    try:
        source = decoded(content) if content else Source(form.values["text"])
        form.values |= {"text": source.text, "encoding": source.encoding}
        if not form["text"]:
            form.mistake("file", "Choose a file, or paste its lines below.")
            return None
        return read(source.text)
    except Unreadable as error:
        form.mistake("file" if content else "text", str(error))
        return None


def sent_file() -> bytes:
    """The sent file, cut off above the limit; empty for none."""
    file = request.files.get("file")
    return b"" if file is None else file.read(MOST_BYTES + 1)


def _import_page(page: ImportPage) -> str:
    roles = ", ".join(role.value for role in Role)
    offered = [("", "Recognized, or not in the file"), *((name, name) for name in page.columns)]
    return render_template("roster/import.html", page=page, roles=roles, most=MOST_LINES, columns=offered)
