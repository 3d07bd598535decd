"""Announcements on the pages of their readers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Blueprint, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session

from server.accounts.access import viewer
from server.courses.access import Membership, member_of
from server.courses.handouts import render_text
from server.http.forms import number_of
from server.http.notes import note
from server.http.site import site
from server.talk.announcements import Part, announcements_in, mark_seen

announcement_pages = Blueprint("announcement_pages", "server.talk", url_prefix="/courses/<slug>")

PAGE = 20
_NEWEST = 3


@dataclass(frozen=True, slots=True)
class AnnouncementsPage:
    """All announcements of a course. after: the ID before which the next page begins; 0 for no next page."""

    course: Membership
    part: Part
    after: int


@announcement_pages.get("/announcements")
def show_announcements(slug: str) -> str:
    """Show a course's announcements, the newest first."""
    course = member_of(slug)
    before = number_of(request.args, "before") or 0
    with site().readers.begin() as session:
        part = read_announcements(session, course, PAGE, before=before)
    after = part.lines[-1].announcement.id if part.more else 0
    return render_template("talk/announcements.html", page=AnnouncementsPage(course, part, after))


@announcement_pages.app_template_filter("markdown")
def markdown(text: str) -> Markup:
    """A text of course staff as HTML."""
    return render_text(text)


def read_announcements(
    session: Session, course: Membership, limit: int = _NEWEST, *, assignment: str = "", before: int = 0
) -> Part:
    """The newest announcements of a course, or of one of its assignments. They count as seen from then on."""
    who, now = viewer(), datetime.now(UTC)
    part = announcements_in(
        session, course.course_id, course.role, who.id, now, limit, assignment=assignment, before=before
    )
    if part.unseen and who.viewing is None:
        note(partial(mark_seen, person_id=who.id, announcements=part.unseen, now=now))
    return part
