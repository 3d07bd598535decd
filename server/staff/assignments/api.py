"""The API of extensions: list, grant and withdraw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flask import Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.courses.models import Extension
from server.http.operation import Moment, moment_text, operation
from server.http.site import site
from server.staff.api_acts import change_by_json, done_answer, of_assignment, request_of
from server.staff.api_desk import (
    NAME,
    PERSON,
    REFUSES,
    DoneAnswer,
    assignment_here,
    course_for_staff,
    lowering,
    staff_api,
)
from server.staff.assignments.extensions import EXTENSION, WITHDRAWAL, extensions

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME}
_ALL = "/courses/<course>/assignments/<assignment>/extensions"
_ONE = f"{_ALL}/<int(max=9007199254740991):person>"
_ExtensionRequest = request_of(EXTENSION, "ExtensionRequest")
_WithdrawalRequest = request_of(WITHDRAWAL, "WithdrawalRequest")


@dataclass(frozen=True, slots=True)
class ExtensionAnswer:
    """A student's extension. due_at, closes_at: None for the assignment's own."""

    person: int
    name: str
    email: str
    due_at: Moment | None
    closes_at: Moment | None
    extra_attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExtensionsAnswer:
    """An assignment's extensions, by the students' names."""

    extensions: tuple[ExtensionAnswer, ...]


@staff_api.get(_ALL)
@operation(ExtensionsAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_extensions(course: str, assignment: str) -> Response:
    """List an assignment's extensions, as course staff."""
    person = person_asking()
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        found = extensions(session, assignment_here(session, here.slug, assignment))
        answer = ExtensionsAnswer(tuple(map(_answer, found)))
    return jsonify(asdict(answer))


@staff_api.post(_ONE)
@lowering(ExtensionAnswer, path={**_PATH, "person": PERSON}, takes=_ExtensionRequest)
def grant_extension(course: str, assignment: str, person: int) -> Response:
    """Give a student more time or attempts, as an instructor."""
    return change_by_json(
        EXTENSION,
        _ExtensionRequest,
        course,
        of_assignment(assignment, person),
        lambda _session, _on, made: _answer(*made),
    )


@staff_api.post(f"{_ONE}/withdraw")
@lowering(DoneAnswer, path={**_PATH, "person": PERSON}, takes=_WithdrawalRequest)
def withdraw_extension(course: str, assignment: str, person: int) -> Response:
    """Remove a student's extension, as an instructor."""
    return change_by_json(WITHDRAWAL, _WithdrawalRequest, course, of_assignment(assignment, person), done_answer)


def _answer(extension: Extension) -> ExtensionAnswer:
    student = extension.person
    return ExtensionAnswer(
        student.id, student.name, student.email, moment_text(extension.due_at),
        moment_text(extension.closes_at), extension.extra_attempts, extension.reason,
    )  # fmt: skip
