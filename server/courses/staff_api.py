"""What all routes of the API for course staff share: permissions, bodies, refusals and confirmations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, request
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from kernels.wording import rounded_points
from server.accounts.identity import person_asking
from server.accounts.models import Person, Scope
from server.audit.service import note
from server.courses.local_time import MomentError, read_moment
from server.courses.models import Assignment, Course, Role
from server.courses.service import SHORT_NAME, CourseError, course_and_role, find_assignment, is_staff
from server.fields import Range, Text
from server.grades.grade import Grade
from server.grades.losses import Loss, UnconfirmedPoints
from server.http.json_body import invalid, read_body, refuse_other_types
from server.http.operation import operation
from server.http.problems import Problem, Refused, problem_response
from server.http.query import next_url
from server.http.site import site
from server.roster.service import Member, find_member, place

T = TypeVar("T")

staff_api = Blueprint("staff_api", __name__)

NAME = Annotated[str, Text(SHORT_NAME)]
PERSON = Annotated[int, Range(1, 2**53 - 1)]
CONFIRM = Annotated[str, Text("[0-9a-f]{64}|")]
"""The digest of the losses that a request confirms; "" for none."""

MOST_LINES = 500

REFUSES = {
    403: "You aren't course staff.",
    404: "There is no such course, assignment or person, or you may not see it.",
    422: "A parameter has an invalid value.",
}
REFUSES_CHANGE = {
    400: "The body isn't valid JSON.",
    403: "You may not change this in the course.",
    404: "There is no such course, or nothing with this name or ID in it.",
    409: "The present state doesn't allow this. The text says why.",
    413: "The request has more than 256 KiB.",
    415: "The body's type isn't JSON.",
    422: "A field has an invalid value. The text names it.",
}
REFUSES_LOSSES = REFUSES_CHANGE | {
    409: "The present state doesn't allow this. Or it needs a confirmation: the code is then `lowers_points` or "
    "`above_maximum`."
}


@dataclass(frozen=True, slots=True)
class LossAnswer:
    """A student whose points fall, or rise above the maximum.

    was, now: the points; None if the student is excused
    """

    person: int
    name: str
    email: str
    assignment: str
    was: float | None
    now: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LowersPointsProblem(Problem):
    """A change that lowers points, or raises them above the assignment's maximum. Nothing changed.

    losses: the students whose points would fall, or rise above the maximum
    confirm: send the request again with this value in `confirm` to change exactly these points
    """

    losses: tuple[LossAnswer, ...]
    confirm: str


@dataclass(frozen=True, slots=True)
class DoneAnswer:
    """What a request did. changed: False if there was nothing to change."""

    changed: bool


@dataclass(frozen=True, slots=True)
class ApiDesk:
    """A course, and the person of its staff who changes something in it."""

    person_id: int
    course_id: int
    slug: str
    role: Role

    def actor(self, session: Session) -> Person:
        return session.get_one(Person, self.person_id)

    def course(self, session: Session) -> Course:
        return session.get_one(Course, self.course_id)

    def assignment(self, session: Session, name: str) -> Assignment:
        return assignment_here(session, self.slug, name)

    def student(self, session: Session, person: int) -> Member:
        return student_here(session, self.course_id, person)


def desk_of(course: str, *, instructor: bool = False) -> ApiDesk:
    """Find a course to change, before anything reads the body; raises Refused. instructor: only for instructors."""
    person = person_asking()
    with site().readers.begin() as session:
        found, role = _with_role(session, person, course)
        if instructor and role is not Role.INSTRUCTOR:
            raise not_instructor("You are an assistant in this course.")
        return ApiDesk(person.id, found.id, found.slug, role)


def operator_asking() -> Person:
    """The person, if an operator; raises Refused."""
    person = person_asking()
    if not person.admin:
        raise Refused(403, "not_operator", "Only an operator may do this", "You don’t run this server.")
    return person


def not_instructor(detail: str) -> Refused:
    """The answer to an assistant."""
    return Refused(403, "not_instructor", "Only an instructor may do this", detail)


def read_change(cls: type[T]) -> T:
    """The request's body; raises Refused."""
    refuse_other_types()
    return read_body(cls, request.get_data())


@contextmanager
def read_as_staff(course: str) -> Iterator[tuple[Session, Course]]:
    """A session for reading, with the course, for its staff; raises Refused."""
    person = person_asking()
    with site().readers.begin() as session:
        yield session, _with_role(session, person, course)[0]


def _with_role(session: Session, person: Person, name: str) -> tuple[Course, Role]:
    """The course and the role in it, for its staff; raises Refused."""
    found = course_and_role(session, person.id, name)
    if found is None:
        raise Refused(
            404, "no_such_course", "There is no such course", "Check its name. You may not be in this course."
        )
    if not is_staff(found[1]):
        raise Refused(403, "not_staff", "Only course staff may do this", "You are in this course as a student.")
    return found


def assignment_here(session: Session, course: str, name: str) -> Assignment:
    """An assignment of a course; raises Refused."""
    found = find_assignment(session, f"{course}/{name}")
    if found is None:
        raise Refused(404, "no_such_assignment", "There is no such assignment", "Check its short name.")
    return found


def member_here(session: Session, course_id: int, person: int) -> Member:
    """A member, even if dropped; raises Refused."""
    found = find_member(session, course_id, person)
    if found is None:
        raise Refused(404, "no_such_person", "There is no such person in this course", "The roster has the IDs.")
    return found


def student_here(session: Session, course_id: int, person: int) -> Member:
    """A student, even if dropped; raises Refused."""
    found = member_here(session, course_id, person)
    if found.role is not Role.STUDENT:
        raise Refused(404, "no_such_person", "This person isn't a student", "Only students have grades.")
    return found


def time_to_keep(name: str, moment: datetime | None) -> datetime | None:
    """A field with a time that pages show in other time zones; raises Refused."""
    if moment is None:
        return None
    try:
        return read_moment(moment.isoformat(), ZoneInfo("UTC"))
    except MomentError as error:
        raise invalid(f"`{name}`: {error}") from error


def loss_answer(assignment: str, loss: Loss) -> LossAnswer:
    """A student whose points fall."""
    return LossAnswer(
        loss.person_id, loss.name, loss.email, loss.slug or assignment, _points(loss.was), _points(loss.now)
    )


lowering = partial(operation, scope=Scope.STAFF, refuses=REFUSES_LOSSES, problems={409: LowersPointsProblem})
"""The operation of a route that may lower points."""


@staff_api.errorhandler(UnconfirmedPoints)
def _name_losses(lowers: UnconfirmedPoints) -> Response:
    losses = tuple(loss_answer(lowers.slug, loss) for loss in lowers.losses)
    if lowers.most is None:
        return losses_problem(losses, lowers.digest)
    detail = f"The assignment’s maximum is {rounded_points(lowers.most)}. Nothing changed. " + _AGAIN
    return problem_response(
        LowersPointsProblem(
            409, "above_maximum", "These points are above the maximum", detail, losses=losses, confirm=lowers.digest
        )
    )


def losses_problem(losses: tuple[LossAnswer, ...], confirm: str) -> Response:
    """The answer to a change that lowers points without their confirmation."""
    return problem_response(
        LowersPointsProblem(
            409, "lowers_points", "This lowers points", "Nothing changed. " + _AGAIN, losses=losses, confirm=confirm
        )
    )


_AGAIN = "To save these points, send the request again with `confirm`."


@staff_api.errorhandler(413)
def _too_large(_error: HTTPException) -> Response:
    limit = "1 MiB for an exercise, 256 KiB for other requests"
    return _problem(413, "too_large", "The request is too large", f"Nothing was stored. The limit is {limit}.")


@staff_api.errorhandler(CourseError)
def _refuse_field(error: CourseError) -> Response:
    return refused_field(error.fields[0], str(error)) if error.fields else refused_change(error)


def refused_change(error: CourseError) -> Response:
    """The answer to a change that the present state doesn't allow."""
    return _problem(409, "not_possible", "This isn’t possible", str(error))


def refused_field(name: str, text: str) -> Response:
    """The answer to a field with a mistake."""
    return _problem(422, "invalid", "A field has an invalid value", f"`{name}`: {text}")


def _problem(status: int, code: str, title: str, detail: str) -> Response:
    return problem_response(Problem(status, code, title, detail))


def _points(grade: Grade) -> float | None:
    return None if grade.excused else grade.points or 0.0


class LinesAfter(Protocol):
    """A query for a part of a list of people."""

    @property
    def after(self) -> int | None: ...

    @property
    def limit(self) -> int: ...


def page_of(
    session: Session, course: Course, members: Sequence[Member], query: LinesAfter
) -> tuple[list[Member], str | None]:
    """The members behind a person, who may have left the list meanwhile; and the URL of more."""
    rest = list(members)
    if query.after is not None:
        last = place(member_here(session, course.id, query.after))
        rest = [member for member in members if place(member) > last]
    page = rest[: query.limit]
    return page, next_url(query, after=page[-1].person_id) if len(rest) > len(page) else None


def note_export(person: Person, course: Course, what: str, **count: Any) -> None:
    """Write an audit entry, as for the CSV of the page."""
    with site().sessions.begin() as session:
        note(session, person, f"{what}.exported", f"course {course.slug}", course_id=course.id, **count)
