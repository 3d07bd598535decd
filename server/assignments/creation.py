"""Create assignments, choose their devices, and order them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.analysis.devices import devices
from kernels.exercise import Exercise
from server.accounts.models import Person
from server.assignments.settings import AssignmentSettings, put_settings, wrong_team_size
from server.audit.service import note
from server.courses import service
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, Terms, arch_of, assign, assignments, hold_course, is_device_class
from server.exercises.stored import Content
from server.fleet.models import Worker
from server.grades.gradebook import COLUMNS
from server.grades.points import wrong_tiers
from worker.contract.architectures import ARCHES

_MOST_WORKERS = 1_000


def choosable(session: Session) -> Mapping[str, str]:
    """The title of each class, by name: classes in the device table, and classes of present and past workers."""
    known = {name: device.title for name, device in devices().items() if arch_of(name) in ARCHES}
    return known | {name: known.get(name, name) for name in sorted(_worked_with(session))}


def wrong_class(session: Session, name: str) -> str:
    """Why a class can't be used, in a sentence or two; "" if it can."""
    known = choosable(session)
    if not name or name in known or not is_device_class(name):
        return ""
    if name in devices():
        return f"The compiler no longer supports {devices()[name].title} (compute capability {devices()[name].cc})."
    return f"No worker has had a GPU of class {name}. Choose one of {', '.join(known)}, or start such a worker first."


def _worked_with(session: Session) -> set[str]:
    """Classes in workers' records, also of stopped ones. A record of another version may lack the class."""
    query = select(Worker.record).order_by(Worker.last_beat.desc()).limit(_MOST_WORKERS)
    return {
        name
        for record in session.scalars(query)
        for name, arch in (record.get("device_classes") or {}).items()
        if is_device_class(name) and arch in ARCHES
    }


def set_exercise(
    session: Session,
    course: Course,
    actor: Person | None,
    content: Content,
    terms: Terms,
    setting: AssignmentSettings,
    now: datetime | None = None,
) -> Assignment:
    """Create an assignment from an exercise; raises CourseError.

    terms: fixed parts; setting: changeable parts, valid ones
    """
    moment = now or datetime.now(UTC)
    name = content.exercise.name
    if (terms.slug or name) in COLUMNS:
        raise CourseError(_a_column(terms.slug or name))
    made = assign(session, course, content, replace(terms, title=setting.title), moment)
    if wrong := wrong_tiers(made, setting.speed_by, setting.speed_tiers):
        raise CourseError(wrong, ["speed_tiers"])
    if wrong_teams := wrong_team_size(session, made, setting):
        raise CourseError(wrong_teams["team_size"], wrong_teams)
    put_settings(session, made, replace(setting, title=made.title))
    note(
        session, actor, "assignment.created", f"assignment {course.slug}/{made.slug}", now=moment, course_id=course.id,
        exercise=name, version=content.version[:12], device_class=made.device_class, points=made.points,
        due_at=None if made.due_at is None else made.due_at.isoformat(),
    )  # fmt: skip
    return made


def wrong_terms(session: Session, course: Course, exercise: Exercise | None, terms: Terms) -> dict[str, str]:
    """Mistakes in the fixed parts, by field. exercise: None if none was chosen."""
    slug = terms.slug or (exercise.name if exercise else "")
    found = service.wrong_terms(session, course, exercise, terms)
    if slug in COLUMNS:
        found["slug"] = _a_column(slug)
    if device := wrong_class(session, terms.device_class):
        if not terms.arch:  # otherwise the compiler reports an invalid architecture
            found.pop("arch", None)
        found["device_class"] = device
    return found


def _a_column(name: str) -> str:
    return f"“{name}” is a column of the grades table. Choose another name."


def move(session: Session, course: Course, actor: Person | None, name: str, step: int) -> None:
    """Move one assignment by a place; at the end of the list, nothing changes. Raises CourseError."""
    hold_course(session, course.id)
    names = [one.slug for one in assignments(session, course)]
    if name not in names:
        raise CourseError(f"The course {course.slug} has no assignment {name!r}.")
    place = names.index(name)
    names.remove(name)
    names.insert(max(0, place + step), name)
    order(session, course, actor, names)


def order(session: Session, course: Course, actor: Person | None, first: Sequence[str]) -> list[Assignment]:
    """Put these assignments first, and keep the order of the others; raises CourseError."""
    hold_course(session, course.id)
    was = assignments(session, course)
    known = {one.slug: one for one in was}
    for name in first:
        if name not in known:
            raise CourseError(f"The course {course.slug} has no assignment {name!r}.")
    if len(set(first)) < len(first):
        raise CourseError("Name each assignment once.")
    found = [*(known[name] for name in first), *(one for one in was if one.slug not in first)]
    for place, one in enumerate(found):
        one.position = place
    session.flush()
    if found != list(was):
        _note(session, course, actor, [one.slug for one in found])
    return found


def order_by_deadline(session: Session, course: Course, actor: Person | None) -> list[Assignment]:
    """Sort the assignments by deadline again, also the ones created later."""
    hold_course(session, course.id)
    was = assignments(session, course)
    for one in was:
        one.position = None
    session.flush()
    found = list(assignments(session, course))
    if found != list(was):
        _note(session, course, actor, [one.slug for one in found])
    return found


def _note(session: Session, course: Course, actor: Person | None, names: list[str]) -> None:
    subject = f"course {course.slug}"
    note(session, actor, "course.assignments_ordered", subject, course_id=course.id, order=", ".join(names))
