"""Update an assignment to another version of its exercise, for example after an upgrade that changes grading."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, joinedload

from kernels.exercise import ExerciseError, read_exercise, schema
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Course, Exercise, Extension, Role
from server.courses.service import CourseError, assignments_for, hold_course
from server.exercises.stored import Content, installed_content, keep, kept_content
from server.grading.attempts import given_back
from server.grading.models import Job, Step, StepState, judged_alike
from server.grading.queue_order import in_state
from server.standings.models import Standing
from server.standings.service import rebuild
from server.submissions.models import StagedRegrade, Submission
from worker.contract.messages import StepKind


@dataclass(frozen=True, slots=True)
class Update:
    """What an update would change.

    was, now: versions of the exercise
    judges: whether grading changes; if not, no regrades are needed and leaderboards keep their entries
    waiting: how many waiting submissions the new version would grade
    standing: how many entries the leaderboards lose until regrading
    """

    was: str
    now: str
    judges: bool
    waiting: int
    standing: int


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update changed. judges: whether grading changed; waiting: how many waiting submissions it affects."""

    judges: bool
    waiting: int


def update_exercise(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    *,
    content: Content | None = None,
    shown: str | None = None,
    now: datetime | None = None,
) -> Updated | None:
    """Update the assignment to another version of its exercise, from the same origin; raises CourseError if none
    fits.

    If grading changes, waiting submissions are graded by the new version. Verdicts and points stay. Leaderboards
    restart empty; entries return when they are regraded.

    content: from a folder; None for the installed version. For a course's own exercise, None means its stored files
    shown: the version that `plan_update` reported; raises CourseError if it changed since. None accepts any version
    return: None if the assignment has this version already
    """
    moment = now or datetime.now(UTC)
    # Locked against regrades meanwhile, and so that a second simultaneous update sees the result of the first.
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    was = assignment.exercise
    wanted = content or _newest(session, assignment)
    check_tile(assignment, wanted)
    if wanted.version == was.version:
        return None
    if shown not in {None, wanted.version}:
        raise CourseError(
            "Another version of the exercise was installed meanwhile. Reload the page and check the update again."
        )
    row = keep(session, wanted, was.course_id, moment)
    judges = row.digest != was.digest
    if judges and session.scalar(select(StagedRegrade.id).where(StagedRegrade.assignment_id == assignment.id)):
        raise CourseError("A regrade of this assignment is staged. Apply or drop it first.")
    waiting = replace_version(session, assignment, row, moment) if judges else 0
    assignment.exercise = row
    session.flush()
    if judges:
        rebuild(session, assignment)
    note(
        session, actor, "assignment.updated", f"assignment {assignment.name}", now=moment,
        course_id=assignment.course_id, exercise=[was.version[:12], row.version[:12]], waiting=waiting,
    )  # fmt: skip
    return Updated(judges, waiting)


def replace_version(session: Session, assignment: Assignment, row: Exercise, now: datetime) -> int:
    """Give an assignment another version, and the submissions that wait for a worker, too. Returns how many wait.

    The caller rebuilds the leaderboards.
    """
    waiting = _take_all_along(session, assignment, row, now)
    assignment.exercise = row
    session.flush()
    return waiting


def check_tile(assignment: Assignment, content: Content) -> None:
    """Check that a version has the assignment's tile; raises CourseError."""
    found = content.exercise
    if assignment.tile is not None and assignment.tile not in found.tiles:
        allowed = ", ".join(map(str, found.tiles))
        raise CourseError(f"The exercise {found.name} no longer has tile {assignment.tile}. Its tiles are {allowed}.")


def plan_update(session: Session, assignment: Assignment) -> Update | None:
    """What an update would change; None if there is nothing to update. Raises CourseError, as `update_exercise`."""
    was, content = assignment.exercise, _newest(session, assignment)
    check_tile(assignment, content)
    if content.version == was.version:
        return None
    waiting = select(func.count()).select_from(Step).join(Step.job).where(*_not_begun(assignment))
    standing = select(func.count()).where(Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False))
    judges = content.exercise.digest != was.digest
    return Update(was.version, content.version, judges, session.scalar(waiting) or 0, session.scalar(standing) or 0)


def is_outdated(session: Session, assignment: Assignment) -> bool:
    """Whether there is a newer version."""
    try:
        return _newest(session, assignment).version != assignment.exercise.version
    except CourseError:
        return False


def is_judged(exercise: Exercise) -> bool:
    """Whether workers of this version can grade the exercise: a worker with another judge refuses it."""
    return _is_judged(exercise.name, exercise.definition, exercise.digest, schema.JUDGE_VERSION)


@lru_cache(maxsize=256)
def _is_judged(name: str, definition: str, digest: str, _judge: int) -> bool:
    """Cached, because pages ask it for each assignment, and reading a definition takes milliseconds."""
    try:
        read_exercise(name, definition, digest)
    except ExerciseError:
        return False
    return True


def _newest(session: Session, assignment: Assignment) -> Content:
    """The version to update to, from the assignment's own origin."""
    row = assignment.exercise
    try:
        return installed_content(row.name) if row.course_id is None else kept_content(session, row)
    except ExerciseError as error:
        raise CourseError(str(error)) from error


def _not_begun(assignment: Assignment) -> tuple[ColumnElement[bool], ...]:
    """Conditions on steps joined with their jobs: no worker took them, and they use the assignment's current
    exercise.
    """
    handed_in = select(Submission.id).where(Submission.assignment_id == assignment.id)
    return (
        Job.submission_id.in_(handed_in),
        judged_alike(assignment.exercise),
        Step.kind == StepKind.CHECK,
        in_state(StepState.QUEUED, StepState.SENT),
    )


def _take_all_along(session: Session, assignment: Assignment, row: Exercise, now: datetime) -> int:
    """Lock steps before the assignment, in the order in which results are recorded."""
    waiting = take_waiting(session, assignment, row, now)
    session.refresh(assignment, with_for_update={"of": Assignment})
    # submissions that arrived before the assignment was locked
    return waiting + take_waiting(session, assignment, row, now)


def take_waiting(session: Session, assignment: Assignment, row: Exercise, now: datetime) -> int:
    """Let waiting steps use this version of the exercise, and lock them. Messages sent earlier no longer count."""
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


@dataclass(frozen=True, slots=True)
class Line:
    """An assignment in the list.

    students: how many students submitted; refused: whether workers of this version refuse its submissions
    """

    assignment: Assignment
    students: int
    submissions: int
    extensions: int
    refused: bool


def lines(session: Session, course: Course) -> list[Line]:
    """All assignments of a course, with few queries."""
    found = assignments_for(session, course.id, Role.INSTRUCTOR)
    numbers = [one.id for one in found]
    counted = select(Submission.assignment_id, func.count(), func.count(Submission.person_id.distinct())).where(
        Submission.assignment_id.in_(numbers)
    )
    handed_in = {
        number: (every, people) for number, every, people in session.execute(counted.group_by(Submission.assignment_id))
    }
    granted = select(Extension.assignment_id, func.count()).where(Extension.assignment_id.in_(numbers))
    extended = dict(session.execute(granted.group_by(Extension.assignment_id)).all())
    return [
        Line(
            one, handed_in.get(one.id, (0, 0))[1], handed_in.get(one.id, (0, 0))[0],
            extended.get(one.id, 0), not is_judged(one.exercise),
        )
        for one in found
    ]  # fmt: skip
