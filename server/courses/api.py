"""The API of the signed-in person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from flask import Blueprint, Response, jsonify
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.digest import digest_of
from server.accounts.identity import bearer_token, person_asking
from server.accounts.models import ApiToken, Person, Scope
from server.audit.service import note
from server.class_progress.listed import PARTS, listed
from server.class_progress.states import State
from server.courses.answers import (
    AssignmentProgressAnswer,
    CourseSubmissionsAnswer,
    GradebookAnswer,
    RosterAnswer,
    StudentAnswer,
    graded_student,
    student_answer,
)
from server.courses.models import Course, Membership, Role
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES,
    assignment_here,
    course_for_staff,
    member_here,
    read_as_staff,
    staff_api,
)
from server.fields import Range, Text
from server.grades.gradebook import GradesCriteria, gradebook
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import next_url, read_query
from server.http.site import site
from server.roster.service import SEARCHED, Member, Wanted, place, roster
from server.roster.students import read_student
from server.submissions.course_submissions import listing
from server.submissions.criteria import SubmissionCriteria
from server.submissions.queries import PUBLIC_ID, visible_submission

me = Blueprint("me", __name__)


@dataclass(frozen=True, slots=True)
class CourseAnswer:
    """A course of yours. archived: whether it is read-only and takes no submissions."""

    slug: str
    title: str
    role: Role
    archived: bool


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """The token of the request.

    name: given by its owner
    expires_at: None if it doesn't expire
    scopes: what it allows, within its owner's rights
    """

    name: str
    expires_at: datetime | None
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class MeAnswer:
    """The person that the token belongs to.

    admin: whether the person is an operator, who is an instructor in every course
    time_zone: the person's own; "" for the course's
    courses: with the person's role in each
    """

    name: str
    email: str
    admin: bool
    time_zone: str
    courses: tuple[CourseAnswer, ...]
    token: TokenAnswer


@me.get("/me")
@operation(MeAnswer)
def show() -> Response:
    """Get the person that the token belongs to, with their courses."""
    person = person_asking()
    with site().readers.begin() as session:
        answer = _answer(session, person, bearer_token())
    return jsonify(answer)


def _answer(session: Session, person: Person, token: str) -> MeAnswer:
    kept = session.scalars(select(ApiToken).where(ApiToken.digest == digest_of(token))).one()
    query = (
        select(Membership)
        .join(Membership.course)
        .options(joinedload(Membership.course))
        .where(Membership.person_id == person.id, Membership.dropped_at.is_(None))
        .order_by(Course.created_at.desc(), Course.slug)
    )
    courses = tuple(
        CourseAnswer(row.course.slug, row.course.title, row.role, row.course.archived_at is not None)
        for row in session.scalars(query)
    )
    kept_token = TokenAnswer(kept.name, kept.expires_at, kept.allows)
    return MeAnswer(person.name, person.email, person.admin, person.time_zone, courses, kept_token)


_MOST = 500


@dataclass(frozen=True, slots=True)
class RosterQuery(Wanted):
    """The part of a roster to return.

    after: only lines behind this person, as in the `next` URL of an answer
    """

    after: PERSON | None = None
    limit: Annotated[int, Range(1, _MOST)] = 100


@dataclass(frozen=True, slots=True)
class GradesQuery(GradesCriteria):
    """The part of a gradebook to return.

    after: only lines behind this person, as in the `next` URL of an answer
    """

    after: PERSON | None = None
    limit: Annotated[int, Range(1, _MOST)] = 100


@dataclass(frozen=True, slots=True)
class ProgressQuery:
    """The students to return.

    part: a state, unsubmitted, or stuck; all students without it
    text: a part of a name or email
    after: only lines behind this person, as in the `next` URL of an answer
    """

    part: Annotated[str, Text("|".join(value for value, _ in PARTS if value))] | None = None
    text: SEARCHED = ""
    after: PERSON | None = None
    limit: Annotated[int, Range(1, _MOST)] = 100


@dataclass(frozen=True, slots=True)
class CourseSubmissionsQuery(SubmissionCriteria):
    """The submissions to return; without a parameter, any.

    before: only submissions before this one, as in the `next` URL of an answer
    """

    before: PUBLIC_ID | None = None
    limit: Annotated[int, Range(1, 100)] = 50


@dataclass(frozen=True, slots=True)
class AttemptsQuery:
    """The attempts to return. before: only attempts before this one, as in the `next` URL of an answer."""

    before: PUBLIC_ID | None = None
    limit: Annotated[int, Range(1, 100)] = 50


@staff_api.get("/courses/<course>/roster")
@operation(RosterAnswer, path={"course": NAME}, query=RosterQuery, scope=Scope.STAFF, refuses=REFUSES)
def show_roster(course: str) -> Response:
    """List the members of your course, as course staff. The audit log records it as an export."""
    person, asked = person_asking(), read_query(RosterQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        members = roster(session, here.id, asked)
        page, following = _page(session, here, members, asked)
    _note_export(person, here, "roster", people=len(page))
    return jsonify(RosterAnswer(tuple(page), len(members), following))


@staff_api.get("/courses/<course>/grades")
@operation(GradebookAnswer, path={"course": NAME}, query=GradesQuery, scope=Scope.STAFF, refuses=REFUSES)
def show_grades(course: str) -> Response:
    """Get the grades of your course, as course staff. The audit log records it as an export."""
    person, asked = person_asking(), read_query(GradesQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        members = roster(session, here.id, asked.students)
        page, following = _page(session, here, members, asked)
        book = gradebook(session, here.id, page)
    _note_export(person, here, "grades", students=len(page))
    rows = tuple(graded_student(book.assignments, line) for line in book.lines)
    points = {one.slug: one.most_points for one in book.assignments}
    return jsonify(GradebookAnswer(points, rows, len(members), following))


@staff_api.get("/courses/<course>/assignments/<assignment>/progress")
@operation(
    AssignmentProgressAnswer,
    path={"course": NAME, "assignment": NAME},
    query=ProgressQuery,
    scope=Scope.STAFF,
    refuses=REFUSES,
)
def show_progress(course: str, assignment: str) -> Response:
    """Get the students' progress with an assignment, as course staff. The audit log records it as an export."""
    person, asked = person_asking(), read_query(ProgressQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        one = assignment_here(session, here.slug, assignment)
        found = listed(session, here.id, one, asked.part or "", asked.text, datetime.now(UTC))
        page, following = _page(session, here, found.members, asked)
        students = tuple(found.lines(session, page))
    _note_export(person, here, "roster", people=len(page))
    counts = Counter(found.states.values())
    answer = AssignmentProgressAnswer(
        assignment=f"{course}/{assignment}",
        counts={state.value: counts[state] for state in State},
        students=students,
        total=len(found.members),
        next=following,
    )
    return jsonify(answer)


@staff_api.get("/courses/<course>/submissions")
@operation(
    CourseSubmissionsAnswer, path={"course": NAME}, query=CourseSubmissionsQuery, scope=Scope.STAFF, refuses=REFUSES
)
def show_submissions(course: str) -> Response:
    """List the submissions of your course, as course staff, the latest first, page by page."""
    person, asked = person_asking(), read_query(CourseSubmissionsQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        answer = _listing(session, person, here, asked, asked)
    return jsonify(answer)


@staff_api.get("/courses/<course>/students/<int(max=9007199254740991):person>")
@operation(StudentAnswer, path={"course": NAME, "person": PERSON}, scope=Scope.STAFF, refuses=REFUSES)
def show_student(course: str, person: int) -> Response:
    """Get a student's points and deadlines in your course, as course staff."""
    with read_as_staff(course) as (session, here):
        answer = student_answer(read_student(session, here.id, member_here(session, here.id, person)))
    return jsonify(answer)


@staff_api.get("/courses/<course>/students/<int(max=9007199254740991):person>/submissions")
@operation(
    CourseSubmissionsAnswer,
    path={"course": NAME, "person": PERSON},
    query=AttemptsQuery,
    scope=Scope.STAFF,
    refuses=REFUSES,
)
def show_attempts(course: str, person: int) -> Response:
    """List a student's submissions and checks in your course, as course staff, the latest first."""
    asking, asked = person_asking(), read_query(AttemptsQuery)
    with site().readers.begin() as session:
        here = course_for_staff(session, asking, course)
        criteria = SubmissionCriteria(person=member_here(session, here.id, person).person_id)
        answer = _listing(session, asking, here, criteria, asked)
    return jsonify(answer)


def _page(
    session: Session, course: Course, members: Sequence[Member], asked: RosterQuery | GradesQuery | ProgressQuery
) -> tuple[list[Member], str | None]:
    """The members behind a person, who may have left the list meanwhile; and the URL of more."""
    rest = list(members)
    if asked.after is not None:
        last = place(member_here(session, course.id, asked.after))
        rest = [one for one in members if place(one) > last]
    page = rest[: asked.limit]
    return page, next_url(asked, after=page[-1].person_id) if len(rest) > len(page) else None


def _listing(
    session: Session,
    person: Person,
    course: Course,
    criteria: SubmissionCriteria,
    asked: CourseSubmissionsQuery | AttemptsQuery,
) -> CourseSubmissionsAnswer:
    if asked.before is not None and visible_submission(session, person.id, asked.before) is None:
        raise Refused(
            404, "no_such_place", "Invalid cursor",
            "`before` is not a submission that you may see. Use the `next` URL unchanged.",
        )  # fmt: skip
    part = listing(session, course.id, criteria, asked.before or "", asked.limit)
    return CourseSubmissionsAnswer(part.rows, next_url(asked, before=part.after) if part.after else None)


def _note_export(person: Person, course: Course, what: str, **count: Any) -> None:
    """Write an audit entry, as for the CSV of the page."""
    with site().sessions.begin() as session:
        note(session, person, f"{what}.exported", f"course {course.slug}", course_id=course.id, **count)
