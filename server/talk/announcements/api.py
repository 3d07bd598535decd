"""The API of announcements."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from flask import Blueprint, Response, jsonify

from server.accounts.identity import person_asking
from server.fields import Range
from server.http.operation import operation
from server.http.query import next_url, read_query
from server.http.site import site
from server.talk.announcements.queries import Line, announcements_everywhere

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
        lines = tuple(_answer(line) for line in part.lines)
    after = next_url(asked, before=lines[-1].id) if part.more else None
    return jsonify(AnnouncementsAnswer(lines, after))


def _answer(line: Line) -> AnnouncementAnswer:
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
