"""A course's retention on its page for instructors, and in the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from flask import Response, jsonify, render_template, request
from sqlalchemy.orm import Session

from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, request_of
from server.acts.by_form import change_by_form, form_now
from server.courses.access import Membership, instructor_of
from server.courses.staff_api import NAME, REFUSES_CHANGE, desk_of, staff_api
from server.courses.staff_pages import Desk, back, staff, the_course
from server.courses.staff_pages import desk_of as page_desk
from server.http.forms import Form
from server.http.operation import operation
from server.http.site import site
from server.operations.retention import NOTICE, RETENTION, Preview, preview
from server.text import read_whole

_RetentionRequest = request_of(RETENTION, "RetentionRequest")


@dataclass(frozen=True, slots=True)
class RetentionPage:
    """The setting, and what it would remove. archived_at: None for an active course."""

    desk: Desk
    form: Form
    preview: Preview
    days: int | None
    archived_at: datetime | None
    notice_days: int = NOTICE.days


@dataclass(frozen=True, slots=True)
class RetentionAnswer:
    """How long a course keeps details of submissions, and what goes then.

    days: after the course is archived; null to keep them
    at: when the removal begins; null while the course isn't archived, or if it keeps everything
    submissions, messages, experiments: how many lose their details
    oldest, newest: when the first and the last of the submissions came; null for none
    kept: submissions that stay until a grade is released, a request answered, or a regrade over
    """

    days: int | None
    at: datetime | None
    submissions: int
    messages: int
    experiments: int
    oldest: datetime | None
    newest: datetime | None
    kept: int


@staff.get("/retention")
def show_retention(slug: str) -> str:
    """Show what goes, and when."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        on = _course(session, course)
        return _page(session, course, on, form_now(RETENTION, session, on))


@staff.post("/retention")
def change_retention(slug: str) -> Response | tuple[str, int]:
    """Save the setting, or only show what it would remove."""
    done = partial(back, "staff.show_retention", slug, "retention-saved")
    return change_by_form(RETENTION, slug, _course, done, _page, preview="preview" in request.form)


@staff_api.get("/courses/<course>/retention")
@operation(RetentionAnswer, path={"course": NAME}, scope=Scope.STAFF, refuses={403: "You aren't an instructor."})
def show_course_retention(course: str) -> Response:
    """Get how long a course keeps details of submissions, and what goes then. For instructors."""
    desk = desk_of(course, instructor=True)
    with site().readers.begin() as session:
        return jsonify(_answer(session, Target(desk.course(session)), None))


@staff_api.post("/courses/<course>/retention")
@operation(RetentionAnswer, path={"course": NAME}, takes=_RetentionRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def change_course_retention(course: str) -> Response:
    """Set how long a course keeps details of submissions. For instructors."""
    return change_by_json(
        RETENTION, _RetentionRequest, course, lambda session, desk: Target(desk.course(session)), _answer
    )


def _answer(session: Session, on: Target, _: object) -> RetentionAnswer:
    found = preview(session, on.course, on.course.retention_days)
    return RetentionAnswer(
        on.course.retention_days, found.at, found.submissions, found.messages, found.experiments, found.oldest,
        found.newest, found.kept,
    )  # fmt: skip


def _course(session: Session, course: Membership, _: Form | None = None) -> Target:
    return Target(the_course(session, course))


def _page(session: Session, course: Membership, on: Target, form: Form) -> str:
    days = read_whole(form["days"]) if form.right and form["days"] else None
    page = RetentionPage(
        page_desk(course, "overview"), form, preview(session, on.course, days), days, on.course.archived_at
    )
    return render_template("operations/retention.html", page=page, days=RETENTION.by_name["days"])
