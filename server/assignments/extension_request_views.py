"""The page on which a student asks for an extension, with the answers of course staff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from flask import Blueprint, Response, render_template, url_for
from sqlalchemy.orm import Session

from server.accounts.access import limited
from server.accounts.limits import Limit
from server.assignments.extension_requests import request_extension, requests_by, why_not, withdraw_request
from server.courses.access import Membership, Reader, assignment_for, reader_of
from server.courses.local_time import read_moment
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.courses.staff_pages import acting, mistakes_noted
from server.http.forms import Form, filled, sent
from server.http.notes import note
from server.http.numbers import zone_of
from server.http.site import site
from server.talk.models import ExtensionRequest
from server.talk.news import mark_seen_extensions

extension_pages = Blueprint("extension_pages", __name__, url_prefix="/courses/<course>/<name>/extension")

REQUESTS = Limit("extension", 20, timedelta(days=1))


@dataclass(frozen=True, slots=True)
class ExtensionPage:
    """A student's extension requests for an assignment. refusal: why no new one is possible; viewed: in a view-as."""

    course: Membership
    assignment: Assignment
    requests: Sequence[ExtensionRequest]
    refusal: str
    form: Form
    zone: str
    viewed: bool


@dataclass(frozen=True, slots=True)
class RequestState:
    """What an assignment's page shows. newest: None for no request; possible: whether to offer a new one."""

    newest: ExtensionRequest | None
    possible: bool


@extension_pages.get("")
def show_extension(course: str, name: str) -> str:
    """Show the student's requests, and the form for a new one."""
    return _page(reader_of(course, name), filled({}))


@extension_pages.post("")
def send_extension_request(course: str, name: str) -> Response | tuple[str, int]:
    """Ask for an extension."""
    reader, form = reader_of(course, name), sent("wanted", "reason")
    with site().readers.begin() as session:
        assignment_for(session, reader)
    with mistakes_noted(form, "wanted"):
        wanted = _wanted(reader, form)
    if form.right:
        limited(REQUESTS, "Too many requests for extensions", "Wait a day, then ask again.")
        with mistakes_noted(form, "reason"), site().sessions.begin() as session:
            request_extension(session, assignment_for(session, reader), acting(session), wanted, form["reason"])
    if form.right:
        return _back(reader, "request-sent")
    return _page(reader, form), 422


@extension_pages.post("/withdraw")
def withdraw_extension_request(course: str, name: str) -> Response:
    """Withdraw the open request; does nothing if there is none."""
    reader = reader_of(course, name)
    with site().sessions.begin() as session:
        gone = withdraw_request(session, assignment_for(session, reader), reader.viewer.id)
    return _back(reader, "request-withdrawn" if gone else "")


def request_state(session: Session, reader: Reader, assignment: Assignment) -> RequestState:
    """The reader's newest request for an assignment, and whether a new one is possible."""
    newest = next(iter(requests_by(session, assignment.id, reader.viewer.id)), None)
    return RequestState(newest, not why_not(session, assignment, reader.viewer.id, reader.now))


def _wanted(reader: Reader, form: Form) -> datetime:
    wanted = read_moment(form["wanted"], zone_of(reader.course.time_zone))
    if wanted is None:
        raise CourseError("Enter the deadline that you need.", ["wanted"])
    return wanted


def _back(reader: Reader, notice: str) -> Response:
    values: dict[str, Any] = {"notice": notice} if notice else {}
    address = url_for("extension_pages.show_extension", course=reader.course.slug, name=reader.slug, **values)
    return Response(status=303, headers={"Location": address})


def _page(reader: Reader, form: Form) -> str:
    who = reader.viewer
    with site().readers.begin() as session:
        found = assignment_for(session, reader)
        page = ExtensionPage(
            reader.course, found, requests_by(session, found.id, who.id),
            why_not(session, found, who.id, reader.now), form, zone_of(reader.course.time_zone).key,
            who.viewing is not None,
        )  # fmt: skip
    if who.viewing is None and any(one.news_since for one in page.requests):
        note(partial(mark_seen_extensions, person_id=who.id, assignment_id=page.assignment.id, now=reader.now))
    return render_template("assignments/extension.html", page=page)
