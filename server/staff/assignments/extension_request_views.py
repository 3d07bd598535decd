"""The staff page of an extension request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.local_time import MomentError, read_moment, typed, zone_named
from server.courses.service import CourseError
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.staff.assignments.extension_requests import grant_request
from server.staff.desk import Desk, acting, back, confirmed, desk_of, staff
from server.talk.extension_requests.service import deadline_of, find_request, refuse_request
from server.talk.models import ExtensionRequest

_ONE = "/extension-requests/<int(max=9007199254740991):number>"
_WAYS = (("", "Choose"), ("grant", "Grant"), ("refuse", "Refuse"))


@dataclass(frozen=True, slots=True)
class ExtensionRequestPage:
    """One request. deadline: the student's present one, None for none; ways: the answers to choose from."""

    desk: Desk
    request: ExtensionRequest
    deadline: datetime | None
    ways: Sequence[tuple[str, str]]
    form: Form
    zone: str


@staff.get(_ONE)
def show_extension_request(slug: str, number: int) -> str:
    """Show a request, with the form for the answer."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        wanted = _request(session, course, number).wanted_at
    return _page(course, number, filled({"until": typed(wanted, zone_named(course.time_zone))}))


@staff.post(_ONE)
def answer_extension_request(slug: str, number: int) -> Response | tuple[str, int]:
    """Grant or refuse a request."""
    course = instructor_of(slug)
    form = sent("way", "until", "answer")
    form.choose("way", _WAYS[1:])
    try:
        with site().sessions.begin() as session:
            found = _request(session, course, number)
            name = found.assignment.slug
            until = None
            if form["way"] == "grant":
                until = read_moment(form["until"], zone_named(course.time_zone), found.wanted_at)
            if form.right and form["way"] == "grant":
                grant_request(session, found, acting(session), form["answer"], confirmed(), until)
            elif form.right:
                refuse_request(session, found, acting(session), form["answer"])
    except MomentError as error:
        form.mistake("until", str(error))
    except CourseError as error:
        form.mistake(next(iter(error.fields), "answer"), str(error))
    if form.right:
        return back("staff.show_assignment", slug, "request-answered", assignment=name)
    return _page(course, number, form), 422


def _page(course: Membership, number: int, form: Form) -> str:
    with site().readers.begin() as session:
        found = _request(session, course, number)
        zone = zone_named(course.time_zone)
        page = ExtensionRequestPage(
            desk_of(course, "assignment"),
            found,
            deadline_of(session, found.assignment, found.person_id),
            _WAYS,
            form,
            zone.key,
        )
        return render_template("staff/extension_request.html", page=page)


def _request(session: Session, course: Membership, number: int) -> ExtensionRequest:
    found = find_request(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found
