"""Staff pages for assignments: list, create, change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from kernels.exercise import Exercise
from kernels.exercise.catalogue import Level, catalogue, catalogue_entries
from server.accounts.access import nothing_here
from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form, form_now, note_mistakes, read_values, typed_values
from server.assignments import creation
from server.assignments.creation import choosable, set_exercise, wrong_terms
from server.assignments.exercise_update import Line, Update, is_judged, is_outdated, lines, plan_update, update_exercise
from server.assignments.extension_requests import open_requests
from server.assignments.extensions import EXTENSION, extensions
from server.assignments.settings import SETTINGS, AssignmentSettings, wrong_settings
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Extension, Role
from server.courses.models import Exercise as ExerciseRow
from server.courses.service import CourseError, Terms, find_assignment
from server.courses.staff_pages import Desk, acting, asked, back, desk_of, mistakes_noted, staff, the_course
from server.exercises.service import newer_version, newest_content, offered
from server.exercises.stored import read_content
from server.fleet.service import device_classes
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.roster.service import Wanted, roster
from server.talk.models import ExtensionRequest
from server.teams.placement import PLACEMENT
from server.teams.queries import TeamView, teams_in

OWN = "own:"
"""In a form, before the name of a course's own exercise. Tilelab may have one of the same name."""

MOST_ASKED = 50
"""Open extension requests on an assignment's page."""

_STEPS = {"up": -1, "down": 1}
_TERMS = ("exercise", "slug", "device_class", "arch", "tile")


@dataclass(frozen=True, slots=True)
class AssignmentsPage:
    """The course's assignments."""

    desk: Desk
    lines: list[Line]
    now: datetime


@dataclass(frozen=True, slots=True)
class NewPage:
    """The form for a new assignment.

    levels: the exercises that come with Tilelab
    own: the newest versions of the course's own exercises
    """

    desk: Desk
    form: Form
    levels: Sequence[Level]
    own: tuple[Exercise, ...]
    classes: list[tuple[str, str]]
    zone: str


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """An assignment. students: who can get an extension.

    newer: a newer published version of the course's own exercise; None for none
    asked: the oldest open extension requests
    teams: without any if it has no teams
    """

    desk: Desk
    assignment: Assignment
    form: Form
    extension_form: Form
    team_form: Form
    extensions: list[Extension]
    students: list[tuple[str, str]]
    zone: str
    outdated: bool
    newer: ExerciseRow | None = None
    asked: Sequence[ExtensionRequest] = ()
    teams: Sequence[TeamView] = ()

    @property
    def placeable(self) -> list[tuple[str, str]]:
        """Who can be moved: students, and members of teams who became staff."""
        members = [(str(one.id), f"{one.name} · {one.email}") for team in self.teams for one in team.members]
        return list({**dict(self.students), **dict(members)}.items())

    @property
    def refused(self) -> bool:
        """Whether workers of this version refuse its submissions."""
        return not is_judged(self.assignment.exercise)


@staff.get("/assignments")
def show_assignments(slug: str) -> str:
    """List the assignments."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = lines(session, the_course(session, course))
    page = AssignmentsPage(desk_of(course, "assignment"), found, datetime.now(UTC))
    return render_template("assignments/staff_assignments.html", page=page)


@staff.get("/assignments/new")
def new_assignment(slug: str) -> str:
    """Show the form for a new assignment."""
    course = instructor_of(slug)
    form = filled(typed_values(AssignmentSettings(), zone_named(course.time_zone)))
    form.values["exercise"] = asked("exercise")
    return _new(course, form)


@staff.post("/assignments")
def set_assignment(slug: str) -> str | Response | tuple[str, int]:
    """Create an assignment."""
    course = instructor_of(slug)
    form = sent(*SETTINGS.by_name, *_TERMS)
    with site().readers.begin() as session:
        own = offered(session, course.course_id)
    known = {name: entry.exercise for name, entry in catalogue_entries().items()} | {
        f"{OWN}{name}": exercise for name, exercise in own.items()
    }
    chosen = known.get(form["exercise"])
    if chosen is None:
        form.mistake("exercise", "Choose an exercise.")
    elif not form["title"]:
        form.values["title"] = chosen.title
    tile = form.whole("tile") if form["tile"] else None
    terms = Terms(slug=form["slug"], device_class=form["device_class"], arch=form["arch"], tile=tile)
    with site().readers.begin() as session:
        for name, text in wrong_terms(session, the_course(session, course), chosen, terms).items():
            form.mistake(name, text)
    setting = read_values(form, AssignmentSettings(), zone_named(course.time_zone))
    note_mistakes(form, SETTINGS, wrong_settings(setting))
    if form.right and chosen is not None:
        mine = form["exercise"].startswith(OWN)
        # Refused for wrong tiers, or if another person used the name meanwhile.
        with mistakes_noted(form, "slug"), site().sessions.begin() as session:
            content = newest_content(session, course.course_id, chosen.name) if mine else read_content(chosen)
            made = set_exercise(session, the_course(session, course), acting(session), content, terms, setting)
            return back("staff.show_assignment", slug, "assignment-set", assignment=made.slug)
    return _new(course, form), 422


@staff.get("/assignments/<assignment>")
def show_assignment(slug: str, assignment: str) -> str:
    """Show an assignment's settings and extensions."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        return assignment_page(session, course, assignment_target(assignment_of(session, course, assignment)))


@staff.post("/assignments/<assignment>")
def change_assignment(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Save an assignment's settings."""
    done = partial(back, "staff.show_assignment", slug, "assignment-changed", assignment=assignment)
    return change_by_form(SETTINGS, slug, partial(on_assignment, assignment), done, assignment_page)


@staff.post("/assignment-order")
def move_assignment(slug: str) -> Response:
    """Move an assignment up or down, or sort all by deadline."""
    course = instructor_of(slug)
    form = sent(*_STEPS)
    with site().sessions.begin() as session:
        row, actor = the_course(session, course), acting(session)
        for name, step in _STEPS.items():
            if form[name]:
                creation.move(session, row, actor, form[name], step)
        if not any(form.values.values()):
            creation.order_by_deadline(session, row, actor)
    return back("staff.show_assignments", slug, "assignments-ordered")


def assignment_of(session: Session, course: Membership, name: str) -> Assignment:
    """The course's assignment of that name; 404 for any other."""
    found = find_assignment(session, f"{course.slug}/{name}")
    if found is None:
        raise nothing_here()
    return found


def on_assignment(name: str, session: Session, course: Membership, _: Form) -> Target:
    """Find an assignment that a form changes."""
    return assignment_target(assignment_of(session, course, name))


def on_student(name: str, person: int, session: Session, course: Membership, _: Form) -> Target:
    """Find what a student has in an assignment."""
    return assignment_target(assignment_of(session, course, name), person)


def assignment_page(
    session: Session,
    course: Membership,
    on: Target,
    form: Form | None = None,
    extension_form: Form | None = None,
    team_form: Form | None = None,
) -> str:
    """The assignment's page. form: with settings that were sent; None for the present ones."""
    assignment, students = on.assignment, roster(session, course.course_id, Wanted(role=Role.STUDENT))
    page = AssignmentPage(
        desk_of(course, "assignment"),
        assignment,
        form or form_now(SETTINGS, session, on),
        extension_form or filled({}),
        team_form or filled({}),
        list(extensions(session, assignment)),
        [(str(one.person_id), f"{one.name} · {one.email}") for one in students],
        course.time_zone,
        outdated=is_outdated(session, assignment),
        newer=newer_version(session, assignment.exercise),
        asked=open_requests(session, [assignment.id], MOST_ASKED),
        teams=() if assignment.team_size == 1 else teams_in(session, assignment),
    )
    return render_template(
        "assignments/staff_assignment.html",
        page=page,
        fields=SETTINGS.fields,
        granted=EXTENSION.by_name,
        placed=PLACEMENT.by_name,
    )


def _new(course: Membership, form: Form) -> str:
    with site().readers.begin() as session:
        measured = device_classes(session, datetime.now(UTC))
        known = choosable(session)
        mine = tuple(offered(session, course.course_id).values())
    classes = [("", "None: not measured")]
    classes += [(name, f"{known.get(name, name)} · available") for name in sorted(measured)]
    classes += [(name, title) for name, title in known.items() if name not in measured]
    page = NewPage(desk_of(course, "assignment"), form, catalogue(), mine, classes, course.time_zone)
    return render_template("assignments/new_assignment.html", page=page, fields=SETTINGS.fields, own_prefix=OWN)


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
        changed = update_exercise(session, found, acting(session), shown=shown) is not None
    notice = "assignment-updated" if changed else ""
    return back("staff.show_assignment", slug, notice, assignment=assignment)


def _page(course: Membership, assignment: Assignment, update: Update | None, refused: str) -> str:
    page = UpdatePage(desk_of(course, "assignment"), assignment, update, refused)
    return render_template("assignments/confirm_update.html", page=page)
