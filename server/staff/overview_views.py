"""The staff's overview and the course's settings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import Role
from server.courses.service import assignments_for
from server.http.forms import Form
from server.http.site import site
from server.staff.acts.act import Target
from server.staff.acts.by_form import change_by_form, form_now
from server.staff.attention import SOON, Attention, attention
from server.staff.audit_log import Entries, read_entries
from server.staff.course_settings import COURSE_SETTINGS, zones
from server.staff.desk import Desk, back, desk_of, staff, the_course
from server.staff.progress.forecast import forecast
from server.staff.progress.states import Bar, bars
from server.staff.submissions.queries import Part, SubmissionCriteria, listing
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
        on = _course(session, course)
        return _settings(session, course, on, form_now(COURSE_SETTINGS, session, on))


@staff.post("/settings")
def change_settings(slug: str) -> Response | tuple[str, int]:
    """Save the settings."""
    done = partial(back, "staff.show_settings", slug, "course-saved")
    return change_by_form(COURSE_SETTINGS, slug, _course, done, _settings)


def _forecast(session: Session, found: list[Bar], now: datetime) -> str:
    """The forecast before the next deadline within a week."""
    ahead = [(bar.assignment.due_at, bar) for bar in found if bar.assignment.due_at is not None]
    near = sorted(((due, bar) for due, bar in ahead if now < due <= now + SOON), key=lambda one: one[0])
    return f"{near[0][1].assignment.title}: {forecast(session, near[0][1], now)}" if near else ""


def _course(session: Session, course: Membership, _: Form | None = None) -> Target:
    return Target(the_course(session, course))


def _settings(_session: Session, course: Membership, _on: Target, form: Form) -> str:
    names = sorted({*zones(), course.time_zone})
    page = SettingsPage(desk_of(course, "overview"), form, [(name, name) for name in names])
    return render_template("staff/settings.html", page=page, fields=COURSE_SETTINGS.by_name)
