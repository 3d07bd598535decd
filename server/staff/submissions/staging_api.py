"""The API of a staged regrade: see what it would change, apply it, drop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.courses.models import Role
from server.courses.service import role_in
from server.http.operation import operation
from server.http.problems import Refused
from server.http.site import site
from server.staff.api_desk import (
    CONFIRM,
    NAME,
    REFUSES,
    REFUSES_CHANGE,
    DoneAnswer,
    LossAnswer,
    assignment_here,
    course_for_staff,
    desk_of,
    losses_problem,
    lowering,
    read_change,
    staff_api,
)
from server.staff.submissions.regrades import ChangedVerdict
from server.staff.submissions.staged_preview import NewGrade, NewRank, Preview, preview
from server.staff.submissions.staging import StagedRegradeAnswer, apply, drop, find_staged, progress
from server.submissions.changes import revoke

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME}
_STAGED = "/courses/<course>/assignments/<assignment>/staged-regrade"


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """Apply a staged regrade. confirm: the value of `confirm` in its preview; needed if points fall."""

    confirm: CONFIRM = ""


@dataclass(frozen=True, slots=True)
class NewGradeAnswer:
    """A student's points, before and after. None if nothing counts."""

    person: int
    name: str
    email: str
    was: float | None
    now: float | None


@dataclass(frozen=True, slots=True)
class StagedPreviewAnswer:
    """What applying a staged regrade would change. confirm: confirms exactly these changes."""

    verdicts: tuple[ChangedVerdict, ...]
    grades: tuple[NewGradeAnswer, ...]
    ranks: tuple[NewRank, ...]
    confirm: str


@dataclass(frozen=True, slots=True)
class StagedProgressAnswer:
    """A staged regrade. preview: None until all of it is graded."""

    regrade: StagedRegradeAnswer
    preview: StagedPreviewAnswer | None


@dataclass(frozen=True, slots=True)
class AppliedAnswer:
    """An applied regrade. jobs: how many submissions it covered."""

    jobs: int


@staff_api.get(_STAGED)
@operation(StagedProgressAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_staged(course: str, assignment: str) -> Response:
    """Get an assignment's staged regrade and what it would change, as course staff."""
    person = person_asking()
    with site().readers.begin() as session:
        here = course_for_staff(session, person, course)
        staged = find_staged(session, assignment_here(session, here.slug, assignment))
        if staged is None:
            raise Refused(404, "not_staged", "No regrade is staged", "Start one with `stage`.")
        found = progress(session, staged)
        shown = _preview(preview(session, staged)) if found.over else None
    return jsonify(StagedProgressAnswer(found, shown))


@staff_api.post(f"{_STAGED}/apply")
@lowering(AppliedAnswer, path=_PATH, takes=ApplyRequest)
def apply_staged(course: str, assignment: str) -> Response:
    """Let the staged verdicts count, all at once, as course staff. Only instructors replace an exercise's version."""
    desk = desk_of(course)
    asked = read_change(ApplyRequest)
    with site().sessions.begin() as session:
        found = desk.assignment(session, assignment)
        staged = find_staged(session, found)
        instructor = role_in(session, desk.person_id, desk.course_id) is Role.INSTRUCTOR
        if staged is not None and staged.exercise_id is not None and not instructor:
            raise Refused(
                403, "not_instructor", "Only an instructor may do this", "It replaces the exercise's version."
            )
        changes = None if staged is None else preview(session, staged)
        if changes is not None and _unconfirmed(changes, asked.confirm):
            lower = tuple(_loss(found.slug, one) for one in changes.grades if one.lower)
            return losses_problem(lower, changes.digest)
        count = apply(session, found, desk.actor(session))
    return jsonify(AppliedAnswer(count))


@staff_api.post(f"{_STAGED}/drop")
@operation(DoneAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def drop_staged(course: str, assignment: str) -> Response:
    """Delete an assignment's staged regrade, as course staff. Nothing else changes."""
    desk = desk_of(course)
    with site().sessions.begin() as session:
        tickets = drop(session, desk.assignment(session, assignment), desk.actor(session))
    revoke(site().settings.redis_url, tickets)
    return jsonify(DoneAnswer(changed=True))


def _unconfirmed(changes: Preview, confirm: str) -> bool:
    """Whether points fall without a confirmation, or others than the confirmed ones."""
    return bool(changes.lower or confirm) and confirm != changes.digest


def _preview(found: Preview) -> StagedPreviewAnswer:
    return StagedPreviewAnswer(
        found.verdicts,
        tuple(
            NewGradeAnswer(one.person_id, one.student, one.email, one.was.points, one.now.points)
            for one in found.grades
        ),
        found.ranks,
        found.digest,
    )


def _loss(assignment: str, one: NewGrade) -> LossAnswer:
    return LossAnswer(one.person_id, one.student, one.email, assignment, one.was.points, one.now.points)
