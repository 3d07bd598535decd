"""The API of a course's submissions, for its staff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.courses.models import Course
from server.courses.staff_api import NAME, PERSON, REFUSES, member_here, read_as_staff, staff_api
from server.fields import Range
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import next_url, read_query
from server.submissions.course_submissions import CourseSubmission, listing
from server.submissions.criteria import SubmissionCriteria
from server.submissions.queries import PUBLIC_ID, visible_submission


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


@dataclass(frozen=True, slots=True)
class CourseSubmissionsAnswer:
    """A page of a course's submissions, the latest first.

    next: the URL of the next page; None on the last
    """

    submissions: tuple[CourseSubmission, ...]
    next: str | None


@staff_api.get("/courses/<course>/submissions")
@operation(
    CourseSubmissionsAnswer, path={"course": NAME}, query=CourseSubmissionsQuery, scope=Scope.STAFF, refuses=REFUSES
)
def show_submissions(course: str) -> Response:
    """List the submissions of your course, as course staff, the latest first, page by page."""
    with read_as_staff(course) as (session, here):
        asked = read_query(CourseSubmissionsQuery)
        answer = _listing(session, here, asked, asked)
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
    with read_as_staff(course) as (session, here):
        asked = read_query(AttemptsQuery)
        criteria = SubmissionCriteria(person=member_here(session, here.id, person).person_id)
        answer = _listing(session, here, criteria, asked)
    return jsonify(answer)


def _listing(
    session: Session, course: Course, criteria: SubmissionCriteria, asked: CourseSubmissionsQuery | AttemptsQuery
) -> CourseSubmissionsAnswer:
    if asked.before is not None and visible_submission(session, person_asking().id, asked.before) is None:
        raise Refused(
            404, "no_such_place", "Invalid cursor",
            "`before` is not a submission that you may see. Use the `next` URL unchanged.",
        )  # fmt: skip
    part = listing(session, course.id, criteria, asked.before or "", asked.limit)
    return CourseSubmissionsAnswer(part.rows, next_url(asked, before=part.after) if part.after else None)
