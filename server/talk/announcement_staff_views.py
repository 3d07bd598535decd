"""The staff pages of announcements."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.courses.access import Membership, staff_of
from server.courses.handouts import render_text
from server.courses.models import Assignment
from server.courses.service import CourseError, assignments, find_assignment
from server.courses.staff_pages import Desk, acting, back, desk_of, staff, the_course
from server.http.forms import Form, filled, number_of, sent
from server.http.site import site
from server.talk.announcements import (
    StaffPart,
    Written,
    announce,
    change_announcement,
    find_announcement,
    publish_again,
    staff_announcements,
    withdraw,
    written,
    wrong_announcement,
)
from server.talk.models import Announcement

PAGE = 20
_ONE = "/announcements/<int(max=9007199254740991):number>"


@dataclass(frozen=True, slots=True)
class AnnouncementsPage:
    """The announcements of a course. places: what one can be about; preview: the form's text as students see it."""

    desk: Desk
    part: StaffPart
    after: int
    places: list[tuple[str, str]]
    form: Form
    preview: Markup | None


@dataclass(frozen=True, slots=True)
class AnnouncementPage:
    """One announcement. preview: the form's text as students see it; None for an invalid one."""

    desk: Desk
    announcement: Announcement
    form: Form
    preview: Markup | None


@staff.get("/announcements")
def show_announcements(slug: str) -> str:
    """Show all announcements, with a form for a new one."""
    return _list(staff_of(slug), filled({}), None)


@staff.post("/announcements")
def publish_announcement(slug: str) -> Response | str | tuple[str, int]:
    """Publish a new announcement, or preview it."""
    course = staff_of(slug)
    form = sent("title", "text", "place", "do")
    given = _given(form)
    try:
        if form.right and form["do"] != "preview":
            with site().sessions.begin() as session:
                about = _assignment(session, course, form)
                announce(session, course.course_id, about, acting(session), given)
            return back("staff.show_announcements", slug, "announcement-published")
    except CourseError as error:
        form.mistake("title", str(error))
    return _answered(_list(course, form, given), form)


@staff.get(_ONE)
def show_announcement(slug: str, number: int) -> str:
    """Show one announcement, with the form to change it."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = _announcement(session, course, number)
        form = filled({"title": found.title, "text": found.text})
    return _one(course, number, form, Written(found.title, found.text))


@staff.post(_ONE)
def change_one(slug: str, number: int) -> Response | str | tuple[str, int]:
    """Change an announcement, or preview the change."""
    course = staff_of(slug)
    form = sent("title", "text", "again", "do")
    given = _given(form)
    try:
        if form.right and form["do"] != "preview":
            with site().sessions.begin() as session:
                found = _announcement(session, course, number)
                change_announcement(session, found, acting(session), given, again=form.checked("again"))
            return back("staff.show_announcements", slug, "announcement-changed")
    except CourseError as error:
        form.mistake("title", str(error))
    return _answered(_one(course, number, form, given), form)


@staff.post(f"{_ONE}/withdraw")
def withdraw_announcement(slug: str, number: int) -> Response:
    """Hide an announcement from students."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        withdraw(session, _announcement(session, course, number), acting(session))
    return back("staff.show_announcements", slug, "announcement-withdrawn")


@staff.post(f"{_ONE}/publish")
def publish_one_again(slug: str, number: int) -> Response:
    """Show a withdrawn announcement again."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        publish_again(session, _announcement(session, course, number), acting(session))
    return back("staff.show_announcements", slug, "announcement-published")


def _given(form: Form) -> Written:
    given = written(form["title"], form["text"])
    for name, text in wrong_announcement(given).items():
        form.mistake(name, text)
    return given


def _answered(html: str, form: Form) -> str | tuple[str, int]:
    return html if form.right else (html, 422)


def _preview(form: Form, given: Written | None) -> Markup | None:
    return render_text(given.text) if given is not None and form.right else None


def _list(course: Membership, form: Form, given: Written | None) -> str:
    with site().readers.begin() as session:
        here = assignments(session, the_course(session, course))
        places = [("", "The whole course"), *((each.slug, each.title) for each in here)]
        part = staff_announcements(session, course.course_id, PAGE, number_of(request.args, "before") or 0)
        page = AnnouncementsPage(
            desk_of(course, "announcements"), part,
            part.lines[-1].announcement.id if part.more else 0, places, form, _preview(form, given),
        )  # fmt: skip
        return render_template("talk/staff_announcements.html", page=page)


def _one(course: Membership, number: int, form: Form, given: Written) -> str:
    with site().readers.begin() as session:
        found = _announcement(session, course, number)
        page = AnnouncementPage(desk_of(course, "announcements"), found, form, _preview(form, given))
        return render_template("talk/staff_announcement.html", page=page)


def _announcement(session: Session, course: Membership, number: int) -> Announcement:
    found = find_announcement(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found


def _assignment(session: Session, course: Membership, form: Form) -> Assignment | None:
    if not form["place"]:
        return None
    found = find_assignment(session, f"{course.slug}/{form['place']}")
    if found is None:
        raise CourseError("This assignment doesn’t exist. Choose another one.")
    return found
