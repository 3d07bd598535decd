"""A course's own exercises: drafts that staff change, and published versions that never change.

A course has at most one draft of each exercise. Saving replaces it. Publishing makes it the next version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, defer, joinedload

from kernels.exercise import Exercise as Found
from kernels.exercise import ExerciseError, read_exercise
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Course, Exercise, ExerciseFile
from server.courses.service import CourseError, hold_course
from server.exercises.stored import Content, content_of, files_of, keep_draft, kept_content, newest_published, publish
from server.grading.models import Job
from server.grading.service import delete_jobs
from worker.contract.messages import Ticket


@dataclass(frozen=True, slots=True)
class OwnExercise:
    """An exercise of a course.

    draft: None for none
    versions: the published ones, newest first; of each number, as the newest judge reads it
    assignments: that use one of them, by short name
    """

    name: str
    draft: Exercise | None
    versions: tuple[Exercise, ...]
    assignments: tuple[Assignment, ...]

    @property
    def newest(self) -> Exercise:
        """The draft, otherwise the newest version."""
        return self.draft or self.versions[0]


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved draft, with the tickets to revoke after the commit. changed: false if this is a version already."""

    row: Exercise
    changed: bool
    tickets: Sequence[Ticket] = ()


def own_exercises(session: Session, course_id: int, name: str | None = None) -> list[OwnExercise]:
    """The exercises of a course by name, without their texts. name: only this one."""
    rows = select(Exercise).where(Exercise.course_id == course_id).options(defer(Exercise.definition))
    used = select(Assignment).join(Assignment.exercise).where(Exercise.course_id == course_id)
    if name is not None:
        rows, used = rows.where(Exercise.name == name), used.where(Exercise.name == name)
    versions: dict[str, list[Exercise]] = {}
    for row in session.scalars(rows.order_by(Exercise.name, Exercise.number.desc(), Exercise.id.desc())):
        versions.setdefault(row.name, []).append(row)
    assignments: dict[str, list[Assignment]] = {}
    shown = joinedload(Assignment.exercise).defer(Exercise.definition)
    for one in session.scalars(used.options(shown).order_by(Assignment.slug)):
        assignments.setdefault(one.exercise.name, []).append(one)
    return [
        OwnExercise(
            each,
            next((row for row in found if row.number is None), None),
            tuple({row.number: row for row in reversed(found) if row.number is not None}.values())[::-1],
            tuple(assignments.get(each, ())),
        )
        for each, found in versions.items()
    ]


def find_own(session: Session, course_id: int, name: str) -> OwnExercise | None:
    """The course's exercise of this name; None for none."""
    # PostgreSQL refuses some characters of addresses, such as NUL.
    return next(iter(own_exercises(session, course_id, name)), None) if name.isprintable() else None


def version_of(found: OwnExercise, number: int | None) -> Exercise | None:
    """The published version of this number, or the draft for None; None if there is none."""
    if number is None:
        return found.draft
    return next((row for row in found.versions if row.number == number), None)


def save(
    session: Session,
    course: Course,
    name: str,
    files: Mapping[str, bytes],
    actor: Person | None,
    *,
    replaces: str | None = None,
    now: datetime | None = None,
) -> Saved:
    """Make these files the draft of the course's exercise of this name, in place of any other draft.

    replaces: the version that the files were made from; None to replace any draft

    raise (ExerciseError, CourseError): a file is refused, or someone else saved another draft meanwhile
    """
    moment = now or datetime.now(UTC)
    content = content_of(name, files)
    hold_course(session, course.id)
    found = find_own(session, course.id, name)
    if replaces is not None and (found is None or found.newest.version != replaces):
        raise CourseError("Someone else changed this exercise meanwhile. Copy your changes, and reload the page.")
    known = () if found is None else (found.draft, *found.versions)
    same = next((row for row in known if row is not None and row.version == content.version), None)
    if same is not None:
        return Saved(same, changed=False)
    tickets = [] if found is None or found.draft is None else delete_draft(session, found.draft)
    row = keep_draft(session, content, course.id, None if actor is None else actor.id, moment)
    note(
        session, actor, "exercise.saved", subject(course, name), now=moment, course_id=course.id,
        version=row.version[:12],
    )  # fmt: skip
    return Saved(row, changed=True, tickets=tickets)


def publish_draft(
    session: Session, course: Course, draft: Exercise, actor: Person | None, now: datetime | None = None
) -> int:
    """Make a draft the next version, and return its number. The caller has seen its proof."""
    moment = now or datetime.now(UTC)
    publish(session, draft, moment)
    number = draft.number
    assert number is not None, "a published version has a number"
    note(
        session, actor, "exercise.published", subject(course, draft.name), now=moment, course_id=course.id,
        number=number, version=draft.version[:12],
    )  # fmt: skip
    return number


def offered(session: Session, course_id: int) -> dict[str, Found]:
    """The newest published version of each exercise of a course, by name, if this judge can read it."""
    found: dict[str, Found] = {}
    for own in own_exercises(session, course_id):
        if own.versions and _has_files(session, own.versions[0]):
            with suppress(ExerciseError):
                found[own.name] = read_exercise(own.name, own.versions[0].definition)
    return found


def newest_content(session: Session, course_id: int, name: str) -> Content:
    """The newest published version of a course's exercise, with its files. Raises CourseError for none."""
    row = newest_published(session, course_id, name)
    if row is None or not _has_files(session, row):
        raise CourseError(f"The course has no published exercise {name}.")
    try:
        return kept_content(session, row)
    except ExerciseError as error:
        raise CourseError(str(error)) from error


def newer_version(session: Session, row: Exercise) -> Exercise | None:
    """The newest published version of a course's own exercise, if it is newer than this one."""
    newest = None if row.course_id is None else newest_published(session, row.course_id, row.name)
    if newest is None or (newest.number or 0) <= (row.number or 0):
        return None
    return newest


def subject(course: Course, name: str) -> str:
    """An exercise in the audit log."""
    return f"exercise {course.slug}/{name}"


def export(session: Session, row: Exercise) -> Mapping[str, bytes]:
    """All files of a version, as its author wrote them; raises CourseError for an old one without stored files."""
    files = files_of(session, row)
    if len(files) == 1:
        raise CourseError(f"The files of {row.name} weren't stored, because an older Tilelab brought it here.")
    return files


def _has_files(session: Session, row: Exercise) -> bool:
    query = select(ExerciseFile.exercise_id).where(ExerciseFile.exercise_id == row.id).limit(1)
    return session.scalar(query) is not None


def delete_draft(session: Session, draft: Exercise) -> list[Ticket]:
    """Delete a draft with its proof. Returns the tickets to revoke after the commit."""
    number = draft.id
    tickets = delete_jobs(session, (Job.exercise_id == number) & Job.proof_file.is_not(None))
    session.execute(delete(ExerciseFile).where(ExerciseFile.exercise_id == number))
    session.execute(delete(Exercise).where(Exercise.id == number))
    session.expire_all()
    return tickets
