"""The staff pages of announcements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.acts.act import Act, Target
from server.acts.by_form import change_by_form, form_now, read_values
from server.courses.access import Membership, staff_of
from server.courses.handouts import render_text
from server.courses.local_time import zone_named
from server.courses.service import assignments
from server.courses.staff_pages import Desk, back, desk_of, staff, the_course
from server.http.forms import Form, filled, number_of
from server.http.site import site
from server.talk.announcements import (
    ANNOUNCE,
    CHANGE,
    PUBLISH_AGAIN,
    WITHDRAW,
    NewAnnouncement,
    StaffPart,
    asker_in,
    find_announcement,
    markdown,
    staff_announcements,
)
from server.talk.comments import threads_of
from server.talk.models import Announcement
from server.talk.questions import question_of

PAGE = 20
_ONE = "/announcements/<int(max=9007199254740991):number>"


@dataclass(frozen=True, slots=True)
class AnnouncementsPage:
    """The announcements of a course. places: what one can be about; preview: the form's text as students see it.

    confirm: confirms that the text may show who asked; "" if there is nothing to confirm
    """

    desk: Desk
    part: StaffPart
    after: int
    places: list[tuple[str, str]]
    form: Form
    preview: Markup | None
    confirm: str


@dataclass(frozen=True, slots=True)
class AnnouncementPage:
    """One announcement. preview: the form's text as students see it; None for an invalid one."""

    desk: Desk
    announcement: Announcement
    form: Form
    preview: Markup | None


@staff.get("/announcements")
def show_announcements(slug: str) -> str:
    """Show all announcements, with a form for a new one. thread: of a question whose answer it begins with."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        return _list(session, course, _course(session, course), _begun(session, course))


@staff.post("/announcements")
def publish_announcement(slug: str) -> Response | tuple[str, int]:
    """Publish a new announcement, or preview it."""
    return _written(ANNOUNCE, slug, _course, "announcement-published", _list)


@staff.get(_ONE)
def show_announcement(slug: str, number: int) -> str:
    """Show one announcement, with the form to change it."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        on = _announcement(number, session, course)
        return _one(session, course, on, form_now(CHANGE, session, on))


@staff.post(_ONE)
def change_one(slug: str, number: int) -> Response | tuple[str, int]:
    """Change an announcement, or preview the change."""
    return _written(CHANGE, slug, partial(_announcement, number), "announcement-changed", _one)


@staff.post(f"{_ONE}/withdraw")
def withdraw_announcement(slug: str, number: int) -> Response | tuple[str, int]:
    """Hide an announcement from students."""
    return _written(WITHDRAW, slug, partial(_announcement, number), "announcement-withdrawn")


@staff.post(f"{_ONE}/publish")
def publish_one_again(slug: str, number: int) -> Response | tuple[str, int]:
    """Show a withdrawn announcement again."""
    return _written(PUBLISH_AGAIN, slug, partial(_announcement, number), "announcement-published")


def _written(
    act: Act[Any],
    slug: str,
    find: Callable[[Session, Membership, Form], Target],
    notice: str,
    page: Callable[[Session, Membership, Target, Form], str] | None = None,
) -> Response | tuple[str, int]:
    done = partial(back, "staff.show_announcements", slug, notice)
    return change_by_form(act, slug, find, done, page, preview=request.form.get("do") == "preview")


def _begun(session: Session, course: Membership) -> Form:
    number = number_of(request.args, "thread")
    question = None if number is None else question_of(session, course.course_id, number)
    if question is None:
        return filled({})
    threads = threads_of(session, question.submission_id)
    answer = next((each.answer for each in threads if each.first.id == question.id), "")
    place = question.submission.assignment.slug
    return filled({"place": place, "text": answer, "answers": str(question.id)})


def _preview(form: Form) -> Markup | None:
    return render_text(markdown(form["text"])) if form["text"] and form.right else None


def _list(session: Session, course: Membership, on: Target, form: Form) -> str:
    places = [("", "The whole course"), *((each.slug, each.title) for each in assignments(session, on.course))]
    part = staff_announcements(session, course.course_id, PAGE, number_of(request.args, "before") or 0)
    page = AnnouncementsPage(
        desk_of(course, "announcements"), part,
        part.lines[-1].announcement.id if part.more else 0, places, form, _preview(form),
        _to_confirm(session, on, form),
    )  # fmt: skip
    return render_template("talk/staff_announcements.html", page=page)


def _to_confirm(session: Session, on: Target, form: Form) -> str:
    if "confirm" not in form.mistakes:
        return ""
    given = read_values(form, NewAnnouncement(), zone_named(on.course.time_zone))
    names = asker_in(session, on.course.id, given)
    return "" if names is None else names.digest


def _one(_session: Session, course: Membership, on: Target, form: Form) -> str:
    page = AnnouncementPage(desk_of(course, "announcements"), on.item, form, _preview(form))
    return render_template("talk/staff_announcement.html", page=page)


def _course(session: Session, course: Membership, _: Form | None = None) -> Target:
    return Target(the_course(session, course))


def _announcement(number: int, session: Session, course: Membership, _: Form | None = None) -> Target:
    found = find_announcement(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return Target(the_course(session, course), item=found)
