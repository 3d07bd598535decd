"""Staff pages for assignments: list, create, change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Response, render_template
from sqlalchemy.orm import Session

from kernels.exercise import Exercise, list_exercises
from server.accounts.access import nothing_here
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.exercises import read_content
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Counts, Extension, Role
from server.courses.models import Exercise as ExerciseRow
from server.courses.service import CourseError, Terms, find_assignment, hold_course
from server.fleet.service import device_classes
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site
from server.staff.assignments import order
from server.staff.assignments.assignment_settings import FIELDS, AssignmentSettings, setting_of
from server.staff.assignments.device_choice import choosable
from server.staff.assignments.exercise_update import is_judged, is_outdated
from server.staff.assignments.service import Line, change_setting, extensions, lines, set_exercise, wrong_terms
from server.staff.assignments.setting_form import as_typed, read_setting, whole
from server.staff.desk import Desk, acting, back, confirmed, desk_of, staff, the_course
from server.staff.exercises.service import newer_version, newest_content, offered
from server.staff.form_merge import SHOWN, merge, shown_form
from server.staff.losses import losses_confirmed
from server.staff.roster.service import Wanted, roster
from server.submissions.rules.tiers import wrong_tiers
from server.talk.extension_requests.service import open_requests
from server.talk.models import ExtensionRequest

COUNTS = (
    (Counts.BEST.value, "The best"),
    (Counts.LAST.value, "The last"),
    (Counts.CHOSEN.value, "The student’s choice"),
)
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

    own: the newest versions of the course's own exercises
    """

    desk: Desk
    form: Form
    exercises: tuple[Exercise, ...]
    own: tuple[Exercise, ...]
    classes: list[tuple[str, str]]
    zone: str


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """An assignment. students: who can get an extension; shown: the digest of its current settings.

    newer: a newer published version of the course's own exercise; None for none
    asked: the oldest open extension requests
    """

    desk: Desk
    assignment: Assignment
    form: Form
    extension_form: Form
    extensions: list[Extension]
    students: list[tuple[str, str]]
    zone: str
    outdated: bool
    newer: ExerciseRow | None = None
    asked: Sequence[ExtensionRequest] = ()

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
    return render_template("staff/assignments.html", page=page)


@staff.get("/assignments/new")
def new_assignment(slug: str) -> str:
    """Show the form for a new assignment."""
    course = instructor_of(slug)
    setting = as_typed(AssignmentSettings(), zone_named(course.time_zone)) | {"title": ""}
    return _new(course, filled(setting))


@staff.post("/assignments")
def set_assignment(slug: str) -> str | Response | tuple[str, int]:
    """Create an assignment."""
    course = instructor_of(slug)
    form = sent(*FIELDS, *_TERMS)
    with site().readers.begin() as session:
        own = offered(session, course.course_id)
    known = {exercise.name: exercise for exercise in _exercises()} | {
        f"{OWN}{name}": exercise for name, exercise in own.items()
    }
    chosen = known.get(form["exercise"])
    if chosen is None:
        form.mistake("exercise", "Choose an exercise.")
    elif not form["title"]:
        form.values["title"] = chosen.title
    tile = whole(form, "tile") if form["tile"] else None
    terms = Terms(slug=form["slug"], device_class=form["device_class"], arch=form["arch"], tile=tile)
    with site().readers.begin() as session:
        for name, text in wrong_terms(session, the_course(session, course), chosen, terms).items():
            form.mistake(name, text)
    setting = read_setting(form, zone_named(course.time_zone), AssignmentSettings())
    if form.right and chosen is not None:
        mine = form["exercise"].startswith(OWN)
        try:
            with site().sessions.begin() as session:
                content = newest_content(session, course.course_id, chosen.name) if mine else read_content(chosen)
                made = set_exercise(session, the_course(session, course), acting(session), content, terms, setting)
                return back("staff.show_assignment", slug, "assignment-set", assignment=made.slug)
        except CourseError as error:  # wrong tiers, or another person used the name meanwhile
            form.mistake(next(iter(error.fields), "slug"), str(error))
    return _new(course, form), 422


@staff.get("/assignments/<assignment>")
def show_assignment(slug: str, assignment: str) -> str:
    """Show an assignment's settings and extensions."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        form = shown_form(as_typed(setting_of(found), zone_named(course.time_zone)))
        return assignment_page(session, course, found, form)


@staff.post("/assignments/<assignment>")
def change_assignment(slug: str, assignment: str) -> str | Response | tuple[str, int]:
    """Save an assignment's settings."""
    course = instructor_of(slug)
    form = sent(*FIELDS, SHOWN)
    zone = zone_named(course.time_zone)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        hold_course(session, course.course_id)
        session.refresh(found, with_for_update={"key_share": True, "of": Assignment})
        was = setting_of(found)
        outdated = merge(form, as_typed(was, zone))
        setting = read_setting(form, zone, was)
        if form.right and (wrong := wrong_tiers(found, setting.speed_by, setting.speed_tiers)):
            form.mistake("speed_tiers", wrong)
        if form.right:
            with losses_confirmed(session, found, confirmed()):
                change_setting(session, the_course(session, course), found, acting(session), setting)
            return back("staff.show_assignment", slug, "assignment-changed", assignment=assignment)
    with site().readers.begin() as session:
        page = assignment_page(session, course, assignment_of(session, course, assignment), form)
    return page, 409 if outdated else 422


@staff.post("/assignment-order")
def move_assignment(slug: str) -> Response:
    """Move an assignment up or down, or sort all by deadline."""
    course = instructor_of(slug)
    form = sent(*_STEPS)
    try:
        with site().sessions.begin() as session:
            row, actor = the_course(session, course), acting(session)
            for name, step in _STEPS.items():
                if form[name]:
                    order.move(session, row, actor, form[name], step)
            if not any(form.values.values()):
                order.order_by_deadline(session, row, actor)
    except CourseError as error:
        raise Refused(409, "not_possible", "This isn’t possible", str(error)) from error
    return back("staff.show_assignments", slug, "assignments-ordered")


def assignment_of(session: Session, course: Membership, name: str) -> Assignment:
    """The course's assignment of that name; 404 for any other."""
    found = find_assignment(session, f"{course.slug}/{name}")
    if found is None:
        raise nothing_here()
    return found


def assignment_page(
    session: Session, course: Membership, assignment: Assignment, form: Form, extension_form: Form | None = None
) -> str:
    """The assignment's page, with the form's current values."""
    students = roster(session, course.course_id, Wanted(role=Role.STUDENT))
    page = AssignmentPage(
        desk_of(course, "assignment"),
        assignment,
        form,
        extension_form or filled({}),
        list(extensions(session, assignment)),
        [(str(one.person_id), f"{one.name} · {one.email}") for one in students],
        course.time_zone,
        outdated=is_outdated(session, assignment),
        newer=newer_version(session, assignment.exercise),
        asked=open_requests(session, [assignment.id], MOST_ASKED),
    )
    return render_template("staff/assignment.html", page=page, counts=COUNTS)


def _new(course: Membership, form: Form) -> str:
    with site().readers.begin() as session:
        measured = device_classes(session, datetime.now(UTC))
        known = choosable(session)
        mine = tuple(offered(session, course.course_id).values())
    classes = [("", "None: not measured")]
    classes += [(name, f"{known.get(name, name)} · available") for name in sorted(measured)]
    classes += [(name, title) for name, title in known.items() if name not in measured]
    page = NewPage(desk_of(course, "assignment"), form, _exercises(), mine, classes, course.time_zone)
    return render_template("staff/new_assignment.html", page=page, counts=COUNTS, own_prefix=OWN)


def _exercises() -> tuple[Exercise, ...]:
    return list_exercises()
