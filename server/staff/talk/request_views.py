"""The staff pages of regrade requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.courses.access import Membership, staff_of
from server.courses.service import CourseError
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.staff.desk import Desk, acting, back, confirmed, desk_of, staff
from server.staff.losses import students_grades
from server.staff.talk.request_answers import grant_points, grant_regrade, refuse
from server.submissions.grades.grade import Grade
from server.talk.models import RegradeRequest
from server.talk.requests.queries import find_request, requests_in

_MOST = 50
_ONE = "/requests/<int(max=9007199254740991):number>"
_WAYS = (
    ("", "Choose"),
    ("regrade", "Grant: regrade and preview"),
    ("points", "Grant: set the points"),
    ("refuse", "Refuse"),
)


@dataclass(frozen=True, slots=True)
class RequestsPage:
    """Open requests, the oldest first, and the newest answered ones. number: of open ones."""

    desk: Desk
    open: Sequence[RegradeRequest]
    number: int
    answered: Sequence[RegradeRequest]


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """One request with the student's present grade. ways: the answers to choose from."""

    desk: Desk
    request: RegradeRequest
    grade: Grade
    ways: Sequence[tuple[str, str]]
    form: Form


@staff.get("/requests")
def show_requests(slug: str) -> str:
    """Show the regrade requests of the course."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        waiting, number = requests_in(session, course.course_id, _MOST)
        answered, _ = requests_in(session, course.course_id, _MOST, answered=True)
    page = RequestsPage(desk_of(course, "questions"), waiting, number, answered)
    return render_template("staff/requests.html", page=page)


@staff.get(_ONE)
def show_one_request(slug: str, number: int) -> str:
    """Show a request, with the form for the answer."""
    return _page(staff_of(slug), number, filled({}))


@staff.post(_ONE)
def answer_one_request(slug: str, number: int) -> Response | tuple[str, int]:
    """Grant or refuse a request."""
    course = staff_of(slug)
    form = sent("way", "points", "answer")
    form.choose("way", _ways(course)[1:])
    points = form.number("points") if form["way"] == "points" else 0.0
    if form["way"] == "points" and not form["points"]:
        form.mistake("points", "Enter the points.")
    if form.right:
        try:
            with site().sessions.begin() as session:
                _answer(session, _request(session, course, number), form, points)
            return back("staff.show_requests", slug, "request-answered")
        except CourseError as error:
            form.mistake(next(iter(error.fields), "answer"), str(error))
    return _page(course, number, form), 422


def _answer(session: Session, found: RegradeRequest, form: Form, points: float) -> None:
    actor, answer = acting(session), form["answer"]
    if form["way"] == "refuse":
        refuse(session, found, actor, answer)
    elif form["way"] == "regrade":
        grant_regrade(session, found, actor, answer)
    else:
        grant_points(session, found, actor, answer, points, confirmed())


def _ways(course: Membership) -> list[tuple[str, str]]:
    return [way for way in _WAYS if course.is_instructor or way[0] != "points"]


def _page(course: Membership, number: int, form: Form) -> str:
    with site().readers.begin() as session:
        found = _request(session, course, number)
        person = found.submission.person_id
        grade = students_grades(session, found.submission.assignment, person).get(person, Grade())
        page = AnswerPage(desk_of(course, "questions"), found, grade, _ways(course), form)
        return render_template("staff/request.html", page=page)


def _request(session: Session, course: Membership, number: int) -> RegradeRequest:
    found = find_request(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found
