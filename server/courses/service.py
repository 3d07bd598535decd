"""Create and find courses, memberships and assignments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, or_, select
from sqlalchemy.orm import Session, contains_eager, joinedload

from kernels.analysis.devices import devices
from kernels.exercise import Exercise as Found
from kernels.exercise import ExerciseError
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.titles import title_line, title_mistake
from server.exercises.stored import Content, installed_content, keep
from worker.contract.architectures import ARCHES

DEFAULT_ARCH = "sm_90"
SHORT_NAME = r"[a-z0-9][a-z0-9._\-]{0,59}"
"""The pattern of a short name of a course, an assignment or an exercise."""

_SLUG = re.compile(SHORT_NAME)
DEVICE_CLASS = r"[a-z0-9][a-z0-9\-]{0,47}"
"""The pattern of a device class, such as h200."""

_DEVICE_CLASS = re.compile(DEVICE_CLASS)
_PLACE = Assignment.position.is_(None), Assignment.position
_DUE = Assignment.due_at.is_(None), Assignment.due_at
"""None last: by default, PostgreSQL puts NULL last and SQLite puts it first."""


class CourseError(ValueError):
    """A change of a course is refused; the text tells the person why.

    fields: the names of the invalid fields
    """

    def __init__(self, text: str, fields: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.fields = tuple(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The fixed parts of a new assignment, and its title.

    slug, title: "" for the exercise's own name and title
    device_class: the GPU that measures it; "" for none
    arch: the architecture to compile for; "" for the architecture of the device class, or sm_90
    tile: None for the exercise's own
    """

    slug: str = ""
    title: str = ""
    device_class: str = ""
    arch: str = ""
    tile: int | None = None


def create_course(session: Session, slug: str, title: str, now: datetime | None = None) -> Course:
    """Create a course; raises CourseError if its name is taken or invalid."""
    _check_slug(slug)
    if find_course(session, slug) is not None:
        raise CourseError(f"The course {slug} already exists.")
    course = Course(slug=slug, title=title_of(title), created_at=now or datetime.now(UTC))
    session.add(course)
    session.flush()
    return course


def title_of(text: str) -> str:
    """The title in its stored form; raises CourseError."""
    line = title_line(text)
    wrong = title_mistake(line)
    if wrong:
        raise CourseError(wrong, ["title"])
    return line


def find_course(session: Session, slug: str) -> Course | None:
    """Find a course by its name in addresses; None for none."""
    if not _SLUG.fullmatch(slug):
        return None
    return session.scalar(select(Course).where(Course.slug == slug))


def course_and_role(session: Session, person_id: int, slug: str) -> tuple[Course, Role] | None:
    """A course with a person's role in it; None for a stranger, as for a course that doesn't exist."""
    if not _SLUG.fullmatch(slug):
        return None
    query = with_role(select(Course).select_from(Course), person_id, Course.id.expression)
    found = session.execute(query.where(Course.slug == slug)).one_or_none()
    role = None if found is None else role_from(*found[1:])
    return None if found is None or role is None else (found[0], role)


def hold_course(session: Session, course_id: int) -> None:
    """Lock a course until the end of the transaction. Take this lock before any other.

    A transaction that decides by the state of the course holds it, so it can't change before the commit.

    Submissions and results don't wait for this lock. SQLite has only one writer anyway.
    """
    session.execute(select(Course.id).where(Course.id == course_id).with_for_update(key_share=True))


def hold_active_course(session: Session, course_id: int) -> None:
    """Lock a course, as `hold_course` does. Raises CourseError if it is archived."""
    hold_course(session, course_id)
    if session.scalar(select(Course.archived_at).where(Course.id == course_id)) is not None:
        raise CourseError("This course is archived. Its grades and comments don’t change any more.")


def courses(session: Session) -> Sequence[Course]:
    """All courses, the newest first."""
    return session.scalars(select(Course).order_by(Course.created_at.desc(), Course.slug)).all()


def enrol(
    session: Session, course: Course, person: Person, role: Role = Role.STUDENT, now: datetime | None = None
) -> Membership:
    """Add a person to a course, also after they left. A member gets the new role."""
    if person.erased_at is not None:
        raise CourseError("This person was erased and can't be enrolled.")
    found = session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.person_id == person.id)
    )
    if found is None:
        found = Membership(course_id=course.id, person_id=person.id, created_at=now or datetime.now(UTC))
        session.add(found)
    found.role, found.dropped_at = role, None
    session.flush()
    return found


def id_holder(session: Session, course_id: int, student_id: str) -> Membership | None:
    """The member with this student ID, even if dropped; None for none."""
    if not student_id:
        return None
    return session.scalar(
        select(Membership).where(Membership.course_id == course_id, Membership.student_id == student_id)
    )


def members(session: Session, course: Course) -> Sequence[Membership]:
    """The members of a course by email, without erased people."""
    return session.scalars(
        select(Membership)
        .join(Membership.person)
        .options(joinedload(Membership.person))
        .where(Membership.course_id == course.id, Person.erased_at.is_(None))
        .order_by(Person.email)
    ).all()


def role_in(session: Session, person_id: int, course_id: int) -> Role | None:
    """A person's role in a course; None for a person who isn't in it or left. Operators are instructors everywhere."""
    query = select(Person.admin, Membership.role).outerjoin(Membership, _of_person(course_id))
    found = session.execute(query.where(Person.id == person_id)).one_or_none()
    return None if found is None else role_from(*found)


def with_role(query: Select[Any], person_id: int | BindParameter[int], course_id: ColumnElement[int]) -> Select[Any]:
    """Add two columns to a query, from which `role_from` makes a person's role in the course of each row."""
    known = query.add_columns(Person.admin, Membership.role).outerjoin(Person, Person.id == person_id)
    return known.outerjoin(Membership, _of_person(course_id))


def role_from(admin: bool | None, role: Role | None) -> Role | None:
    return Role.INSTRUCTOR if admin else role


def _of_person(course_id: ColumnElement[int] | int) -> ColumnElement[bool]:
    return and_(Membership.course_id == course_id, Membership.person_id == Person.id, Membership.dropped_at.is_(None))


def is_staff(role: Role | None) -> bool:
    """Whether someone with this role sees everyone's work in the course."""
    return role in {Role.INSTRUCTOR, Role.ASSISTANT}


def create_assignment(
    session: Session, course: Course, exercise: str, terms: Terms | None = None, now: datetime | None = None
) -> Assignment:
    """Create an assignment from the present version of an exercise that comes with Tilelab; raises CourseError."""
    try:
        content = installed_content(exercise)
    except ExerciseError as error:
        raise CourseError(str(error)) from error
    return assign(session, course, content, terms or Terms(), now)


def assign(session: Session, course: Course, content: Content, terms: Terms, now: datetime | None = None) -> Assignment:
    """Create an assignment; raises CourseError. The exercise belongs to the course unless it comes with Tilelab."""
    given, found = terms, content.exercise
    moment = now or datetime.now(UTC)
    wrong = wrong_terms(session, course, found, given)
    if wrong:
        raise CourseError(" ".join(wrong.values()), wrong)
    assignment = Assignment(
        course_id=course.id,
        exercise_id=keep(session, content, None if content.shipped else course.id, moment).id,
        slug=given.slug or found.name,
        title=title_of(given.title or found.title),
        device_class=given.device_class,
        arch=given.arch or arch_of(given.device_class),
        tile=given.tile,
        created_at=moment,
    )
    session.add(assignment)
    session.flush()
    return assignment


def wrong_terms(session: Session, course: Course, exercise: Found | None, terms: Terms) -> dict[str, str]:
    """Mistakes in the terms of a new assignment, by field. exercise: None if it isn't known yet."""
    found: dict[str, str] = {}
    slug = terms.slug or (exercise.name if exercise else "")
    if slug and not _SLUG.fullmatch(slug):
        found["slug"] = _no_slug(slug)
    elif find_assignment(session, f"{course.slug}/{slug}") is not None:
        found["slug"] = f"The course {course.slug} already has an assignment {slug}."
    if terms.device_class and not is_device_class(terms.device_class):
        found["device_class"] = f"{terms.device_class!r} is not a valid device class. Use one such as h200."
    arch = terms.arch or arch_of(terms.device_class)
    if arch not in ARCHES:
        found["arch"] = f"The compiler doesn't know {arch}. Use one of {', '.join(ARCHES)}."
    if exercise is not None and terms.tile is not None and terms.tile not in exercise.tiles:
        allowed = ", ".join(map(str, exercise.tiles))
        found["tile"] = f"The exercise {exercise.name} has no tile {terms.tile}. Its tiles are {allowed}."
    return found


def find_assignment(session: Session, name: str) -> Assignment | None:
    """Find an assignment by its name, such as "demo/tiled"; None for none."""
    found = select_assignment(name)
    if found is None:
        return None
    query, given = found
    assignment: Assignment | None = session.scalar(query.options(joinedload(Assignment.exercise)), given)
    return assignment


def select_assignment(name: str | int) -> tuple[Select[Any], dict[str, Any]] | None:
    """A query of an assignment with its course, by its ID or its name, and its values; None if it can't be a name."""
    if isinstance(name, int):
        return _BY_ID, {"assignment": name}
    course, _, slug = name.partition("/")
    if not (_SLUG.fullmatch(course) and _SLUG.fullmatch(slug)):
        return None
    return _BY_NAME, {"course": course, "slug": slug}


_NAMED = select(Assignment).select_from(Assignment).join(Assignment.course).options(contains_eager(Assignment.course))
_BY_ID = _NAMED.where(Assignment.id == bindparam("assignment"))
_BY_NAME = _NAMED.where(Course.slug == bindparam("course"), Assignment.slug == bindparam("slug"))


def visible_assignment(session: Session, person_id: int, name: str, now: datetime) -> tuple[Assignment, Role] | None:
    """Find an assignment by its name, with the person's role; None if they may not see it."""
    asked = select_assignment(name)
    if asked is None:
        return None
    query, given = asked
    query = with_role(query.options(joinedload(Assignment.exercise)), person_id, Course.id.expression)
    found = session.execute(query, given).one_or_none()
    role = None if found is None else role_from(*found[1:])
    if found is None or role is None or not is_shown(found[0], role, now):
        return None
    return found[0], role


def assignments(session: Session, course: Course) -> Sequence[Assignment]:
    """All assignments of a course, in its order."""
    query = select(Assignment).where(Assignment.course_id == course.id)
    return session.scalars(_in_order(query)).all()


def visible_assignments(session: Session, person_id: int, now: datetime | None = None) -> Sequence[Assignment]:
    """The assignments that a person sees in active courses. Students see listed ones that have opened, staff all.

    Operators are instructors everywhere.
    """
    query = (
        select(Assignment)
        .join(Assignment.course)
        .where(Course.archived_at.is_(None))
        .options(joinedload(Assignment.course), joinedload(Assignment.exercise))
    )
    if not session.scalar(select(Person.admin).where(Person.id == person_id)):
        query = query.join(Membership, Membership.course_id == Course.id).where(
            Membership.person_id == person_id,
            Membership.dropped_at.is_(None),
            or_(Membership.role != Role.STUDENT, shown_at(now or datetime.now(UTC))),
        )
    return session.scalars(query.order_by(*_DUE, Assignment.course_id, *_PLACE, Assignment.id)).all()


def assignments_for(session: Session, course_id: int, role: Role, now: datetime | None = None) -> Sequence[Assignment]:
    """The assignments of a course that a person with this role sees, in its order."""
    query = select(Assignment).where(Assignment.course_id == course_id).options(joinedload(Assignment.exercise))
    if role is Role.STUDENT:
        query = query.where(shown_at(now or datetime.now(UTC)))
    return session.scalars(_in_order(query)).all()


def is_shown(assignment: Assignment, role: Role, now: datetime) -> bool:
    """Whether a person with this role sees the assignment."""
    opened = assignment.opens_at is None or assignment.opens_at <= now
    return role is not Role.STUDENT or (assignment.listed and opened)


def shown_at(now: datetime) -> ColumnElement[bool]:
    """Whether students see an assignment at this time."""
    return and_(Assignment.listed, or_(Assignment.opens_at.is_(None), Assignment.opens_at <= now))


def is_device_class(text: str) -> bool:
    """Whether the text is a valid name of a device class."""
    return _DEVICE_CLASS.fullmatch(text) is not None


def arch_of(device_class: str) -> str:
    """The architecture to compile for, for a device class; sm_90 for one that isn't in the table of devices."""
    device = devices().get(device_class)
    return DEFAULT_ARCH if device is None else f"sm_{device.cc.replace('.', '')}"


def _in_order(query: Select[Assignment]) -> Select[Assignment]:
    return query.order_by(*_PLACE, *_DUE, Assignment.id)


def _check_slug(slug: str) -> None:
    if not _SLUG.fullmatch(slug):
        raise CourseError(_no_slug(slug), ["slug"])


def _no_slug(slug: str) -> str:
    return f"{slug!r} is not a valid short name. Use 1 to 60 small letters, digits, dots, hyphens and underscores."


@dataclass(frozen=True, slots=True)
class Attended:
    """A course of a person, with their role."""

    slug: str
    title: str
    role: Role
    archived: bool


def attended(session: Session, person_id: int) -> Sequence[Attended]:
    """A person's courses, active ones before archived ones, each the newest first."""
    return [
        Attended(slug, title, role, archived_at is not None)
        for slug, title, archived_at, role in session.execute(_ATTENDED, {"person": person_id})
    ]


# Each page needs it, so it is made once.
_ATTENDED = (
    select(Course.slug, Course.title, Course.archived_at, Membership.role)
    .join(Membership, Membership.course_id == Course.id)
    .where(Membership.person_id == bindparam("person"), Membership.dropped_at.is_(None))
    .order_by(Course.archived_at.is_not(None), Course.created_at.desc(), Course.slug)
)


def all_courses(session: Session) -> Sequence[Attended]:
    """All courses, for an operator, who is an instructor everywhere."""
    query = select(Course).order_by(Course.archived_at.is_not(None), Course.created_at.desc(), Course.slug)
    return [
        Attended(course.slug, course.title, Role.INSTRUCTOR, course.archived_at is not None)
        for course in session.scalars(query)
    ]


def find_attended(session: Session, slug: str) -> Attended | None:
    """One course, for an operator; None for none."""
    course = find_course(session, slug)
    if course is None:
        return None
    return Attended(course.slug, course.title, Role.INSTRUCTOR, course.archived_at is not None)
