"""Create and find courses, memberships and assignments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy.orm import Session, joinedload

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
_BY_DEADLINE = Assignment.due_at.is_(None), Assignment.due_at, Assignment.course_id, *_PLACE, Assignment.id
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


def hold_course(session: Session, course_id: int) -> None:
    """Lock a course until the end of the transaction. Take this lock before any other.

    A transaction that decides by the state of the course holds it, so it can't change before the commit.

    Submissions and results don't wait for this lock. SQLite has only one writer anyway.
    """
    session.execute(select(Course.id).where(Course.id == course_id).with_for_update(key_share=True))


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
    if session.scalar(select(Person.admin).where(Person.id == person_id)):
        return Role.INSTRUCTOR
    return session.scalar(
        select(Membership.role).where(
            Membership.course_id == course_id, Membership.person_id == person_id, Membership.dropped_at.is_(None)
        )
    )


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
    course, _, slug = name.partition("/")
    if not (_SLUG.fullmatch(course) and _SLUG.fullmatch(slug)):
        return None
    return session.scalar(
        select(Assignment)
        .join(Assignment.course)
        .where(Course.slug == course, Assignment.slug == slug)
        .options(joinedload(Assignment.course), joinedload(Assignment.exercise))
    )


def visible_assignment(session: Session, person_id: int, name: str, now: datetime) -> tuple[Assignment, Role] | None:
    """Find an assignment by its name, with the person's role; None if they may not see it."""
    found = find_assignment(session, name)
    role = None if found is None else role_in(session, person_id, found.course_id)
    if found is None or role is None or not is_shown(found, role, now):
        return None
    return found, role


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
    return session.scalars(query.order_by(*_BY_DEADLINE)).all()


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
    return query.order_by(*_PLACE, *_BY_DEADLINE)


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
    query = (
        select(Course, Membership.role)
        .join(Membership, Membership.course_id == Course.id)
        .where(Membership.person_id == person_id, Membership.dropped_at.is_(None))
        .order_by(Course.archived_at.is_not(None), Course.created_at.desc(), Course.slug)
    )
    return [
        Attended(course.slug, course.title, role, course.archived_at is not None)
        for course, role in session.execute(query)
    ]


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
