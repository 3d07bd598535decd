"""The pages that delete an assignment or a course, after they show what is lost."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, render_template, url_for

from server.courses.access import Membership, instructor_of
from server.courses.service import CourseError
from server.http.problems import Refused
from server.http.site import site
from server.staff.assignments.views import assignment_of
from server.staff.courses.deletion import (
    Losses,
    delete_assignment,
    delete_course,
    losses_of_assignment,
    losses_of_course,
)
from server.staff.desk import Desk, acting, back, desk_of, staff, the_course
from server.submissions.changes import revoke


@dataclass(frozen=True, slots=True)
class DeletionPage:
    """What would be deleted. losses: None if it can't be; refused: the reason then. there: the page to return to."""

    desk: Desk
    title: str
    of_course: bool
    losses: Losses | None
    refused: str
    there: str


@staff.get("/assignments/<assignment>/delete")
def confirm_assignment_deletion(slug: str, assignment: str) -> str:
    """Show what deleting the assignment removes, or why it is impossible."""
    course = instructor_of(slug)
    losses, refused = None, ""
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        try:
            losses = losses_of_assignment(session, found)
        except CourseError as error:
            refused = str(error)
        there = url_for("staff.show_assignment", slug=slug, assignment=assignment)
        return _page(course, found.title, losses, refused, there)


@staff.post("/assignments/<assignment>/delete")
def remove_assignment(slug: str, assignment: str) -> Response:
    """Delete the assignment."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        try:
            delete_assignment(session, assignment_of(session, course, assignment), acting(session))
        except CourseError as error:
            raise _impossible(error) from error
    return back("staff.show_assignments", slug, "assignment-deleted")


@staff.get("/delete")
def confirm_course_deletion(slug: str) -> str:
    """Show what deleting the course removes, or why it is impossible."""
    course = instructor_of(slug)
    losses, refused = None, ""
    with site().readers.begin() as session:
        try:
            losses = losses_of_course(session, the_course(session, course))
        except CourseError as error:
            refused = str(error)
    there = url_for("staff.show_settings", slug=slug)
    return _page(course, course.title, losses, refused, there, of_course=True)


@staff.post("/delete")
def remove_course(slug: str) -> Response:
    """Delete the course."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        try:
            tickets = delete_course(session, the_course(session, course), acting(session))
        except CourseError as error:
            raise _impossible(error) from error
    revoke(site().settings.redis_url, tickets)
    return Response(status=303, headers={"Location": url_for("pages.start", notice="course-deleted")})


def _impossible(error: CourseError) -> Refused:
    return Refused(409, "not_possible", "This isn’t possible", str(error))


def _page(
    course: Membership, title: str, losses: Losses | None, refused: str, there: str, *, of_course: bool = False
) -> str:
    desk = desk_of(course, "overview" if of_course else "assignment")
    page = DeletionPage(desk, title, of_course, losses, refused, there)
    return render_template("staff/confirm_deletion.html", page=page)
