"""The page on which a student asks for a regrade, with the answers of course staff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, Response, render_template, url_for
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.accounts.limits import Limit, TooOften, count
from server.accounts.models import Person
from server.courses.access import Membership, membership
from server.courses.service import CourseError, role_in
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site
from server.submissions.models import Submission
from server.submissions.queries import visible_submission
from server.talk.models import RegradeRequest
from server.talk.requests.queries import requests_for
from server.talk.requests.service import request_regrade, why_not

request_pages = Blueprint(
    "request_pages", "server.talk", url_prefix="/submissions/<public_id>/request", template_folder="templates"
)

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
    return _page(public_id, filled({}))


@request_pages.post("")
def send_request(public_id: str) -> Response | tuple[str, int]:
    """Ask for a regrade, as the owner of the submission."""
    who, form = viewer(), sent("reason")
    with site().readers.begin() as session:
        if _submission(session, public_id).person_id != who.id:
            raise nothing_here()
    try:
        count(site().sessions, REQUESTS, f"person {who.id}")
        with site().sessions.begin() as session:
            student = session.get_one(Person, who.id)
            request_regrade(session, _submission(session, public_id), student, form["reason"])
    except TooOften as often:
        raise Refused(
            429, "too_often", "Too many requests for regrades", "Wait a day, then ask again.",
            {"Retry-After": str(often.seconds)},
        ) from often  # fmt: skip
    except CourseError as error:
        form.mistake("reason", str(error))
        return _page(public_id, form), 422
    address = url_for("request_pages.show_request", public_id=public_id, notice="request-sent")
    return Response(status=303, headers={"Location": address})


def _page(public_id: str, form: Form) -> str:
    who = viewer()
    with site().readers.begin() as session:
        found = _submission(session, public_id)
        role = role_in(session, who.id, found.assignment.course_id)
        assert role is not None, "visible_submission found it"
        course = membership(found.assignment.course, role)
        page = RequestPage(
            course, found, found.person_id == who.id, requests_for(session, found.id),
            why_not(session, found, who.id), form,
        )  # fmt: skip
        return render_template("talk/request.html", page=page)


def _submission(session: Session, public_id: str) -> Submission:
    found = visible_submission(session, viewer().id, public_id)
    if found is None:
        raise nothing_here()
    return found
