"""The form with which course staff move a student to another team."""

from __future__ import annotations

from functools import partial

from flask import Response
from sqlalchemy.orm import Session

from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form
from server.assignments.staff_views import assignment_of, assignment_page
from server.courses.access import Membership
from server.courses.models import Role
from server.courses.staff_pages import back, staff
from server.http.forms import Form
from server.roster.service import Wanted, roster
from server.teams.placement import PLACEMENT, placements


@staff.post("/assignments/<assignment>/teams")
def place_student(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Put a student into a team, or into none."""
    done = partial(back, "staff.show_assignment", slug, "team-changed", assignment=assignment, _anchor="teams-title")
    return change_by_form(PLACEMENT, slug, partial(_chosen, assignment), done, _page, more=("student",))


def _page(session: Session, course: Membership, on: Target, form: Form) -> str:
    return assignment_page(session, course, on, team_form=form)


def _chosen(assignment: str, session: Session, course: Membership, form: Form) -> Target:
    on = assignment_of(session, course, assignment)
    students = {one.person_id for one in roster(session, course.course_id, Wanted(role=Role.STUDENT))}
    people = [person for person in students | placements(session, on).keys() if str(person) == form["student"]]
    if not people:
        form.mistake("student", "Choose a student.")
    return assignment_target(on, *people)
