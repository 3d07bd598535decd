"""Create assignments, change their settings, grant extensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from kernels.exercise import Exercise
from server.accounts.models import Person
from server.audit.service import note
from server.courses import service
from server.courses.exercises import Content
from server.courses.models import Assignment, Course, Extension, Role
from server.courses.service import CourseError, Terms, assign, assignments_for
from server.staff.assignments.assignment_settings import FIELDS, AssignmentSettings, differences, mistakes, setting_of
from server.staff.assignments.device_choice import wrong_class
from server.staff.assignments.exercise_update import is_judged
from server.staff.roster.service import membership_of
from server.standings.service import freeze
from server.submissions.models import Submission
from server.submissions.rules.tiers import wrong_tiers

LONGEST_REASON = 500
MOST_EXTRA = 1_000
_COLUMNS = frozenset({"email", "name", "section", "total"})
_DEADLINES = frozenset({"due_at", "closes_at", "opens_at"})


@dataclass(frozen=True, slots=True)
class Line:
    """An assignment in the list.

    students: how many students submitted; refused: whether workers of this version refuse its submissions
    """

    assignment: Assignment
    students: int
    submissions: int
    extensions: int
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A student's extension."""

    due_at: datetime | None = None
    closes_at: datetime | None = None
    extra_attempts: int = 0
    reason: str = ""


def lines(session: Session, course: Course) -> list[Line]:
    """All assignments of a course, with few queries."""
    found = assignments_for(session, course.id, Role.INSTRUCTOR)
    numbers = [one.id for one in found]
    counted = select(Submission.assignment_id, func.count(), func.count(Submission.person_id.distinct())).where(
        Submission.assignment_id.in_(numbers)
    )
    handed_in = {
        number: (every, people) for number, every, people in session.execute(counted.group_by(Submission.assignment_id))
    }
    granted = select(Extension.assignment_id, func.count()).where(Extension.assignment_id.in_(numbers))
    extended = dict(session.execute(granted.group_by(Extension.assignment_id)).all())
    return [
        Line(
            one, handed_in.get(one.id, (0, 0))[1], handed_in.get(one.id, (0, 0))[0],
            extended.get(one.id, 0), not is_judged(one.exercise),
        )
        for one in found
    ]  # fmt: skip


def set_exercise(
    session: Session,
    course: Course,
    actor: Person | None,
    content: Content,
    terms: Terms,
    setting: AssignmentSettings | None = None,
    now: datetime | None = None,
) -> Assignment:
    """Create an assignment from an exercise; raises CourseError.

    terms: fixed parts; setting: changeable parts, which otherwise come from `terms`
    """
    moment = now or datetime.now(UTC)
    name = content.exercise.name
    if (terms.slug or name) in _COLUMNS:
        raise CourseError(_a_column(terms.slug or name))
    if setting is not None:
        terms = replace(
            terms, title=setting.title or terms.title, points=setting.points, opens_at=setting.opens_at,
            due_at=setting.due_at,
        )  # fmt: skip
    made = assign(session, course, content, terms, moment)
    if setting is not None:
        _refuse_wrong_tiers(made, setting)
        _put(session, made, replace(setting, title=made.title))
    note(
        session, actor, "assignment.created", _subject(course, made), now=moment, course_id=course.id,
        exercise=name, version=content.version[:12], device_class=made.device_class, points=made.points,
        due_at=None if made.due_at is None else made.due_at.isoformat(),
    )  # fmt: skip
    return made


def wrong_terms(session: Session, course: Course, exercise: Exercise | None, terms: Terms) -> dict[str, str]:
    """Mistakes in the fixed parts, by field. exercise: None if none was chosen."""
    slug = terms.slug or (exercise.name if exercise else "")
    found = service.wrong_terms(session, course, exercise, terms)
    if slug in _COLUMNS:
        found["slug"] = _a_column(slug)
    if device := wrong_class(session, terms.device_class):
        if not terms.arch:  # otherwise the compiler reports an invalid architecture
            found.pop("arch", None)
        found["device_class"] = device
    return found


def change_setting(
    session: Session,
    course: Course,
    assignment: Assignment,
    actor: Person | None,
    setting: AssignmentSettings,
    now: datetime | None = None,
) -> Mapping[str, list[Any]]:
    """Change the settings; returns old and new values of the changed ones. Raises CourseError.

    The audit marks a deadline that moves after the opening, with the number of students who had submitted.
    """
    moment = now or datetime.now(UTC)
    wrong = mistakes(setting)
    if wrong:
        raise CourseError(next(iter(wrong.values())))
    _refuse_wrong_tiers(assignment, setting)
    was = setting_of(assignment)
    changed = differences(was, setting)
    if not changed:
        return changed
    detail: dict[str, Any] = dict(changed)
    opened = was.opens_at is None or was.opens_at <= moment
    moved = opened and bool(_DEADLINES & changed.keys())
    if moved:
        query = select(func.count(Submission.person_id.distinct()))
        detail["students_at_work"] = session.scalar(query.where(Submission.assignment_id == assignment.id))
    _put(session, assignment, setting)
    action = "assignment.deadline_moved" if moved else "assignment.changed"
    note(session, actor, action, _subject(course, assignment), now=moment, course_id=course.id, **detail)
    return changed


def extensions(session: Session, assignment: Assignment) -> Sequence[Extension]:
    """An assignment's extensions, by the students' names."""
    query = select(Extension).where(Extension.assignment_id == assignment.id)
    found = session.scalars(query.options(joinedload(Extension.person))).all()
    return sorted(found, key=lambda one: (one.person.name.casefold(), one.person.email))


def wrong_grant(assignment: Assignment, grant: Grant) -> dict[str, str]:
    """Mistakes by field, also for an extension that gives the student nothing."""
    found: dict[str, str] = {}
    for name, word in (("due_at", "becomes due"), ("closes_at", "closes")):
        mine, usual = getattr(grant, name), getattr(assignment, name)
        if mine is not None and usual is None:
            found[name] = f"The assignment never {word}. Leave this empty."
        elif mine is not None and mine <= usual:
            found[name] = f"The assignment itself {word} then or later. Enter a later time, or leave this empty."
    due = max((one for one in (grant.due_at, assignment.due_at) if one is not None), default=None)
    if grant.closes_at is not None and due is not None and due > grant.closes_at:
        found.setdefault("closes_at", "The closing time can’t be before the due time.")
    if not 0 <= grant.extra_attempts <= MOST_EXTRA:
        found["extra_attempts"] = f"Extra attempts must be between 0 and {MOST_EXTRA:,}."
    elif grant.extra_attempts and assignment.attempts is None:
        found["extra_attempts"] = "The assignment has unlimited attempts. Leave this empty."
    if len(grant.reason) > LONGEST_REASON:
        found["reason"] = f"The reason is too long. The limit is {LONGEST_REASON} characters."
    if grant.due_at is None and grant.closes_at is None and not grant.extra_attempts:
        found.setdefault("due_at", "Enter a later time or extra attempts.")
    return found


def grant(
    session: Session,
    course: Course,
    assignment: Assignment,
    actor: Person | None,
    person_id: int,
    given: Grant,
    now: datetime | None = None,
) -> Extension:
    """Grant an extension, which replaces the student's earlier one; raises CourseError.

    The audit leaves the reason out: it may mention an illness.
    """
    moment = now or datetime.now(UTC)
    wrong = wrong_grant(assignment, given)
    if wrong:
        raise CourseError(next(iter(wrong.values())))
    member = membership_of(session, course, person_id)
    if member.role is not Role.STUDENT:
        raise CourseError("Only students have extensions. Staff can submit at any time.")
    found = session.get(Extension, (assignment.id, person_id))
    if found is None:
        found = Extension(assignment_id=assignment.id, person_id=person_id)
    found.due_at, found.closes_at = given.due_at, given.closes_at
    found.extra_attempts, found.reason = given.extra_attempts, given.reason
    found.granted_by, found.created_at = None if actor is None else actor.id, moment
    session.add(found)
    session.flush()
    note(
        session, actor, "extension.granted", _subject(course, assignment), now=moment, course_id=course.id,
        person=person_id, due_at=_iso(given.due_at), closes_at=_iso(given.closes_at),
        extra_attempts=given.extra_attempts,
    )  # fmt: skip
    return found


def withdraw(session: Session, course: Course, assignment: Assignment, actor: Person | None, person_id: int) -> bool:
    """Remove a student's extension; False if there was none."""
    found = session.get(Extension, (assignment.id, person_id))
    if found is None:
        return False
    session.delete(found)
    session.flush()
    note(
        session, actor, "extension.withdrawn", _subject(course, assignment), course_id=course.id,
        person=person_id,
    )  # fmt: skip
    return True


def _put(session: Session, assignment: Assignment, setting: AssignmentSettings) -> None:
    frozen_before = assignment.board_frozen_at
    for name in FIELDS:
        if name != "board_frozen_at":
            setattr(assignment, name, getattr(setting, name))
    session.flush()
    if setting.board_frozen_at != frozen_before:
        freeze(session, assignment, setting.board_frozen_at)
    session.flush()


def _refuse_wrong_tiers(assignment: Assignment, setting: AssignmentSettings) -> None:
    wrong = wrong_tiers(assignment, setting.speed_by, setting.speed_tiers)
    if wrong:
        raise CourseError(wrong, ["speed_tiers"])


def _a_column(name: str) -> str:
    return f"“{name}” is a column of the grades table. Choose another name."


def _subject(course: Course, assignment: Assignment) -> str:
    return f"assignment {course.slug}/{assignment.slug}"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
