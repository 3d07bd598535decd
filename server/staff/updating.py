"""Bring what is set in step with the exercise as it is installed, as after an upgrade that judges otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, joinedload

from kernels.exercise import Exercise as Found
from kernels.exercise import ExerciseError, find_exercise, read_exercise, schema
from server.accounts.models import Person
from server.audit.service import note
from server.courses.locking import hold_course
from server.courses.models import Assignment
from server.courses.service import CourseError, keep_exercise
from server.grading.attempts import given_back
from server.grading.models import Exercise, Job, Step, StepState
from server.grading.turns import in_state
from server.standings.models import Standing
from server.standings.service import rebuild
from server.submissions.models import Submission
from worker.messages import StepKind


@dataclass(frozen=True, slots=True)
class Update:
    """What bringing an assignment along would change.

    was, now: digests of the exercise, as it is set and as it is installed
    waiting: how many that wait are judged anew; standing: how many lines the boards lose until they are filled again
    """

    was: str
    now: str
    waiting: int
    standing: int


def update_exercise(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    *,
    folders: Sequence[Path] = (),
    shown: str | None = None,
    now: datetime | None = None,
) -> int | None:
    """Judge by the exercise as it is now; raises CourseError where there is none of its name, or none that fits.

    What waits to be graded is graded so, too. Verdicts and points stay, and boards begin anew: what was judged before
    stands on them once it is graded again.

    folders: with exercises beside those that come with Tilelab
    shown: the digest that `plan_update` told; a CourseError where another is installed by now. None for any
    return: how many that waited are judged anew; None where the exercise judges as it did
    """
    moment = now or datetime.now(UTC)
    # so that nothing is graded again meanwhile, by the one or the other, and of two who do this the second sees it done
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    was = assignment.exercise_digest
    row = keep_exercise(session, _installed(assignment, folders), moment)
    if row.digest == was:
        return None
    if shown not in {None, row.digest}:
        raise CourseError(
            "The exercise that is installed is another than the one that was shown. Open the page anew, and look again."
        )
    # steps before the assignment: in this order they are locked by whoever records a result
    waiting = _take_along(session, assignment, row, moment)
    session.refresh(assignment, with_for_update={"of": Assignment})
    # what was being handed in before nobody could any more
    waiting += _take_along(session, assignment, row, moment)
    assignment.exercise = row
    session.flush()
    rebuild(session, assignment)
    note(
        session, actor, "assignment.updated", f"assignment {assignment.course.slug}/{assignment.slug}", now=moment,
        course_id=assignment.course_id, exercise=[was[:12], row.digest[:12]], waiting=waiting,
    )  # fmt: skip
    return waiting


def plan_update(session: Session, assignment: Assignment, *, folders: Sequence[Path] = ()) -> Update | None:
    """What that would change; None where the exercise judges as it did. Raises CourseError, as `update_exercise`."""
    found = _installed(assignment, folders)
    if found.digest == assignment.exercise_digest:
        return None
    waiting = select(func.count()).select_from(Step).join(Step.job).where(*_not_begun(assignment))
    standing = select(func.count()).where(
        Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False)
    )
    return Update(
        assignment.exercise_digest, found.digest, session.scalar(waiting) or 0, session.scalar(standing) or 0
    )


def is_judged(exercise: Exercise) -> bool:
    """Whether workers of this version take what is to be judged by it: those of another judge refuse."""
    return _is_judged(exercise.name, exercise.definition, exercise.digest, schema.JUDGE_VERSION)


@lru_cache(maxsize=256)
def _is_judged(name: str, definition: str, digest: str, _judge: int) -> bool:
    """Kept, as pages ask it of each assignment, and to read a definition takes a few milliseconds."""
    try:
        read_exercise(name, definition, digest)
    except ExerciseError:
        return False
    return True


def _installed(assignment: Assignment, folders: Sequence[Path]) -> Found:
    try:
        found = find_exercise(assignment.exercise.name, folders)
    except ExerciseError as error:
        raise CourseError(str(error)) from error
    if assignment.tile is not None and assignment.tile not in found.tiles:
        allowed = ", ".join(map(str, found.tiles))
        raise CourseError(
            f"The exercise {found.name} has no tile {assignment.tile} any more; it has {allowed}."
        )
    return found


def _not_begun(assignment: Assignment) -> tuple[ColumnElement[bool], ...]:
    """Of steps, joined with their jobs: those that no worker has taken, of what is judged as the assignment is set."""
    handed_in = select(Submission.id).where(Submission.assignment_id == assignment.id)
    return (
        Job.submission_id.in_(handed_in),
        Job.exercise_digest == assignment.exercise_digest,
        Step.kind == StepKind.CHECK,
        in_state(StepState.QUEUED, StepState.SENT),
    )


def _take_along(session: Session, assignment: Assignment, row: Exercise, now: datetime) -> int:
    """Judge what no worker has taken yet by the exercise as it is now. A message that was sent of it counts no more."""
    query = (
        select(Step)
        .join(Step.job)
        .where(*_not_begun(assignment))
        .options(joinedload(Step.job, innerjoin=True))
        .order_by(Step.id)
        .with_for_update(of=Step)
    )
    steps = session.scalars(query.execution_options(populate_existing=True)).all()
    for step in steps:
        if step.state is StepState.SENT:
            given_back(session, step, now)
        step.job.exercise = row
    return len(steps)
