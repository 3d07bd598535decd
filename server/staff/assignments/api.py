"""The API of extensions: list, grant and withdraw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from flask import Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.courses.models import Extension
from server.fields import Range, Text
from server.http.operation import operation
from server.http.site import site
from server.staff.api_desk import (
    CONFIRM,
    NAME,
    PERSON,
    REFUSES,
    DoneAnswer,
    assignment_here,
    course_for_staff,
    desk_of,
    lowering,
    read_change,
    refuse_wrong,
    staff_api,
    time_to_keep,
)
from server.staff.assignments.service import LONGEST_REASON, MOST_EXTRA, Grant, extensions, grant, withdraw, wrong_grant
from server.staff.desk import printable
from server.staff.losses import losses_confirmed

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME}
_ALL = "/courses/<course>/assignments/<assignment>/extensions"
_ONE = f"{_ALL}/<int(max=9007199254740991):person>"


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    """An extension, which replaces the student's present one.

    due_at, closes_at: instead of the assignment's times, with their zone; None for the assignment's
    extra_attempts: in addition to the assignment's
    reason: for course staff only
    confirm: the value of `confirm` in the problem `lowers_points`
    """

    due_at: datetime | None = None
    closes_at: datetime | None = None
    extra_attempts: Annotated[int, Range(0, MOST_EXTRA)] = 0
    reason: Annotated[str, Text(longest=LONGEST_REASON)] = ""
    confirm: CONFIRM = ""


@dataclass(frozen=True, slots=True)
class ConfirmRequest:
    """A change without further data. confirm: the value of `confirm` in the problem `lowers_points`."""

    confirm: CONFIRM = ""


@dataclass(frozen=True, slots=True)
class ExtensionAnswer:
    """A student's extension. due_at, closes_at: None for the assignment's own."""

    person: int
    name: str
    email: str
    due_at: datetime | None
    closes_at: datetime | None
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
    return jsonify(answer)


@staff_api.post(_ONE)
@lowering(ExtensionAnswer, path={**_PATH, "person": PERSON}, takes=ExtensionRequest)
def grant_extension(course: str, assignment: str, person: int) -> Response:
    """Give a student more time or attempts, as an instructor."""
    desk = desk_of(course, instructor=True)
    asked = read_change(ExtensionRequest)
    given = Grant(
        due_at=time_to_keep("due_at", asked.due_at),
        closes_at=time_to_keep("closes_at", asked.closes_at),
        extra_attempts=asked.extra_attempts,
        reason=printable(asked.reason),
    )
    with site().sessions.begin() as session:
        found = desk.assignment(session, assignment)
        desk.student(session, person)
        refuse_wrong(wrong_grant(found, given))
        with losses_confirmed(session, found, asked.confirm, person):
            made = grant(session, desk.course(session), found, desk.actor(session), person, given)
        answer = _answer(made)
    return jsonify(answer)


@staff_api.post(f"{_ONE}/withdraw")
@lowering(DoneAnswer, path={**_PATH, "person": PERSON}, takes=ConfirmRequest)
def withdraw_extension(course: str, assignment: str, person: int) -> Response:
    """Remove a student's extension, as an instructor."""
    desk = desk_of(course, instructor=True)
    asked = read_change(ConfirmRequest)
    with site().sessions.begin() as session:
        found = desk.assignment(session, assignment)
        desk.student(session, person)
        with losses_confirmed(session, found, asked.confirm, person):
            there = withdraw(session, desk.course(session), found, desk.actor(session), person)
    return jsonify(DoneAnswer(there))


def _answer(extension: Extension) -> ExtensionAnswer:
    student = extension.person
    return ExtensionAnswer(
        student.id, student.name, student.email, extension.due_at,
        extension.closes_at, extension.extra_attempts, extension.reason,
    )  # fmt: skip
