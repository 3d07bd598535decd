"""The API of a class's progress with an assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from flask import Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.class_progress.listed import PARTS, ProgressLine, listed
from server.class_progress.states import State
from server.courses.models import Role
from server.courses.staff_api import (
    MOST_LINES,
    NAME,
    PERSON,
    REFUSES,
    assignment_here,
    note_export,
    page_of,
    read_as_staff,
    staff_api,
)
from server.fields import Range, Text
from server.http.operation import operation
from server.http.query import read_query
from server.roster.service import SEARCHED, Wanted


@dataclass(frozen=True, slots=True)
class ProgressQuery:
    """The students to return.

    part: a state, unsubmitted, or stuck; all students without it
    text: a part of a name or email
    section: all of its students; all sections without it
    after: only lines behind this person, as in the `next` URL of an answer
    """

    part: Annotated[str, Text("|".join(value for value, _ in PARTS if value))] | None = None
    text: SEARCHED = ""
    section: SEARCHED = ""
    after: PERSON | None = None
    limit: Annotated[int, Range(1, MOST_LINES)] = 100


@dataclass(frozen=True, slots=True)
class AssignmentProgressAnswer:
    """The progress of a course's students with an assignment.

    counts: the number of students in each state
    students: a part of the matching students
    total: all of them
    next: the next part's URL, None at the end
    """

    assignment: str
    counts: Mapping[str, int]
    students: tuple[ProgressLine, ...]
    total: int
    next: str | None


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
    with read_as_staff(course) as (session, here):
        asked = read_query(ProgressQuery)
        task = assignment_here(session, here.slug, assignment)
        wanted = Wanted(asked.text, Role.STUDENT, asked.section)
        found = listed(session, here.id, task, asked.part or "", wanted, datetime.now(UTC))
        page, following = page_of(session, here, found.members, asked)
        students = tuple(found.lines(session, page))
    note_export(person_asking(), here, "roster", people=len(page))
    counts = Counter(found.states.values())
    answer = AssignmentProgressAnswer(
        assignment=f"{course}/{assignment}",
        counts={state.value: counts[state] for state in State},
        students=students,
        total=len(found.members),
        next=following,
    )
    return jsonify(answer)
