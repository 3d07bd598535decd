"""The start page: a reader's next tasks, or a description of Tilelab for strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from flask import Blueprint, render_template

from server.accounts.access import Viewer, viewer_or_none
from server.courses.queries import Attended, all_courses, attended
from server.http.site import site
from server.submissions.assignment.tasks import Task, due_next, tasks_everywhere

pages = Blueprint("pages", __name__)

_MOST_DUE = 6


@dataclass(frozen=True, slots=True)
class HomePage:
    """tasks: what is due next; more: how many tasks aren't shown; courses: all courses of the reader."""

    now: datetime
    tasks: Sequence[Task]
    more: int
    courses: Sequence[Attended]


@pages.get("/")
def start() -> str:
    """Show the start page."""
    who = viewer_or_none()
    if who is None:
        return render_template("start.html", version=version("tilelab"))
    return render_template("assignments/home.html", page=_home(who))


def _home(who: Viewer) -> HomePage:
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        tasks = due_next(tasks_everywhere(session, who.id, now), now)
        courses = all_courses(session) if who.admin else attended(session, who.id)
    return HomePage(now, tasks[:_MOST_DUE], max(0, len(tasks) - _MOST_DUE), courses)
