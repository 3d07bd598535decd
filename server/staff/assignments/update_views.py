"""The page that previews and runs an assignment's update."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, render_template, request

from server.courses.access import Membership, instructor_of
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.http.problems import Refused
from server.http.site import site
from server.staff.assignments.exercise_update import Update, plan_update, update_exercise
from server.staff.assignments.views import assignment_of
from server.staff.desk import Desk, acting, back, desk_of, staff


@dataclass(frozen=True, slots=True)
class UpdatePage:
    """update: what would change; None for nothing. refused: why an update is impossible; "" if possible."""

    desk: Desk
    assignment: Assignment
    update: Update | None
    refused: str


@staff.get("/assignments/<assignment>/update")
def confirm_update(slug: str, assignment: str) -> str:
    """Preview the update."""
    course = instructor_of(slug)
    update, refused = None, ""
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        try:
            update = plan_update(session, found)
        except CourseError as error:
            refused = str(error)
        return _page(course, found, update, refused)


@staff.post("/assignments/<assignment>/update")
def update_assignment(slug: str, assignment: str) -> Response:
    """Run the update, if it is still the previewed one."""
    course = instructor_of(slug)
    shown = request.form.get("now", "")
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        try:
            changed = update_exercise(session, found, acting(session), shown=shown) is not None
        except CourseError as error:
            raise Refused(409, "not_possible", "This isn’t possible", str(error)) from error
    notice = "assignment-updated" if changed else ""
    return back("staff.show_assignment", slug, notice, assignment=assignment)


def _page(course: Membership, assignment: Assignment, update: Update | None, refused: str) -> str:
    page = UpdatePage(desk_of(course, "assignment"), assignment, update, refused)
    return render_template("staff/confirm_update.html", page=page)
