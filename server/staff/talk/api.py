"""The API of a course's announcements for its staff: list, publish, change, withdraw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Person, Scope
from server.courses.service import SHORT_NAME
from server.fields import Range, Text
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import next_url, read_query
from server.http.site import site
from server.staff.api_desk import (
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    ApiDesk,
    course_for_staff,
    desk_of,
    read_change,
    refuse_wrong,
    staff_api,
)
from server.talk.announcements.queries import find_announcement, staff_announcements
from server.talk.announcements.service import (
    LONGEST_TEXT,
    Written,
    announce,
    change_announcement,
    publish_again,
    withdraw,
    written,
    wrong_announcement,
)
from server.talk.models import LONGEST_TITLE, Announcement

_PATH: Mapping[str, Any] = {"course": NAME, "number": PERSON}
_ALL = "/courses/<course>/announcements"
_ONE = f"{_ALL}/<int(max=9007199254740991):number>"


@dataclass(frozen=True, slots=True)
class CourseAnnouncementsQuery:
    """Which part of the list. before: only announcements before the one with this ID."""

    limit: Annotated[int, Range(1, 100)] = 20
    before: PERSON | None = None


@dataclass(frozen=True, slots=True)
class AnnouncementRequest:
    """A new announcement.

    title: one line
    text: Markdown
    assignment: the short name of the assignment that it is about; "" for the whole course
    """

    title: Annotated[str, Text(longest=LONGEST_TITLE)]
    text: Annotated[str, Text(longest=LONGEST_TEXT)]
    assignment: Annotated[str, Text(f"({SHORT_NAME})?")] = ""


@dataclass(frozen=True, slots=True)
class AnnouncementChangeRequest:
    """A changed announcement. again: show it as new to everyone."""

    title: Annotated[str, Text(longest=LONGEST_TITLE)]
    text: Annotated[str, Text(longest=LONGEST_TEXT)]
    again: bool = False


@dataclass(frozen=True, slots=True)
class CourseAnnouncementAnswer:
    """An announcement, as course staff see it.

    assignment: its short name; None if it is about the whole course
    text: Markdown
    author: None if it was written on the command line
    changed_at: None if it never changed
    withdrawn_at: when it was hidden from students; None if they see it
    """

    id: int
    assignment: str | None
    title: str
    text: str
    author: str | None
    created_at: datetime
    changed_at: datetime | None
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReadAnnouncementAnswer:
    """An announcement of the list. seen: how many students of the course saw it."""

    announcement: CourseAnnouncementAnswer
    seen: int


@dataclass(frozen=True, slots=True)
class CourseAnnouncementsAnswer:
    """Announcements, the newest first.

    students: how many are in the course
    next: the URL of the next part, None at the end
    """

    announcements: tuple[ReadAnnouncementAnswer, ...]
    students: int
    next: str | None


@staff_api.get(_ALL)
@operation(
    CourseAnnouncementsAnswer, path={"course": NAME}, query=CourseAnnouncementsQuery, scope=Scope.STAFF, refuses=REFUSES
)
def list_announcements(course: str) -> Response:
    """List a course's announcements, as course staff: withdrawn ones too, the newest first."""
    person, asked = person_asking(), read_query(CourseAnnouncementsQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        part = staff_announcements(session, here.id, asked.limit, asked.before or 0)
        lines = tuple(ReadAnnouncementAnswer(_answer(one.announcement), one.seen) for one in part.lines)
    following = next_url(asked, before=lines[-1].announcement.id) if part.more else None
    return jsonify(CourseAnnouncementsAnswer(lines, part.students, following))


@staff_api.post(_ALL)
@operation(
    CourseAnnouncementAnswer,
    status=201,
    path={"course": NAME},
    takes=AnnouncementRequest,
    scope=Scope.STAFF,
    refuses=REFUSES_CHANGE,
)
def publish_announcement(course: str) -> tuple[Response, int]:
    """Publish an announcement on the course or on an assignment, as course staff."""
    desk = desk_of(course)
    asked = read_change(AnnouncementRequest)
    given = _given(asked.title, asked.text)
    with site().sessions.begin() as session:
        about = desk.assignment(session, asked.assignment) if asked.assignment else None
        answer = _answer(announce(session, desk.course_id, about, desk.actor(session), given))
    return jsonify(answer), 201


@staff_api.post(_ONE)
@operation(
    CourseAnnouncementAnswer, path=_PATH, takes=AnnouncementChangeRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE
)
def change_one_announcement(course: str, number: int) -> Response:
    """Change an announcement, as course staff."""
    desk = desk_of(course)
    asked = read_change(AnnouncementChangeRequest)
    return _changed(
        desk, number, partial(change_announcement, given=_given(asked.title, asked.text), again=asked.again)
    )


@staff_api.post(f"{_ONE}/withdraw")
@operation(CourseAnnouncementAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def withdraw_announcement(course: str, number: int) -> Response:
    """Hide an announcement from students, as course staff."""
    return _changed(desk_of(course), number, withdraw)


@staff_api.post(f"{_ONE}/publish")
@operation(CourseAnnouncementAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def publish_announcement_again(course: str, number: int) -> Response:
    """Show a withdrawn announcement to students again, as course staff."""
    return _changed(desk_of(course), number, publish_again)


def _changed(desk: ApiDesk, number: int, change: Callable[[Session, Announcement, Person], object]) -> Response:
    with site().sessions.begin() as session:
        found = _found(session, desk, number)
        change(session, found, desk.actor(session))
        answer = _answer(found)
    return jsonify(answer)


def _given(title: str, text: str) -> Written:
    given = written(title, text)
    refuse_wrong(wrong_announcement(given))
    return given


def _found(session: Session, desk: ApiDesk, number: int) -> Announcement:
    found = find_announcement(session, desk.course_id, number)
    if found is None:
        raise Refused(404, "no_such_announcement", "There is no such announcement", "The list has the IDs.")
    return found


def _answer(found: Announcement) -> CourseAnnouncementAnswer:
    return CourseAnnouncementAnswer(
        found.id, None if found.assignment is None else found.assignment.slug, found.title, found.text,
        None if found.author is None else found.author.name, found.created_at,
        found.changed_at, found.withdrawn_at,
    )  # fmt: skip
