"""The API of announcements, for their readers and for course staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from flask import Blueprint, Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.acts.act import Act, Target
from server.acts.by_api import change_by_json, request_of
from server.courses.staff_api import NAME, PERSON, REFUSES, REFUSES_CHANGE, ApiDesk, read_as_staff, staff_api
from server.fields import Range
from server.http.operation import operation
from server.http.problems import Problem, Refused, problem_response
from server.http.query import next_url, read_query
from server.http.site import site
from server.talk.announcements import (
    ANNOUNCE,
    CHANGE,
    PUBLISH_AGAIN,
    WITHDRAW,
    Line,
    NamesAskerError,
    announcements_everywhere,
    find_announcement,
    staff_announcements,
)
from server.talk.models import Announcement

announcements = Blueprint("announcements", __name__)

_MOST = 100


@dataclass(frozen=True, slots=True)
class AnnouncementsQuery:
    """Which part of the list. limit: how many; before: only announcements before the one with this ID."""

    limit: Annotated[int, Range(1, _MOST)] = 20
    before: Annotated[int, Range(1, 10**18 - 1)] | None = None


@dataclass(frozen=True, slots=True)
class AnnouncementAnswer:
    """An announcement of course staff.

    course: the course's short name
    assignment: COURSE/ASSIGNMENT; None if it is about the whole course
    text: Markdown
    author: None if it was written on the command line
    changed_at: None if it never changed
    seen: whether you opened a page with it
    """

    id: int
    course: str
    assignment: str | None
    title: str
    text: str
    author: str | None
    created_at: datetime
    changed_at: datetime | None
    seen: bool


@dataclass(frozen=True, slots=True)
class AnnouncementsAnswer:
    """Announcements, the newest first. next: the URL of the next part; None for the last one."""

    announcements: tuple[AnnouncementAnswer, ...]
    next: str | None


@announcements.get("/announcements")
@operation(AnnouncementsAnswer, query=AnnouncementsQuery, refuses={422: "A parameter has an invalid value."})
def listed() -> Response:
    """List the announcements of your active courses, the newest first. Reading them here doesn't mark them as seen."""
    person, asked = person_asking().id, read_query(AnnouncementsQuery)
    with site().readers.begin() as session:
        part = announcements_everywhere(session, person, datetime.now(UTC), asked.limit, asked.before or 0)
        lines = tuple(_read_answer(line) for line in part.lines)
    after = next_url(asked, before=lines[-1].id) if part.more else None
    return jsonify(AnnouncementsAnswer(lines, after))


def _read_answer(line: Line) -> AnnouncementAnswer:
    found = line.announcement
    return AnnouncementAnswer(
        id=found.id,
        course=line.course,
        assignment=None if found.assignment is None else f"{line.course}/{found.assignment.slug}",
        title=found.title,
        text=found.text,
        author=None if found.author is None else found.author.name,
        created_at=found.created_at,
        changed_at=found.changed_at,
        seen=not line.new,
    )


_PATH: Mapping[str, Any] = {"course": NAME, "number": PERSON}
_ALL = "/courses/<course>/announcements"
_ONE = f"{_ALL}/<int(max=9007199254740991):number>"
_AnnouncementRequest = request_of(ANNOUNCE, "AnnouncementRequest")
_AnnouncementChangeRequest = request_of(CHANGE, "AnnouncementChangeRequest")


@dataclass(frozen=True, slots=True)
class CourseAnnouncementsQuery:
    """Which part of the list. before: only announcements before the one with this ID."""

    limit: Annotated[int, Range(1, 100)] = 20
    before: PERSON | None = None


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
    with read_as_staff(course) as (session, here):
        asked = read_query(CourseAnnouncementsQuery)
        part = staff_announcements(session, here.id, asked.limit, asked.before or 0)
        lines = tuple(ReadAnnouncementAnswer(_written_answer(one.announcement), one.seen) for one in part.lines)
    following = next_url(asked, before=lines[-1].announcement.id) if part.more else None
    return jsonify(CourseAnnouncementsAnswer(lines, part.students, following))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesStudentProblem(Problem):
    """An answer to a question that may show who asked. Nothing was published.

    confirm: send the request again with this value in `confirm` to publish exactly this text
    """

    confirm: str


@staff_api.errorhandler(NamesAskerError)
def _name_asker(names: NamesAskerError) -> Response:
    title = "This may show who asked"
    return problem_response(NamesStudentProblem(409, "names_student", title, str(names), confirm=names.digest))


@staff_api.post(_ALL)
@operation(
    CourseAnnouncementAnswer,
    status=201,
    path={"course": NAME},
    takes=_AnnouncementRequest,
    scope=Scope.STAFF,
    refuses=REFUSES_CHANGE
    | {409: "The present state doesn't allow this. Or it needs a confirmation: the code is then `names_student`."},
    problems={409: NamesStudentProblem},
)
def publish_announcement(course: str) -> Response:
    """Publish an announcement on the course or on an assignment, as course staff."""
    return change_by_json(
        ANNOUNCE,
        _AnnouncementRequest,
        course,
        lambda session, desk: Target(desk.course(session)),
        lambda _session, _on, made: _written_answer(made),
        201,
    )


@staff_api.post(_ONE)
@operation(
    CourseAnnouncementAnswer, path=_PATH, takes=_AnnouncementChangeRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE
)
def change_one_announcement(course: str, number: int) -> Response:
    """Change an announcement, as course staff."""
    return _changed(CHANGE, course, number, _AnnouncementChangeRequest)


@staff_api.post(f"{_ONE}/withdraw")
@operation(CourseAnnouncementAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def withdraw_announcement(course: str, number: int) -> Response:
    """Hide an announcement from students, as course staff."""
    return _changed(WITHDRAW, course, number)


@staff_api.post(f"{_ONE}/publish")
@operation(CourseAnnouncementAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def publish_announcement_again(course: str, number: int) -> Response:
    """Show a withdrawn announcement to students again, as course staff."""
    return _changed(PUBLISH_AGAIN, course, number)


def _changed(act: Act[Any], course: str, number: int, takes: type[Any] | None = None) -> Response:
    def find(session: Session, desk: ApiDesk) -> Target:
        found = find_announcement(session, desk.course_id, number)
        if found is None:
            raise Refused(404, "no_such_announcement", "There is no such announcement", "The list has the IDs.")
        return Target(desk.course(session), item=found)

    return change_by_json(act, takes, course, find, lambda _session, on, _done: _written_answer(on.item))


def _written_answer(found: Announcement) -> CourseAnnouncementAnswer:
    return CourseAnnouncementAnswer(
        found.id, None if found.assignment is None else found.assignment.slug, found.title, found.text,
        None if found.author is None else found.author.name, found.created_at,
        found.changed_at, found.withdrawn_at,
    )  # fmt: skip
