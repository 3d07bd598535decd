"""What all staff pages share: tabs, permissions, and the acting person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request, url_for
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from server.accounts.access import viewer
from server.accounts.models import Person
from server.accounts.service import AccountError
from server.courses.access import Membership
from server.courses.frame import Link
from server.courses.local_time import MomentError
from server.courses.models import Course
from server.courses.service import CourseError
from server.http.arrival import LARGEST_FORM
from server.http.forms import Form
from server.http.problems import Problem, problem_response
from server.table_file import MOST_BYTES
from server.text import printable

staff = Blueprint("staff", __name__, url_prefix="/staff/<slug>")

LOWERS = "lowers"
"""The hidden field that confirms the losses of points that a page showed."""

_LONGEST = 200
_TABS = (
    ("Overview", "staff.overview", "overview"),
    ("Roster", "staff.show_roster", "roster"),
    ("Assignments", "staff.show_assignments", "assignment"),
    ("Exercises", "staff.show_exercises", "exercises"),
    ("Progress", "staff.show_all_progress", "progress"),
    ("Announcements", "staff.show_announcements", "announcements"),
    ("Questions", "staff.show_questions", "questions"),
    ("Submissions", "staff.show_submissions", "submission"),
    ("Grades", "staff.show_grades", "grades"),
    ("Audit", "staff.show_audit", "audit"),
)


@dataclass(frozen=True, slots=True)
class Desk:
    """The course and the tabs of a staff page."""

    course: Membership
    links: tuple[Link, ...]


def desk_of(course: Membership, part: str) -> Desk:
    """part: the title of the page's tab."""
    return Desk(
        course, tuple(Link(title, url_for(name, slug=course.slug), word == part) for title, name, word in _TABS)
    )


_LARGE = frozenset(
    f"staff.{name}"
    for name in (
        "upload_exercise", "save_exercise", "preview_roster", "apply_roster", "preview_file", "apply_file",
        "preview_filled", "download_filled",
    )
)  # fmt: skip


@staff.url_value_preprocessor
def _take_large_forms(endpoint: str | None, values: dict[str, str] | None) -> None:
    """Raise the size limit before anything reads the form."""
    if endpoint in _LARGE:
        request.max_content_length = request.max_form_memory_size = LARGEST_FORM


@staff.errorhandler(413)
def too_large(_error: HTTPException) -> Response:
    """The answer to a form that is too large."""
    if "exercises" not in request.path.split("/")[3:4]:
        detail = f"The limit for a table is {MOST_BYTES:,} bytes. Go back, and send it in parts."
    else:
        detail = "The limit for an exercise is 1 MiB. Go back, and leave out or compress its largest files."
    return problem_response(Problem(413, "too_large", "The file is too large", detail))


def acting(session: Session) -> Person:
    """The signed-in person, for audit entries."""
    return session.get_one(Person, viewer().id)


def the_course(session: Session, course: Membership) -> Course:
    """The course's row."""
    return session.get_one(Course, course.course_id)


@contextmanager
def mistakes_noted(form: Form, field: str) -> Iterator[None]:
    """Add a refused change to the form. field: where the refusal names none."""
    try:
        yield
    except (AccountError, CourseError, MomentError) as error:
        form.mistake(next(iter(error.fields), field), str(error))


def back(endpoint: str, slug: str, notice: str = "", **values: Any) -> Response:
    """Redirect to a staff page after a form."""
    if notice:
        values["notice"] = notice
    return Response(status=303, headers={"Location": url_for(endpoint, slug=slug, **values)})


def confirmed() -> str:
    """The digest of the losses of points that a form's sender confirmed; "" for none."""
    return request.form.get(LOWERS, "")


def asked(name: str, longest: int = _LONGEST) -> str:
    """A query parameter; "" for none."""
    return printable(request.args.get(name, ""))[:longest]


def looked_for(given: Mapping[str, str], *names: str) -> Form:
    """A filter from an address or a form. An invalid value is a mistake, because ignoring it could match more."""
    form = Form()
    for name in names:
        text = given.get(name, "")
        form.values[name] = printable(text)[:_LONGEST]
        if form.values[name] != " ".join(text.split()):
            form.mistake(name, f"This is too long or has invalid characters. The limit is {_LONGEST} characters.")
    return form
