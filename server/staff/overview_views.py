"""The staff's overview and the course's settings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import Course, Role
from server.courses.service import CourseError, assignments_for, hold_course
from server.http.forms import Form, sent
from server.http.site import site
from server.staff.assignments.setting_form import whole
from server.staff.attention import SOON, Attention, attention
from server.staff.audit_log import Entries, read_entries
from server.staff.course_settings import change_course, zones
from server.staff.desk import Desk, acting, back, desk_of, staff, the_course
from server.staff.form_merge import SHOWN, merge, shown_form
from server.staff.progress.forecast import forecast
from server.staff.progress.states import Bar, bars
from server.staff.submissions.criteria import SubmissionCriteria
from server.staff.submissions.queries import Part, listing
from server.talk.comments.queries import count_open
from server.talk.requests.queries import count_requests

_LAST = 5


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """The overview of a course. forecast: of the queue before the next deadline; "" for none.

    questions, requests: how many wait for an answer
    """

    desk: Desk
    attention: Attention
    bars: list[Bar]
    forecast: str
    last: Part
    entries: Entries
    questions: int
    requests: int


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """A course's settings."""

    desk: Desk
    form: Form
    zones: list[tuple[str, str]]


@staff.get("/")
def overview(slug: str) -> str:
    """Show what needs attention."""
    course = staff_of(slug)
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        found = bars(session, course.course_id, assignments_for(session, course.course_id, Role.STUDENT, now))
        page = OverviewPage(
            desk_of(course, "overview"), attention(session, course.course_id, now), found,
            _forecast(session, found, now),
            listing(session, course.course_id, SubmissionCriteria(), limit=_LAST),
            read_entries(session, course.course_id, limit=_LAST),
            count_open(session, course.course_id), count_requests(session, course.course_id),
        )  # fmt: skip
    return render_template("staff/overview.html", page=page)


@staff.get("/settings")
def show_settings(slug: str) -> str:
    """Show the course's title, time zone and archived state."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        return _settings(course, shown_form(_saved(the_course(session, course))))


@staff.post("/settings")
def change_settings(slug: str) -> str | Response | tuple[str, int]:
    """Save the settings."""
    course = instructor_of(slug)
    form = sent("title", "zone", "late_days", "archived", SHOWN)
    try:
        with site().sessions.begin() as session:
            hold_course(session, course.course_id)
            row = the_course(session, course)
            outdated = merge(form, _saved(row))
            days = whole(form, "late_days")
            if form.right:
                change_course(
                    session, row, acting(session), title=form["title"], zone=form["zone"],
                    archived=form.checked("archived"), late_days=days,
                )  # fmt: skip
    except CourseError as error:
        form.mistake(next(iter(error.fields), "title"), str(error))
    if not form.right:
        return _settings(course, form), 409 if outdated else 422
    return back("staff.show_settings", slug, "course-saved")


def _forecast(session: Session, found: list[Bar], now: datetime) -> str:
    """The forecast before the next deadline within a week."""
    ahead = [(bar.assignment.due_at, bar) for bar in found if bar.assignment.due_at is not None]
    near = sorted(((due, bar) for due, bar in ahead if now < due <= now + SOON), key=lambda one: one[0])
    return f"{near[0][1].assignment.title}: {forecast(session, near[0][1], now)}" if near else ""


def _saved(course: Course) -> dict[str, str]:
    """The form's values for the present settings."""
    return {
        "title": course.title,
        "zone": course.time_zone,
        "late_days": str(course.late_days),
        "archived": "yes" if course.archived_at is not None else "",
    }


def _settings(course: Membership, form: Form) -> str:
    names = sorted({*zones(), course.time_zone})
    page = SettingsPage(desk_of(course, "overview"), form, [(name, name) for name in names])
    return render_template("staff/settings.html", page=page)
