"""The API of regrades, at once or staged, for course staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.models import Person, Scope
from server.acts.by_api import change_by_json, finished, of_assignment
from server.courses.models import Assignment, Role
from server.courses.staff_api import (
    CONFIRM,
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    REFUSES_LOSSES,
    DoneAnswer,
    LossAnswer,
    assignment_here,
    desk_of,
    loss_answer,
    losses_problem,
    lowering,
    not_instructor,
    read_as_staff,
    read_change,
    staff_api,
)
from server.http.json_body import invalid
from server.http.operation import operation
from server.http.problems import Refused
from server.http.site import site
from server.regrades import service as regrades
from server.regrades.service import (
    ChangedVerdict,
    MayLowerPoints,
    Planned,
    Regrade,
    begin,
    begin_staged,
    cancel_waiting,
    changed_verdicts,
    plan,
    runs,
)
from server.regrades.staged_preview import NewGrade, NewRank, Preview, preview
from server.regrades.staging import DROP, StagedRegradeAnswer, apply, find_staged, progress, staged_in
from server.submissions.changes import revoke
from server.submissions.course_submissions import newest
from server.submissions.criteria import SubmissionCriteria

_REGRADE = "/courses/<course>/regrades/<int(max=9007199254740991):number>"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RegradeRequest(SubmissionCriteria):
    """The submissions to regrade; without a field, any of the course.

    stage: change nothing until the regrade is applied
    confirm: the value of `confirm` in the problem `lowers_points`
    """

    stage: bool = False
    confirm: CONFIRM = ""


@dataclass(frozen=True, slots=True)
class NewRegradeAnswer:
    """A new regrade. waiting: matching submissions that wait to be graded in any case.

    jobs: how many submissions are regraded
    regrades: their regrades, one for each assignment; none if it is staged
    staged: the short names of the assignments with a staged regrade
    """

    jobs: int
    waiting: int
    regrades: tuple[int, ...]
    staged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegradesAnswer:
    """The staged and the latest regrades of a course, the newest first."""

    staged: tuple[StagedRegradeAnswer, ...]
    regrades: tuple[Regrade, ...]


@dataclass(frozen=True, slots=True)
class RegradeProgressAnswer:
    """A regrade, with the first 100 changed verdicts."""

    regrade: Regrade
    changed: tuple[ChangedVerdict, ...]


@staff_api.get("/courses/<course>/regrades")
@operation(RegradesAnswer, path={"course": NAME}, scope=Scope.STAFF, refuses=REFUSES)
def show_regrades(course: str) -> Response:
    """List the staged regrades and the latest 20 others, as course staff."""
    with read_as_staff(course) as (session, here):
        answer = RegradesAnswer(tuple(staged_in(session, here.id)), tuple(runs(session, here.id, _SHOWN)))
    return jsonify(answer)


@staff_api.post("/courses/<course>/regrades")
@lowering(
    NewRegradeAnswer,
    status=202,
    path={"course": NAME},
    takes=RegradeRequest,
    refuses=REFUSES_LOSSES | {422: "A field has an invalid value, or more than 5,000 submissions match."},
)
def start_regrade(course: str) -> tuple[Response, int]:
    """Regrade submissions, as course staff: at once, or staged. Regrading uses no attempts.

    At once, each new verdict counts when it is ready. If students may lose points, the request needs a confirmation.
    """
    desk = desk_of(course)
    asked = read_change(RegradeRequest)
    with site().sessions.begin() as session:
        if asked.assignment:
            desk.assignment(session, asked.assignment)
        planned = plan(session, desk.course_id, asked, newest(session), most=regrades.MOST)
        if planned.more:
            raise invalid(f"More than {regrades.MOST:,} submissions match. Use `since` and `until`.")
        if asked.submission and not planned.submissions:
            raise Refused(
                404, "no_such_submission", "There is no such submission", "No submission of the course matches."
            )
        answer = _begin(session, desk.course_id, planned, asked, desk.actor(session))
    return jsonify(answer), 202


@staff_api.get(_REGRADE)
@operation(RegradeProgressAnswer, path={"course": NAME, "number": PERSON}, scope=Scope.STAFF, refuses=REFUSES)
def show_regrade(course: str, number: int) -> Response:
    """Get a regrade's progress and its changed verdicts, as course staff."""
    with read_as_staff(course) as (session, here):
        run = _run(session, here.id, number)
        answer = RegradeProgressAnswer(run, tuple(changed_verdicts(session, run)))
    return jsonify(answer)


@staff_api.post(f"{_REGRADE}/cancel")
@operation(Regrade, path={"course": NAME, "number": PERSON}, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def cancel_regrade(course: str, number: int) -> Response:
    """Cancel what still waits of a regrade, as course staff. These submissions keep their verdicts."""
    desk = desk_of(course)
    with site().readers.begin() as session:
        run = _run(session, desk.course_id, number)
    revoke(site().settings.redis_url, cancel_waiting(site().sessions, run, desk.course_id, desk.person_id))
    with site().readers.begin() as session:
        return jsonify(_run(session, desk.course_id, number))


@staff_api.errorhandler(MayLowerPoints)
def _name_risks(lowers: MayLowerPoints) -> Response:
    losses = tuple(loss_answer(one.assignment, one.loss) for one in lowers.risks)
    return losses_problem(losses, lowers.digest)


def _begin(
    session: Session, course_id: int, planned: Planned, asked: RegradeRequest, actor: Person
) -> NewRegradeAnswer:
    now = datetime.now(UTC)
    if asked.stage:
        made = begin_staged(session, planned, actor, now)
        wanted = {one.assignment_id for one in planned.submissions if not one.waits}
        slugs = (session.get_one(Assignment, number).slug for number in wanted)
        return NewRegradeAnswer(len(made), planned.waiting, (), tuple(sorted(slugs)))
    before = runs(session, course_id, 1)
    made = begin(session, planned, actor, asked.confirm, now)
    session.flush()
    most = len({one.assignment_id for one in planned.submissions})
    last = before[0].number if before else 0
    numbers = sorted(one.number for one in runs(session, course_id, most) if one.number > last) if most else []
    return NewRegradeAnswer(len(made), planned.waiting, tuple(numbers), ())


def _run(session: Session, course_id: int, number: int) -> Regrade:
    found = runs(session, course_id, 1, number)
    if not found:
        raise Refused(404, "no_such_regrade", "There is no such regrade", "The list of regrades has the IDs.")
    return found[0]


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
    with read_as_staff(course) as (session, here):
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
        if staged is not None and staged.exercise_id is not None and desk.role is not Role.INSTRUCTOR:
            raise not_instructor("It replaces the exercise's version.")
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
    return change_by_json(DROP, None, course, of_assignment(assignment), finished)


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
