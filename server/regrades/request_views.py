"""Pages on which a student asks for a regrade, and course staff answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, Response, render_template, url_for
from sqlalchemy.orm import Session

from server.accounts.access import limited, nothing_here, viewer
from server.accounts.limits import Limit
from server.courses.access import Membership, membership_in, staff_of
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, mistakes_noted, staff
from server.grades.grade import Grade
from server.grades.losses import students_grades
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.regrades.requests import (
    find_request,
    grant_points,
    grant_regrade,
    refuse,
    request_regrade,
    requests_for,
    requests_in,
    why_not,
)
from server.submissions.models import Submission
from server.submissions.queries import submission_of_page
from server.talk.models import RegradeRequest
from server.teams.credit import is_for

request_pages = Blueprint("request_pages", __name__, url_prefix="/submissions/<public_id>/request")

REQUESTS = Limit("request", 20, timedelta(days=1))


@dataclass(frozen=True, slots=True)
class RequestPage:
    """A submission's regrade requests. own: whether it is the reader's; refusal: why no new one is possible."""

    course: Membership
    submission: Submission
    own: bool
    requests: Sequence[RegradeRequest]
    refusal: str
    form: Form


@request_pages.get("")
def show_request(public_id: str) -> str:
    """Show the requests for a submission, and the form for a new one."""
    return _student_page(public_id, filled({}))


@request_pages.post("")
def send_request(public_id: str) -> Response | tuple[str, int]:
    """Ask for a regrade, as the owner of the submission."""
    who, form = viewer(), sent("reason")
    with site().readers.begin() as session:
        if not is_for(session, submission_of_page(session, public_id), who.id):
            raise nothing_here()
    limited(REQUESTS, "Too many requests for regrades", "Wait a day, then ask again.")
    with mistakes_noted(form, "reason"), site().sessions.begin() as session:
        request_regrade(session, submission_of_page(session, public_id), acting(session), form["reason"])
    if not form.right:
        return _student_page(public_id, form), 422
    address = url_for("request_pages.show_request", public_id=public_id, notice="request-sent")
    return Response(status=303, headers={"Location": address})


def _student_page(public_id: str, form: Form) -> str:
    who = viewer()
    with site().readers.begin() as session:
        found = submission_of_page(session, public_id)
        course = membership_in(session, found.assignment.course)
        page = RequestPage(
            course, found, is_for(session, found, who.id), requests_for(session, found.id),
            why_not(session, found, who.id), form,
        )  # fmt: skip
        return render_template("regrades/request.html", page=page)


_MOST = 50
_ONE = "/requests/<int(max=9007199254740991):number>"
_WAYS = ("points", "regrade", "refuse")


@dataclass(frozen=True, slots=True)
class RequestsPage:
    """Open requests, the oldest first, and the newest answered ones. number: of open ones."""

    desk: Desk
    open: Sequence[RegradeRequest]
    number: int
    answered: Sequence[RegradeRequest]


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """One request with the student's present grade."""

    desk: Desk
    request: RegradeRequest
    grade: Grade
    form: Form


@staff.get("/requests")
def show_requests(slug: str) -> str:
    """Show the regrade requests of the course."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        waiting, number = requests_in(session, course.course_id, _MOST)
        answered, _ = requests_in(session, course.course_id, _MOST, answered=True)
    page = RequestsPage(desk_of(course, "questions"), waiting, number, answered)
    return render_template("regrades/requests.html", page=page)


@staff.get(_ONE)
def show_one_request(slug: str, number: int) -> str:
    """Show a request, with the form for the answer."""
    return _staff_page(staff_of(slug), number, filled({}))


@staff.post(_ONE)
def answer_one_request(slug: str, number: int) -> Response | tuple[str, int]:
    """Grant or refuse a request."""
    course = staff_of(slug)
    form = sent("way", "points", "answer")
    form.choose("way", ((way, way) for way in _WAYS if course.is_instructor or way != "points"))
    points = form.number("points") if form["way"] == "points" else 0.0
    if form["way"] == "points" and not form["points"]:
        form.mistake("points", "Enter the points.")
    if form.right:
        with mistakes_noted(form, "answer"), site().sessions.begin() as session:
            found = _request(session, course, number)
            assignment = found.submission.assignment.slug
            _answer(session, found, form, points)
    if form.right and form["way"] == "regrade":
        return back("staff.show_staged", slug, "request-answered", assignment=assignment)
    if form.right:
        return back("staff.show_requests", slug, "request-answered")
    return _staff_page(course, number, form), 422


def _answer(session: Session, found: RegradeRequest, form: Form, points: float) -> None:
    actor, answer = acting(session), form["answer"]
    if form["way"] == "refuse":
        refuse(session, found, actor, answer)
    elif form["way"] == "regrade":
        grant_regrade(session, found, actor, answer)
    else:
        grant_points(session, found, actor, answer, points, confirmed())


def _staff_page(course: Membership, number: int, form: Form) -> str:
    with site().readers.begin() as session:
        found = _request(session, course, number)
        person = found.submission.person_id
        grade = students_grades(session, found.submission.assignment, person).get(person, Grade())
        page = AnswerPage(desk_of(course, "questions"), found, grade, form)
        return render_template("regrades/staff_request.html", page=page)


def _request(session: Session, course: Membership, number: int) -> RegradeRequest:
    found = find_request(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found
