"""Stored exercises: their origin, versions and files.

An exercise comes with Tilelab, or belongs to the course that it was read for from a folder. Two exercises with the same
folder name or the same text are still different exercises. Any change makes a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from kernels.exercise import Exercise as Found
from kernels.exercise import ExerciseError, comes_with_tilelab, find_exercise, read_exercise
from kernels.exercise.schema import DEFINITION, with_solution, without_solution
from kernels.exercise.wrong_kernels import FOLDER as WRONG_FOLDER
from kernels.exercise.wrong_kernels import RIGHT_FOLDER, WrongKernel, read_wrong_kernels, right_kernels
from kernels.exercise.wrong_kernels import TABLE as WRONG_TABLE
from kernels.phases.handout import handout_phases
from kernels.source.similarity.openness import code_in, proposed_percent
from kernels.toml_text import read_toml
from server.courses.models import EXERCISE_FILE_BYTES, SOURCE_BYTES, Course, Exercise, ExerciseFile
from server.courses.titles import title_mistake
from server.database.upsert import insert_into

SOLUTION = "solution.cu"
_HANDOUT = "handout.md"
_STARTER = "starter.cu"
_LARGEST = {DEFINITION: SOURCE_BYTES, _HANDOUT: 2**20, _STARTER: SOURCE_BYTES, SOLUTION: SOURCE_BYTES}
_FIGURE = ".svg"
_MOST_FIGURES = 50
_MOST_KERNELS = 20
# Rendering an extreme text takes up to 12 microseconds a byte.
_UPLOADED_HANDOUT = 128 * 2**10
# Reading and proving an uploaded exercise takes time with each of these.
_MOST = {
    "sizes": 8, "operands": 16, "parameters": 32, "constants": 16, "goals": 16, "cases": 32, "macros": 8,
    "size_macros": 8, "tile.allowed": 16,
}  # fmt: skip
_LONGEST_NAME = 60
_LONGEST_FILE_NAME = 100


@dataclass(frozen=True, slots=True)
class Content:
    """One version of an exercise. files: handout, starter, solution and figures, by name."""

    exercise: Found
    definition: str
    files: Mapping[str, bytes]

    @property
    def shipped(self) -> bool:
        return comes_with_tilelab(self.exercise)

    @property
    def version(self) -> str:
        """A hash of everything that verdicts depend on, and of all files."""
        files = {DEFINITION: self.definition.encode(), **self.files}
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        text = json.dumps({"judged_by": self.exercise.digest, "files": hashes}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Material:
    """The files for students. figures: the names of the handout's figures; starter: None for none."""

    handout: str
    figures: frozenset[str]
    starter: str | None


def read_content(exercise: Found) -> Content:
    """Read an exercise with the files in its folder; raises ExerciseError for a file that can't be stored."""
    root = exercise.root
    names = [*_LARGEST, *sorted(file.name for file in root.iterdir() if file.suffix == _FIGURE)]
    if not comes_with_tilelab(exercise):
        names += [WRONG_TABLE] if (root / WRONG_TABLE).is_file() else []
        names += sorted(f"{WRONG_FOLDER}/{file.name}" for file in (root / WRONG_FOLDER).glob("*.cu"))
        names += right_kernels(exercise)
    files = {name: _read(root / name) for name in names}
    _check_content(exercise, files, root)
    definition = with_solution(files.pop(DEFINITION).decode(), files[SOLUTION])
    return Content(exercise, definition, files)


def content_of(name: str, files: Mapping[str, bytes]) -> Content:
    """The exercise that a course's staff uploaded or edited; raises ExerciseError.

    files: by path in the exercise's folder
    """
    root = Path(name)
    for file in _LARGEST:
        if file not in files:
            raise ExerciseError(root / file, "", "this file is missing")
    for file, content in files.items():
        _check_size(root / file, len(content))
        if not file.endswith(_FIGURE):
            _check_text(root / file, content)
    if len(files[_HANDOUT]) > _UPLOADED_HANDOUT:
        raise ExerciseError(root / _HANDOUT, "", f"this file has more than {_UPLOADED_HANDOUT // 1024} KiB")
    text = files[DEFINITION].decode()
    _check_counts(text, root / DEFINITION)
    definition = with_solution(text, files[SOLUTION])
    exercise = read_exercise(name, definition)
    _check_content(exercise, files, root)
    return Content(exercise, definition, {file: files[file] for file in files if file != DEFINITION})


def wrong_kernels_of(content: Content) -> tuple[WrongKernel, ...]:
    """The incorrect kernels of a stored exercise; raises ExerciseError."""
    root = Path(content.exercise.name)
    return _wrong_kernels(content.files, root)


def right_kernels_of(content: Content) -> tuple[str, ...]:
    """The further correct kernels of a stored exercise, as paths in its folder."""
    return tuple(sorted(file for file in content.files if file.startswith(f"{RIGHT_FOLDER}/")))


def installed_content(name: str) -> Content:
    """Read an exercise that comes with Tilelab; raises ExerciseError."""
    return read_content(find_exercise(name))


def kept_content(session: Session, row: Exercise) -> Content:
    """Read a stored version for the present judge; raises ExerciseError if this judge can't read it."""
    files = _stored_files(session, row)
    return Content(read_exercise(row.name, row.definition), row.definition, files)


def files_of(session: Session, row: Exercise) -> Mapping[str, bytes]:
    """All files of a stored exercise by path, as its author wrote them. Very old ones have only a definition."""
    return {DEFINITION: without_solution(row.definition).encode()} | _stored_files(session, row)


def keep(session: Session, content: Content, course_id: int | None, now: datetime) -> Exercise:
    """Find or insert the row of this version. A course's own becomes a published version, if it isn't one.

    course_id: its owner; None if it comes with Tilelab
    """
    number = None if course_id is None else _number_of(session, course_id, content)
    row = _insert(session, content, course_id, now, number=number)
    if course_id is not None:
        publish(session, row, now)
    return row


def keep_draft(session: Session, content: Content, course_id: int, person_id: int | None, now: datetime) -> Exercise:
    """Find or insert the row of this version as a draft. The caller has deleted any other draft of this exercise."""
    return _insert(session, content, course_id, now, added_by=person_id)


def publish(session: Session, row: Exercise, now: datetime) -> None:
    """Give a course's own exercise its number, unless it has one."""
    assert row.course_id is not None, "an exercise that comes with Tilelab has no number"
    if row.number is None:
        row.number = _next_number(session, row.course_id, row.name)
        row.published_at = now
        session.flush()


def newest_published(session: Session, course_id: int, name: str) -> Exercise | None:
    """The newest published version of a course's own exercise; None for none."""
    query = select(Exercise).where(Exercise.course_id == course_id, Exercise.name == name)
    newest = query.where(Exercise.number.is_not(None)).order_by(Exercise.number.desc(), Exercise.id.desc())
    return session.scalars(newest).first()


def _number_of(session: Session, course_id: int, content: Content) -> int:
    """The number of a version with these files, which another judge read before; otherwise the next one."""
    following = _next_number(session, course_id, content.exercise.name)
    query = select(Exercise).where(
        Exercise.course_id == course_id,
        Exercise.name == content.exercise.name,
        Exercise.definition == content.definition,
        Exercise.number.is_not(None),
    )
    for row in session.scalars(query.order_by(Exercise.number.desc())):
        if row.number is not None and _stored_files(session, row) == content.files:
            return row.number
    return following


def _next_number(session: Session, course_id: int, name: str) -> int:
    """The next version's number. Locks the course, so that two transactions get different ones."""
    session.execute(select(Course.id).where(Course.id == course_id).with_for_update(key_share=True))
    query = select(func.max(Exercise.number)).where(Exercise.course_id == course_id, Exercise.name == name)
    return (session.scalar(query) or 0) + 1


def _insert(
    session: Session,
    content: Content,
    course_id: int | None,
    now: datetime,
    *,
    number: int | None = None,
    added_by: int | None = None,
) -> Exercise:
    found = content.exercise
    version = content.version
    is_it = (
        Exercise.course_id.is_not_distinct_from(course_id),
        Exercise.name == found.name,
        Exercise.version == version,
    )
    row = session.scalar(select(Exercise).where(*is_it))
    if row is not None:
        return row
    # If another transaction inserts the same version now, one of the two finds the other's row.
    added = session.scalar(
        insert_into(session, Exercise)
        .values(
            course_id=course_id, name=found.name, version=version, digest=found.digest, title=found.title,
            definition=content.definition, added_at=now, added_by=added_by, number=number,
            published_at=None if number is None else now,
        )
        .on_conflict_do_nothing()
        .returning(Exercise.id)
    )  # fmt: skip
    if added is not None:
        session.add_all(
            ExerciseFile(exercise_id=added, name=name, content=file) for name, file in content.files.items()
        )
        session.flush()
    return session.scalars(select(Exercise).where(*is_it)).one()


def material_of(session: Session, row: Exercise) -> Material | None:
    """The files of a version for students; None if it has no stored files."""
    is_text = ExerciseFile.name.in_((_HANDOUT, _STARTER))
    query = select(ExerciseFile.name, case((is_text, ExerciseFile.content))).where(_of(row))
    files: dict[str, bytes | None] = dict(session.execute(query).all())
    if not files:
        return None
    handout, starter = files.get(_HANDOUT), files.get(_STARTER)
    return Material(
        "" if handout is None else bytes(handout).decode(),
        frozenset(name for name in files if name.endswith(_FIGURE)),
        None if starter is None else bytes(starter).decode(),
    )


def given_code(session: Session, row: Exercise) -> list[str]:
    """The code that all students get: the starter first, if there is one, and the code in the handout."""
    material = material_of(session, row)
    if material is None:
        return []
    return [*filter(None, [material.starter]), *code_in(material.handout)]


def similar_percent(session: Session, row: Exercise) -> int:
    """The share from which two submissions are similar, in %, as its solution suggests; 0 to compare none."""
    solution = session.scalar(select(ExerciseFile.content).where(_of(row), ExerciseFile.name == SOLUTION))
    return proposed_percent("" if solution is None else bytes(solution).decode(), given_code(session, row))


def figure_of(session: Session, row: Exercise, name: str) -> bytes | None:
    """A figure of the handout by its name; None for none."""
    if not name.endswith(_FIGURE) or not name.isprintable():  # PostgreSQL refuses NUL
        return None
    content = session.scalar(select(ExerciseFile.content).where(_of(row), ExerciseFile.name == name))
    return None if content is None else bytes(content)


def _stored_files(session: Session, row: Exercise) -> dict[str, bytes]:
    rows = session.execute(select(ExerciseFile.name, ExerciseFile.content).where(_of(row)))
    return {name: bytes(content) for name, content in rows}


def _of(row: Exercise) -> ColumnElement[bool]:
    return ExerciseFile.exercise_id == row.id


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(EXERCISE_FILE_BYTES + 1)
    except OSError as error:
        raise ExerciseError(file, "", f"can't read this file ({error.strerror})") from error
    _check_size(file, len(content))
    return content


def _check_size(file: Path, size: int) -> None:
    largest = _LARGEST.get(file.name, EXERCISE_FILE_BYTES if file.suffix == _FIGURE else SOURCE_BYTES)
    if len(file.name) > _LONGEST_FILE_NAME:
        raise ExerciseError(file, "", f"its name has more than {_LONGEST_FILE_NAME} characters")
    if size > largest:
        raise ExerciseError(file, "", f"this file has more than {largest // 1024:,} KiB")


def _check_text(file: Path, content: bytes) -> None:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ExerciseError(file, "", "this file isn't UTF-8") from error
    if "\0" in text:
        raise ExerciseError(file, "", "this file has NUL characters")


def _check_counts(text: str, path: Path) -> None:
    """Check how long the lists of a definition are, before it is read."""
    try:
        data = read_toml(text)
    except ValueError as error:
        raise ExerciseError(path, "", f"this is not TOML: {error}") from None
    for field, most in _MOST.items():
        value: object = data
        for key in field.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list | dict) and len(value) > most:
            raise ExerciseError(path, field, f"there are {len(value):,} entries; the limit is {most}")


def _check_content(exercise: Found, files: Mapping[str, bytes], root: Path) -> None:
    """Check what the database stores of an exercise."""
    if len(exercise.name) > _LONGEST_NAME:
        raise ExerciseError(root, "", f"{len(exercise.name)} characters; the limit is {_LONGEST_NAME}")
    if mistake := title_mistake(exercise.title):
        raise ExerciseError(root, "title", mistake)
    figures = sum(file.endswith(_FIGURE) for file in files)
    if figures > _MOST_FIGURES:
        raise ExerciseError(root, "", f"it has {figures} figures; the limit is {_MOST_FIGURES}")
    for file in (DEFINITION, _HANDOUT, _STARTER):
        _check_text(root / file, files[file])
    handout_phases(files[_HANDOUT].decode(), exercise, root / _HANDOUT)
    right = sum(file.startswith(f"{RIGHT_FOLDER}/") for file in files)
    for kind, count in (("incorrect", len(_wrong_kernels(files, root))), ("correct", right)):
        if count > _MOST_KERNELS:
            raise ExerciseError(root, "", f"it has {count} {kind} kernels; the limit is {_MOST_KERNELS}")


def _wrong_kernels(files: Mapping[str, bytes], root: Path) -> tuple[WrongKernel, ...]:
    kernels = {Path(file).stem: root / file for file in files if file.startswith(f"{WRONG_FOLDER}/")}
    return read_wrong_kernels(files.get(WRONG_TABLE), kernels, root / WRONG_TABLE)
