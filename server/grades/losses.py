"""Changes that lower students' points or raise them above the maximum: refused until they are confirmed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from kernels.wording import plural, rounded_points
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import hold_course
from server.grades.grade import Grade, grades

CONFIRMED = "confirmed"
"""Confirms any losses: for commands, which name them and then go on."""

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Loss:
    """A student whose points a change lowers, or raises above the maximum.

    slug, title: of the assignment, if the change concerns several; otherwise ""
    """

    person_id: int
    name: str
    email: str
    was: Grade
    now: Grade
    slug: str = ""
    title: str = ""

    @property
    def difference(self) -> float:
        return (self.now.points or 0.0) - (self.was.points or 0.0)

    @property
    def falls(self) -> bool:
        return _is_loss(self.was, self.now)


class UnconfirmedPoints(Exception):
    """A change of points needs a confirmation. The transaction must be rolled back.

    most: the maximum, if the points rise above it; None if points fall
    """

    def __init__(self, assignment: Assignment, losses: tuple[Loss, ...]) -> None:
        most = assignment.most_points
        self.most = most if all(_is_excess(one.was, one.now, most) for one in losses) else None
        super().__init__(_told(losses, self.most))
        self.slug, self.title = assignment.slug, assignment.title
        self.losses = losses
        self.digest = digest_of(losses)


@contextmanager
def losses_confirmed(
    session: Session, assignment: Assignment, confirmed: str, person: int | None = None, *, rises: bool = False
) -> Iterator[None]:
    """Let a change of an assignment's grades pass if it needs no confirmation, or was confirmed.

    Locks the course, and reads everything again: decide by the present state inside, not before.

    confirmed: the digest of the losses that were shown, or CONFIRMED
    person: the only student that the change concerns; None for all
    rises: whether points that rise need a confirmation, too

    raise (UnconfirmedPoints): points fall or rise above the maximum, and this wasn't confirmed
    """
    hold_course(session, assignment.course_id)
    session.flush()
    session.expire_all()
    before = students_grades(session, assignment, person)
    yield
    session.flush()
    after = students_grades(session, assignment, person)
    found = losses(session, before, after, -math.inf if rises else assignment.most_points)
    if found and confirmed not in {CONFIRMED, digest_of(found)}:
        raise UnconfirmedPoints(assignment, found)


@contextmanager
def course_losses_confirmed(session: Session, course: Course, confirmed: str, person: int) -> Iterator[None]:
    """As `losses_confirmed`, for a change of one student's grades in all assignments of a locked course."""
    one = select(Membership.person_id).where(Membership.course_id == course.id, Membership.person_id == person)
    assignments = session.scalars(select(Assignment).where(Assignment.course_id == course.id)).all()
    before = grades(session, assignments, one)
    yield
    session.flush()
    after = grades(session, assignments, one)
    found = [
        (each, replace(loss, slug=each.slug, title=each.title))
        for each in assignments
        for loss in losses(session, before[each.id], after[each.id], each.most_points)
    ]
    told = tuple(loss for _, loss in found)
    if told and confirmed not in {CONFIRMED, digest_of(told)}:
        raise UnconfirmedPoints(found[0][0], told)


def students_grades(
    session: Session, assignment: Assignment, person: int | None = None, staged: int | None = None
) -> Mapping[int, Grade]:
    """The grades of all students of the course, also of dropped ones.

    person: only this one's
    staged: the ID of a staged regrade, for the grades once it is applied
    """
    return grades(session, [assignment], students(assignment, person), staged)[assignment.id]


def students(assignment: Assignment, person: int | None = None) -> Select[int]:
    """The students of an assignment's course, also dropped ones. person: only this one."""
    query = select(Membership.person_id).where(
        Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT
    )
    return query if person is None else query.where(Membership.person_id == person)


def losses(
    session: Session, before: Mapping[int, Grade], after: Mapping[int, Grade], most: float = math.inf
) -> tuple[Loss, ...]:
    """The students who lose points, or get more than the maximum, by name."""
    everyone = before.keys() | after.keys()
    pairs = {person: (before.get(person, Grade()), after.get(person, Grade())) for person in everyone}
    lost = {
        person: (was, now) for person, (was, now) in pairs.items() if _is_loss(was, now) or _is_excess(was, now, most)
    }
    people = {one.id: one for one in _people(session, sorted(lost))}
    found = (Loss(person, people[person].name, people[person].email, *pair) for person, pair in lost.items())
    return tuple(sorted(found, key=lambda one: (one.name.casefold(), one.email)))


def digest_of(found: Iterable[Loss]) -> str:
    """A digest of losses, by which a form detects that they have changed since it showed them."""
    plain = [(one.person_id, one.slug, one.was.points, one.now.points) for one in found]
    return hashlib.sha256(repr(plain).encode()).hexdigest()


def _is_loss(was: Grade, now: Grade) -> bool:
    # Compared as pages show them, so that no rounding of a computation asks for a confirmation.
    return round(now.points or 0.0, 2) < round(was.points or 0.0, 2) or (was.excused and not now.excused)


def _is_excess(was: Grade, now: Grade, most: float) -> bool:
    return round(now.points or 0.0, 2) > round(max(most, was.points or 0.0), 2)


def _people(session: Session, numbers: list[int]) -> Iterator[Person]:
    for start in range(0, len(numbers), 1_000):  # databases limit the number of parameters in a statement
        yield from session.scalars(select(Person).where(Person.id.in_(numbers[start : start + 1_000])))


def _told(found: tuple[Loss, ...], most: float | None) -> str:
    lines = [
        f"  {one.name} <{one.email}>{one.title and ', '}{one.title}: "
        f"{_points(one.was)} -> {_points(one.now)}{_why(one.now)}"
        for one in found[:_TOLD]
    ]
    if len(found) > _TOLD:
        lines.append(f"  and {len(found) - _TOLD:,} more")
    listed = "\n".join(lines)
    students = plural(len(found), "student")
    if most is None:
        what = f"this {'lowers' if all(one.falls for one in found) else 'changes'} the grade of {students}"
    else:
        what = f"this gives {students} more than the maximum of {rounded_points(most)} points"
    return f"{what}:\n{listed}\nNothing changed. Confirm with --yes."


def _why(grade: Grade) -> str:
    return f" ({'; '.join(grade.why)})" if grade.why and not grade.excused else ""


def _points(grade: Grade) -> str:
    if grade.excused:
        return "excused"
    return rounded_points(grade.points or 0.0)
