"""Pages of a course for its staff: the overview with its settings; create, copy and delete courses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Blueprint, Response, render_template, url_for
from sqlalchemy.orm import Session

from server.accounts.access import admin, course_creator, nothing_here
from server.accounts.models import Person
from server.accounts.service import find_person
from server.acts.act import Target
from server.acts.by_form import change_by_form, form_now
from server.assignments.staff_views import assignment_of
from server.class_progress.forecast import forecast
from server.class_progress.states import Bar, bars
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.attention import SOON, Attention, attention
from server.courses.audit_log import Entries, read_entries
from server.courses.creation import allow, creators, disallow, found_course
from server.courses.deletion import Losses, delete_assignment, delete_course, losses_of_assignment, losses_of_course
from server.courses.service import CourseError
from server.courses.settings import COURSE_SETTINGS, zones
from server.courses.staff_pages import Desk, acting, back, desk_of, mistakes_noted, staff, the_course
from server.http.forms import Form, filled, sent
from server.http.numbers import zone_of
from server.http.site import site
from server.regrades.requests import count_requests
from server.submissions.changes import revoke
from server.submissions.course_submissions import Part, listing
from server.submissions.criteria import SubmissionCriteria
from server.talk.questions import count_open

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
        found = bars(session, course.course_id, now)
        page = OverviewPage(
            desk_of(course, "overview"), attention(session, course.course_id, now), found,
            _forecast(session, found, now),
            listing(session, course.course_id, SubmissionCriteria(), limit=_LAST),
            read_entries(session, course.course_id, limit=_LAST),
            count_open(session, course.course_id), count_requests(session, course.course_id),
        )  # fmt: skip
    return render_template("courses/overview.html", page=page)


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
    return render_template("courses/settings.html", page=page, fields=COURSE_SETTINGS.by_name)


new_courses = Blueprint("new_courses", __name__, url_prefix="/new-course")


@dataclass(frozen=True, slots=True)
class Creator:
    """A person who may create courses."""

    person_id: int
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class NewCoursePage:
    """The form for a new course. creators: only for operators; None for other people."""

    form: Form
    zones: list[tuple[str, str]]
    people_form: Form
    creators: list[Creator] | None


@new_courses.get("")
def new_course() -> str:
    """Show the form for a new course."""
    course_creator()
    return _creation_page(filled({"zone": zone_of().key}))


@new_courses.post("")
def create() -> Response | tuple[str, int]:
    """Create a course. The reader becomes its instructor."""
    course_creator()
    form = sent("slug", "title", "zone")
    with mistakes_noted(form, "slug"), site().sessions.begin() as session:
        made = found_course(session, acting(session), form["slug"], form["title"], form["zone"]).slug
    if form.right:
        return back("staff.overview", made, "course-created")
    return _creation_page(form), 422


@new_courses.post("/people")
def add_creator() -> Response | tuple[str, int]:
    """Let a person create courses."""
    admin()
    form = sent("email")
    with site().sessions.begin() as session:
        person = find_person(session, form["email"])
        if person is None:
            form.mistake("email", "No account has this email.")
        else:
            with mistakes_noted(form, "email"):
                allow(session, person, acting(session))
    return _changed("creator-added") if form.right else (_creation_page(filled({"zone": "UTC"}), form), 422)


@new_courses.post("/people/<int:person>/remove")
def remove_creator(person: int) -> Response:
    """End a person's right to create courses."""
    admin()
    with site().sessions.begin() as session:
        found = session.get(Person, person)
        if found is None:
            raise nothing_here()
        disallow(session, found, acting(session))
    return _changed("creator-removed")


def _changed(notice: str) -> Response:
    return Response(status=303, headers={"Location": f"/new-course?notice={notice}"})


def _creation_page(form: Form, people_form: Form | None = None) -> str:
    found = None
    if course_creator().admin:
        with site().readers.begin() as session:
            found = [Creator(one.id, one.name, one.email) for one in creators(session)]
    names = [(name, name) for name in sorted({*zones(), form["zone"] or "UTC"})]
    page = NewCoursePage(form, names, people_form or filled({}), found)
    return render_template("courses/new_course.html", page=page)


@dataclass(frozen=True, slots=True)
class DeletionPage:
    """What would be deleted. losses: None if it can't be; refused: the reason then. there: the page to return to."""

    desk: Desk
    title: str
    of_course: bool
    losses: Losses | None
    refused: str
    there: str


@staff.get("/assignments/<assignment>/delete")
def confirm_assignment_deletion(slug: str, assignment: str) -> str:
    """Show what deleting the assignment removes, or why it is impossible."""
    course = instructor_of(slug)
    losses, refused = None, ""
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        try:
            losses = losses_of_assignment(session, found)
        except CourseError as error:
            refused = str(error)
        there = url_for("staff.show_assignment", slug=slug, assignment=assignment)
        return _deletion_page(course, found.title, losses, refused, there)


@staff.post("/assignments/<assignment>/delete")
def remove_assignment(slug: str, assignment: str) -> Response:
    """Delete the assignment."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        delete_assignment(session, assignment_of(session, course, assignment), acting(session))
    return back("staff.show_assignments", slug, "assignment-deleted")


@staff.get("/delete")
def confirm_course_deletion(slug: str) -> str:
    """Show what deleting the course removes, or why it is impossible."""
    course = instructor_of(slug)
    losses, refused = None, ""
    with site().readers.begin() as session:
        try:
            losses = losses_of_course(session, the_course(session, course))
        except CourseError as error:
            refused = str(error)
    there = url_for("staff.show_settings", slug=slug)
    return _deletion_page(course, course.title, losses, refused, there, of_course=True)


@staff.post("/delete")
def remove_course(slug: str) -> Response:
    """Delete the course."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        tickets = delete_course(session, the_course(session, course), acting(session))
    revoke(site().settings.redis_url, tickets)
    return Response(status=303, headers={"Location": url_for("pages.start", notice="course-deleted")})


def _deletion_page(
    course: Membership, title: str, losses: Losses | None, refused: str, there: str, *, of_course: bool = False
) -> str:
    desk = desk_of(course, "overview" if of_course else "assignment")
    page = DeletionPage(desk, title, of_course, losses, refused, there)
    return render_template("courses/confirm_deletion.html", page=page)
