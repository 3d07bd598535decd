"""The pages of progress: all assignments, and what happens at one of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import render_template

from server.courses.access import staff_of
from server.courses.models import Assignment, Role
from server.courses.service import assignments_for
from server.http.numbers import zone_of
from server.http.site import site
from server.staff.assignments.views import assignment_of
from server.staff.desk import Desk, desk_of, staff
from server.staff.progress.activity import Activity, activity
from server.staff.progress.attempts import stuck
from server.staff.progress.failures import Failures, failures
from server.staff.progress.forecast import forecast
from server.staff.progress.speeds import Speeds, speeds
from server.staff.progress.states import Bar, bars, states_of


@dataclass(frozen=True, slots=True)
class AllProgressPage:
    """The bars of all assignments that students can see."""

    desk: Desk
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class ProgressPage:
    """One assignment. stuck: the number of students who seem stuck; forecast: "" without a deadline ahead."""

    desk: Desk
    bar: Bar
    stuck: int
    failures: Failures
    speeds: Speeds | None
    activity: Activity | None
    forecast: str

    @property
    def assignment(self) -> Assignment:
        return self.bar.assignment


@staff.get("/progress")
def show_all_progress(slug: str) -> str:
    """Show the bar of each assignment."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = assignments_for(session, course.course_id, Role.STUDENT, datetime.now(UTC))
        page = AllProgressPage(desk_of(course, "progress"), bars(session, course.course_id, found))
    return render_template("staff/progress.html", page=page)


@staff.get("/progress/<assignment>")
def show_progress(slug: str, assignment: str) -> str:
    """Show how far students are with an assignment, and what stops them."""
    course = staff_of(slug)
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        states = states_of(session, course.course_id, [one])[one.id]
        bar = Bar.of(one, states)
        days = activity(session, one, zone_of(course.time_zone), now)
        page = ProgressPage(
            desk_of(course, "progress"), bar,
            len(stuck(session, one, states, now)), failures(session, one),
            speeds(session, one), days, forecast(session, bar, now),
        )  # fmt: skip
    return render_template("staff/progress_assignment.html", page=page)
