"""The API of a course's people: the roster, and one student."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, request_of
from server.assignments.accommodations import ACCOMMODATION
from server.courses.models import Accommodation
from server.courses.staff_api import (
    MOST_LINES,
    NAME,
    PERSON,
    REFUSES,
    ApiDesk,
    lowering,
    member_here,
    note_export,
    page_of,
    read_as_staff,
    staff_api,
)
from server.fields import Range
from server.grades.api import StudentGradeAnswer, grade_of
from server.http.operation import operation
from server.http.query import read_query
from server.roster.service import Member, Wanted, roster
from server.roster.students import Student, Work, read_student

_MoreTimeRequest = request_of(ACCOMMODATION, "MoreTimeRequest")


@dataclass(frozen=True, slots=True)
class RosterQuery(Wanted):
    """The part of a roster to return.

    after: only lines behind this person, as in the `next` URL of an answer
    """

    after: PERSON | None = None
    limit: Annotated[int, Range(1, MOST_LINES)] = 100


@dataclass(frozen=True, slots=True)
class RosterAnswer:
    """A part of a roster: staff first, then by name.

    total: all matches
    next: the next part's URL, None at the end
    """

    members: tuple[Member, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class StudentWorkAnswer:
    """A student's work on one assignment.

    due_at, closes_at: for this student, with the extension; None for no limit
    """

    title: str
    due_at: datetime | None
    closes_at: datetime | None
    grade: StudentGradeAnswer


@dataclass(frozen=True, slots=True)
class MoreTimeAnswer:
    """More time in every assignment.

    extra_percent: of the time between opening and due
    """

    extra_days: int
    extra_percent: int
    reason: str


@dataclass(frozen=True, slots=True)
class StudentAnswer:
    """A student in a course, with all assignments.

    more_time: in every assignment; total: the points; most: the most points possible
    """

    member: Member
    more_time: MoreTimeAnswer
    work: tuple[StudentWorkAnswer, ...]
    total: float
    most: float


@staff_api.get("/courses/<course>/roster")
@operation(RosterAnswer, path={"course": NAME}, query=RosterQuery, scope=Scope.STAFF, refuses=REFUSES)
def show_roster(course: str) -> Response:
    """List the members of your course, as course staff. The audit log records it as an export."""
    with read_as_staff(course) as (session, here):
        asked = read_query(RosterQuery)
        members = roster(session, here.id, asked)
        page, following = page_of(session, here, members, asked)
    note_export(person_asking(), here, "roster", people=len(page))
    return jsonify(RosterAnswer(tuple(page), len(members), following))


@staff_api.get("/courses/<course>/students/<int(max=9007199254740991):person>")
@operation(StudentAnswer, path={"course": NAME, "person": PERSON}, scope=Scope.STAFF, refuses=REFUSES)
def show_student(course: str, person: int) -> Response:
    """Get a student's points and deadlines in your course, as course staff."""
    with read_as_staff(course) as (session, here):
        answer = _answer(read_student(session, here.id, member_here(session, here.id, person)))
    return jsonify(answer)


@staff_api.post("/courses/<course>/students/<int(max=9007199254740991):person>/more-time")
@lowering(MoreTimeAnswer, path={"course": NAME, "person": PERSON}, takes=_MoreTimeRequest)
def change_more_time(course: str, person: int) -> Response:
    """Give a student more time in every assignment of your course, as an instructor."""

    def find(session: Session, desk: ApiDesk) -> Target:
        return Target(desk.course(session), people=(desk.student(session, person).person_id,))

    def answer(session: Session, on: Target, _changed: bool) -> MoreTimeAnswer:
        return _more_time(session.get(Accommodation, (on.course.id, on.person)))

    return change_by_json(ACCOMMODATION, _MoreTimeRequest, course, find, answer)


def _answer(student: Student) -> StudentAnswer:
    work = tuple(map(_work, student.work))
    return StudentAnswer(student.member, _more_time(student.more_time), work, student.total, student.most)


def _more_time(found: Accommodation | None) -> MoreTimeAnswer:
    return (
        MoreTimeAnswer(0, 0, "")
        if found is None
        else MoreTimeAnswer(found.extra_days, found.extra_percent, found.reason)
    )


def _work(work: Work) -> StudentWorkAnswer:
    due_at, closes_at = work.deadlines.due_at, work.deadlines.closes_at
    return StudentWorkAnswer(work.assignment.title, due_at, closes_at, grade_of(work.assignment, work.cell))
