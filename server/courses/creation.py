"""Create courses: empty ones, and copies of earlier ones for the next term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import insert, literal, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.local_time import days_later, zone_named
from server.courses.models import Assignment, Course, Exercise, ExerciseFile, Role
from server.courses.service import CourseError, assignments, create_course, enrol
from server.courses.settings import check_zone
from server.database.base import Base
from server.enrolment.email_confirmation import secure_before_promotion
from server.exercises.service import own_exercises
from server.talk.models import SavedComment


def creators(session: Session) -> Sequence[Person]:
    """People who may create courses without being operators, by name."""
    query = select(Person).where(Person.creates_courses, Person.erased_at.is_(None))
    return session.scalars(query.order_by(Person.name, Person.email)).all()


def allow(session: Session, person: Person, actor: Person | None, now: datetime | None = None) -> None:
    """Let a person create courses. Writes an audit entry if that is new; raises CourseError."""
    if person.erased_at is not None:
        raise CourseError("This person was erased.")
    if not person.creates_courses:
        secure_before_promotion(session, person, actor, now=now)
        person.creates_courses = True
        note(session, actor, "course.creator_added", f"person {person.id}", now=now)
        session.flush()


def disallow(session: Session, person: Person, actor: Person | None, now: datetime | None = None) -> None:
    """End the right to create courses. The person's courses stay."""
    if person.creates_courses:
        person.creates_courses = False
        note(session, actor, "course.creator_removed", f"person {person.id}", now=now)
        session.flush()


def found_course(
    session: Session, actor: Person, slug: str, title: str, zone: str, now: datetime | None = None
) -> Course:
    """Create a course with the actor as its instructor; raises CourseError."""
    check_zone(zone)
    made = create_course(session, slug, title, now)
    made.time_zone = zone
    enrol(session, made, actor, Role.INSTRUCTOR, now)
    note(session, actor, "course.created", f"course {made.slug}", now=now, course_id=made.id, title=made.title)
    return made


MOST_DAYS = 3_660
_OF_THE_COURSE = frozenset({"id", "slug", "title", "created_at", "archived_at", "enrolment_code"})
_OF_THE_ASSIGNMENT = frozenset({"id", "course_id", "exercise_id", "created_at"})


def first_day(session: Session, course: Course) -> date | None:
    """The first day with a date of an assignment, in the course's time zone; None without dates."""
    times = [
        moment
        for one in assignments(session, course)
        for moment in (one.opens_at, one.due_at, one.closes_at)
        if moment is not None
    ]
    return min(times).astimezone(zone_named(course.time_zone)).date() if times else None


def days_until(session: Session, course: Course, starts: date) -> int:
    """By how many days a copy moves its dates, so that the first day is `starts`; raises CourseError."""
    first = first_day(session, course)
    if first is None:
        raise CourseError("No assignment has a date. Leave this empty.", ["starts"])
    return (starts - first).days


@dataclass(frozen=True, slots=True)
class Dates:
    """The times of an assignment in a course."""

    opens_at: datetime | None
    due_at: datetime | None
    closes_at: datetime | None


@dataclass(frozen=True, slots=True)
class MovedDates:
    """The times of an assignment, and those of its copy. listed: whether students will see the copy."""

    assignment: Assignment
    was: Dates
    now: Dates
    listed: bool


def moved_dates(session: Session, source: Course, days: int) -> list[MovedDates]:
    """The times that the copies of assignments get, in the course's order; raises CourseError.

    An assignment that was open from the start opens on the copy's first day. Without any date, it is hidden.
    """
    if abs(days) > MOST_DAYS:
        raise CourseError(f"The shift must be at most {MOST_DAYS:,} days.", ["days", "starts"])
    zone, opening = zone_named(source.time_zone), _first_opening(session, source, days)
    return [_moved_dates(one, days, zone, opening) for one in assignments(session, source)]


def _moved_dates(one: Assignment, days: int, zone: ZoneInfo, opening: datetime | None) -> MovedDates:
    was = Dates(one.opens_at, one.due_at, one.closes_at)
    now = Dates(*(_moved(at, days, zone) for at in (was.opens_at, was.due_at, was.closes_at)))
    if was.opens_at is not None:
        return MovedDates(one, was, now, one.listed)
    fits = opening is not None and (now.due_at is None or opening < now.due_at)
    return MovedDates(one, was, replace(now, opens_at=opening if fits else None), one.listed and fits)


def check_dates(dates: Dates) -> None:
    """Raise CourseError if an assignment can't have these times."""
    opens, due, closes = dates.opens_at, dates.due_at, dates.closes_at
    if opens is not None and due is not None and opens >= due:
        raise CourseError("The due time must be after the opening.", ["due"])
    if due is not None and closes is not None and closes < due:
        raise CourseError("The closing time can’t be before the due time.", ["closes"])
    if opens is not None and closes is not None and closes <= opens:
        raise CourseError("The closing time must be after the opening.", ["closes"])


def copy_course(
    session: Session,
    source: Course,
    actor: Person | None,
    slug: str,
    title: str,
    *,
    days: int = 0,
    dates: Mapping[str, Dates] | None = None,
    instructor: Person | None = None,
    now: datetime | None = None,
) -> Course:
    """Copy a course's settings, assignments and exercises; raises CourseError. Later changes in one don't change the
    other.

    The copy gets the exercises' versions that assignments use, and the newest published ones. It gets no drafts.

    days: added to all dates; the time of day stays, also when clocks change
    dates: other times of assignments, by short name
    instructor: the copy's only member
    """
    found = moved_dates(session, source, days)
    moment = now or datetime.now(UTC)
    made = create_course(session, slug, title, moment)
    for name, value in _values(source, _OF_THE_COURSE).items():
        setattr(made, name, value)
    # Nobody can have objected to the copy's removal before there was a copy.
    made.retention_set_at = moment if made.retention_days else None
    session.flush()
    zone = zone_named(source.time_zone)
    versions: dict[int, int] = {}
    copies: dict[int, Assignment] = {}
    for each in found:
        one, chosen = each.assignment, (dates or {}).get(each.assignment.slug, each.now)
        check_dates(chosen)
        values = {name: _moved(value, days, zone) for name, value in _values(one, _OF_THE_ASSIGNMENT).items()}
        values |= asdict(chosen) | {"listed": one.listed and chosen.opens_at is not None}
        if values["board_frozen_at"] and chosen.due_at and each.now.due_at:
            values["board_frozen_at"] += chosen.due_at - each.now.due_at
        exercise = _copied(session, one.exercise, made.id, moment, versions)
        copies[one.id] = Assignment(course_id=made.id, exercise_id=exercise, created_at=moment, **values)
    session.add_all(copies.values())
    session.flush()
    for saved in session.scalars(select(SavedComment).where(SavedComment.course_id == source.id)):
        of = None if saved.assignment_id is None else copies[saved.assignment_id].id
        session.add(SavedComment(course_id=made.id, assignment_id=of, text=saved.text))
    for own in own_exercises(session, source.id):
        if own.versions:
            _copied(session, own.versions[0], made.id, moment, versions)
    if instructor is not None:
        enrol(session, made, instructor, Role.INSTRUCTOR, moment)
    session.flush()
    note(
        session, actor, "course.copied", f"course {made.slug}", now=moment, course_id=made.id,
        source=f"course {source.slug}", assignments=len(found), days=days,
    )  # fmt: skip
    return made


def _first_opening(session: Session, source: Course, days: int) -> datetime | None:
    """When the copy's first day begins; None if no assignment has a date."""
    first, zone = first_day(session, source), zone_named(source.time_zone)
    return None if first is None else _moved(datetime.combine(first, time(), zone), days, zone)


def _values(row: Base, without: frozenset[str]) -> dict[str, Any]:
    """The columns of a row by name. A column added later is copied, too."""
    return {column.name: getattr(row, column.name) for column in row.__table__.columns if column.name not in without}


def _moved(value: Any, days: int, zone: ZoneInfo) -> Any:
    """A time so many days later; other values unchanged."""
    return days_later(value, days, zone) if isinstance(value, datetime) else value


def _copied(session: Session, exercise: Exercise, course_id: int, now: datetime, versions: dict[int, int]) -> int:
    """The ID of the copy's exercise. A course's own exercise gets a new row."""
    if exercise.course_id is None:
        return exercise.id
    if exercise.id not in versions:
        values = _values(exercise, frozenset({"id", "course_id", "added_at"}))
        made = Exercise(course_id=course_id, added_at=now, **values)
        session.add(made)
        session.flush()
        files = select(literal(made.id), ExerciseFile.name, ExerciseFile.content)
        session.execute(
            insert(ExerciseFile).from_select(
                ["exercise_id", "name", "content"], files.where(ExerciseFile.exercise_id == exercise.id)
            )
        )
        versions[exercise.id] = made.id
    return versions[exercise.id]
