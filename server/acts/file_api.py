"""The API of files that change something for many students of an assignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flask import Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.acts.by_file import Entry, apply_student_file, make_plan, read_student_file, student_file_csv
from server.acts.file_views import FILES
from server.audit.service import note
from server.courses.staff_api import (
    CONFIRM,
    NAME,
    REFUSES,
    REFUSES_LOSSES,
    LowersPointsProblem,
    assignment_here,
    desk_of,
    read_as_staff,
    read_change,
    staff_api,
)
from server.fields import Text
from server.http.operation import operation
from server.http.problems import Problem, problem_response
from server.http.site import site
from server.table_file import MOST_BYTES, Unreadable
from server.table_file import Problem as LineProblem

_AT = "/courses/<course>/assignments/<assignment>/<any(extensions, corrections, teams):what>"
_PATH = {"course": NAME, "assignment": NAME, "what": Annotated[str, Text("extensions|corrections|teams")]}


@dataclass(frozen=True, slots=True)
class StudentFileRequest:
    """A file with a line for each student, as text.

    csv: the first line names the columns, one of them `email`
    preview: only says what would change
    confirm: the value of `confirm` in the problem `lowers_points`
    """

    csv: Annotated[str, Text(longest=MOST_BYTES)]
    preview: bool = False
    confirm: CONFIRM = ""


@dataclass(frozen=True, slots=True)
class FileChangeAnswer:
    """A line that changes something. change: new, replaced or removed."""

    line: int
    person: int
    name: str
    email: str
    change: str


@dataclass(frozen=True, slots=True)
class StudentFileAnswer:
    """What a file changed, or would change. applied: False for a preview; unchanged: students without a change."""

    applied: bool
    changes: tuple[FileChangeAnswer, ...]
    unchanged: int


@dataclass(frozen=True, slots=True)
class LineMistake:
    """A mistake in a line. line: 0 for the whole file; column: "" if unknown."""

    line: int
    column: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem(Problem):
    """A file with mistakes. Nothing changed."""

    mistakes: tuple[LineMistake, ...] = ()


@staff_api.get(f"{_AT}.csv")
@operation(str, media_type="text/csv", path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def export_student_file(course: str, assignment: str, what: str) -> Response:
    """Export an assignment's extensions, corrections or teams as CSV, for importing them again, as course staff."""
    file = FILES[what]
    with read_as_staff(course) as (session, here):
        found = assignment_here(session, here.slug, assignment)
        text, subject, course_id = student_file_csv(session, file, found), f"assignment {found.name}", here.id
    person = person_asking()
    with site().sessions.begin() as session:
        note(session, person, file.exported, subject, course_id=course_id)
    return Response(text, mimetype="text/csv")


@staff_api.post(f"{_AT}/import")
@operation(
    StudentFileAnswer,
    path=_PATH,
    takes=StudentFileRequest,
    scope=Scope.STAFF,
    refuses=REFUSES_LOSSES | {422: "A field has an invalid value, or lines of the file have mistakes."},
    problems={409: LowersPointsProblem, 422: FileProblem},
)
def import_student_file(course: str, assignment: str, what: str) -> Response:
    """Change extensions, corrections or teams by a file, as an instructor: all lines, or none."""
    desk, file = desk_of(course, instructor=True), FILES[what]
    asked = read_change(StudentFileRequest)
    with site().sessions.begin() as session:
        found = desk.assignment(session, assignment)
        try:
            read = read_student_file(file, asked.csv, found.course.time_zone)
        except Unreadable as error:
            return _refused((LineProblem(error.line, str(error)),))
        if asked.preview:
            plan, applied = make_plan(session, file, found, read), False
        else:
            plan, applied = apply_student_file(session, file, found, read, desk.actor(session), asked.confirm)
        if plan.problems:
            return _refused(plan.problems)
        changes = tuple(map(_change, plan.changes))
    return jsonify(StudentFileAnswer(applied, changes, len(plan.entries) - len(changes)))


def _change(entry: Entry) -> FileChangeAnswer:
    return FileChangeAnswer(entry.row.line, entry.person_id, entry.name, entry.row.email, entry.change.value)


def _refused(found: tuple[LineProblem, ...]) -> Response:
    mistakes = tuple(LineMistake(one.line, one.column, one.text) for one in found)
    first = f"Line {mistakes[0].line}: {mistakes[0].text}" if mistakes[0].line else mistakes[0].text
    return problem_response(
        FileProblem(422, "wrong_lines", "The file has mistakes", f"Nothing changed. {first}", mistakes=mistakes)
    )
