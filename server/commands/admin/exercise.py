"""`tilelab admin exercise`: exercises that belong to a course."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click
from sqlalchemy.orm import Session

from kernels.exercise import ExerciseError
from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.acts.act import Target
from server.commands.acts import Named, verb
from server.commands.database import database_in_use, in_session
from server.commands.names import course_named, on_assignment, on_course
from server.commands.revocation import revoke
from server.courses.models import Assignment, Course, Exercise
from server.courses.service import CourseError, hold_course
from server.exercises import service
from server.exercises.proof import DISCARD, proof_of
from server.exercises.service import OwnExercise, find_own, own_exercises, version_of
from server.exercises.start import START
from server.exercises.upload import Upload, read_folder, read_zip, write_zip
from server.regrades.new_version import use_version
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse

T = TypeVar("T")
_name = click.argument("name", metavar="COURSE/EXERCISE")
_MOST_BYTES = 64 * 2**20
"""Of a zip file. Its content has a smaller limit."""


@click.group()
def exercise() -> None:
    """Add exercises to a course, prove them, and publish their versions.

    \b
    Example:
      tilelab admin exercise add cs483 ./my_exercises/matvec
      tilelab admin exercise publish cs483/matvec
      tilelab admin assignment set cs483 matvec --own --points 10
    """


@exercise.command()
@click.argument("course")
@click.argument("source", metavar="FOLDER|ZIP", type=click.Path(exists=True, path_type=Path))
@click.option("--name", default="", help="Short name in the course.  [default: the folder's]")
@answering()
def add(course: str, source: Path, name: str) -> Answer:
    """Save a folder or a zip file as the draft of an exercise of COURSE.

    An earlier draft of this name is replaced. Published versions stay.

    \b
    Example:
      tilelab admin exercise add cs483 ./my_exercises/matvec
      tilelab admin exercise add cs483 matvec.zip --name matvec-2
    """
    upload = _refused(lambda: _read(source))
    chosen = name or upload.name or source.stem
    with database_in_use() as sessions:
        with sessions.begin() as session:
            of = course_named(session, course)
            saved = _refused(lambda: service.save(session, of, chosen, upload.files, None))
            number = saved.row.number
        revoke(list(saved.tickets))
    shown = {"exercise": f"{course}/{chosen}", "changed": saved.changed, "version": number}
    if number is not None:
        return Answer(shown, f"{course}/{chosen} has these files already, as version {number}.")
    left_out = f" Left out: {', '.join(map(safe, upload.left_out))}." if upload.left_out else ""
    return Answer(shown | {"left_out": list(upload.left_out)}, f"Saved the draft {course}/{chosen}.{left_out}")


_STARTER = Named(
    (click.argument("course"), click.argument("source", metavar="EXERCISE")),
    lambda session, course, source: Target(course_named(session, course), item=source),
)


@verb(exercise, START, _STARTER, "name", needed=False)
def start(_session: Session, on: Target, saved: service.Saved) -> Answer:
    """Make a draft of COURSE from EXERCISE, which comes with Tilelab.

    \b
    Example:
      tilelab admin exercise start cs483 tiled --name tiled-2
    """
    name = f"{on.course.slug}/{saved.row.name}"
    return Answer({"exercise": name}, f"Saved the draft {name}, a copy of {on.item}.")


@exercise.command("list")
@on_course()
def list_exercises(session: Session, course: Course) -> Answer:
    """List the exercises of COURSE, with their newest versions and their drafts.

    \b
    Example:
      tilelab admin exercise list cs483
    """
    found = own_exercises(session, course.id)
    head = ["exercise", "version", "draft", "assignments", "title"]
    rows = [
        [
            one.name,
            str(one.versions[0].number) if one.versions else "",
            "yes" if one.draft else "",
            " ".join(each.slug for each in one.assignments),
            safe(one.newest.title),
        ]
        for one in found
    ]
    text = "\n".join(table([head, *rows], "<><<<", indent=0)) if found else f"No exercises of {course.slug} yet."
    return Answer([_shown(one) for one in found], text)


@exercise.command()
@_name
@answering()
@in_session
def show(session: Session, name: str) -> Answer:
    """Show an exercise's versions, its draft, and what the workers' check of the draft found.

    \b
    Example:
      tilelab admin exercise show cs483/matvec
    """
    _, own = _own(session, name)
    lines = [f"{name}: {safe(own.newest.title)}"]
    lines += [f"  version {row.number}, published {row.published_at:%Y-%m-%d %H:%M} UTC" for row in own.versions]
    lines += [f"  assignment {one.slug}, version {one.exercise.number}" for one in own.assignments]
    checked: list[dict[str, Any]] = []
    if own.draft is not None:
        lines.append(f"  draft, saved {own.draft.added_at:%Y-%m-%d %H:%M} UTC")
        for line in proof_of(session, own.draft).lines:
            verdict = line.verdict and line.verdict.value
            checked.append(
                {"file": line.file, "tile": line.tile, "verdict": verdict, "problem": line.problem}
                | {"warning": line.warning}
            )
            if line.verdict is not None:
                at, note = f", tile {line.tile}" if line.tile else "", line.problem or line.warning
                lines.append(f"    {line.file}{at}: {verdict}{f' ({note})' if note else ''}")
    return Answer(_shown(own) | {"checked": checked}, "\n".join(lines))


@exercise.command()
@_name
@answering()
def check(name: str) -> Answer:
    """Grade the kernels of a draft on this machine's CPU device, as `tilelab exercises check` does.

    \b
    Example:
      tilelab admin exercise check cs483/matvec
    """
    with database_in_use() as sessions, sessions.begin() as session:
        _, files = _draft(session, name)
    return _proven(name, files)


@exercise.command()
@_name
@answering()
def publish(name: str) -> Answer:
    """Make a draft the next version of its exercise. It must be proven.

    If workers didn't prove it, this command does, on this machine's CPU device. The exit code is 1 if a kernel has
    another verdict than it must.

    \b
    Example:
      tilelab admin exercise publish cs483/matvec
    """
    with database_in_use() as sessions:
        with sessions.begin() as session:
            draft, files = _draft(session, name)
            version, complete = draft.version, proof_of(session, draft).complete
        if not complete:
            proof = _proven(name, files)
            if proof.exit is not Exit.ACCEPTED:
                return proof
        with sessions.begin() as session:
            course, own = _own(session, name, locked=True)
            if own.draft is None or own.draft.version != version:
                raise WrongUse(f"the draft of {name} changed meanwhile. Run this again.")
            number = service.publish_draft(session, course, own.draft, None)
    return Answer({"exercise": name, "version": number}, f"Published version {number} of {name}.")


def _on_exercise(session: Session, name: str) -> Target:
    course, own = _own(session, name)
    return Target(course, item=own.name)


@verb(exercise, DISCARD, Named((_name,), _on_exercise))
def discard(_session: Session, on: Target, _: object) -> Answer:
    """Delete the draft of an exercise. Published versions stay.

    \b
    Example:
      tilelab admin exercise discard cs483/matvec
    """
    name = f"{on.course.slug}/{on.item}"
    return Answer({"exercise": name, "discarded": True}, f"Discarded the draft of {name}.")


@exercise.command()
@_name
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--version", "number", type=click.IntRange(1), help="A published version.  [default: the newest]")
@click.option("--draft", is_flag=True, help="The draft instead.")
@answering()
@in_session
def export(session: Session, name: str, file: Path, number: int | None, draft: bool) -> Answer:
    """Write an exercise's files to a zip file, which `add` reads.

    \b
    Example:
      tilelab admin exercise export cs483/matvec matvec.zip
      tilelab admin exercise export cs483/matvec matvec.zip --version 1
    """
    _, own = _own(session, name)
    if draft and number is not None:
        raise WrongUse("use either --version or --draft.")
    newest = own.versions[0].number if own.versions else None
    row = version_of(own, None if draft else number or newest)
    if row is None:
        raise WrongUse(f"{name} has no such version. `tilelab admin exercise show {name}` lists all.")
    files = service.export(session, row)
    try:
        file.write_bytes(write_zip(own.name, files))
    except OSError as error:
        raise WrongUse(f"can't write {file} ({error.strerror}).") from error
    return Answer({"file": str(file), "files": sorted(files)}, f"Wrote {len(files)} files to {file}.")


@exercise.command()
@on_assignment(click.option("--version", "number", type=click.IntRange(1), required=True, help="A published version."))
def use(session: Session, assignment: Assignment, number: int) -> Answer:
    """Give an assignment another version of the course's own exercise.

    If verdicts may change, nothing changes at first: workers grade all submissions by the new version. See what would
    change with `tilelab admin regrades staged`, then use `tilelab admin regrades apply` or `drop`.

    \b
    Example:
      tilelab admin exercise use cs483/lab-2 --version 2
    """
    staged = use_version(session, assignment, number, None)
    text = (
        f"Staged version {number}. See what would change with `tilelab admin regrades staged {assignment.name}`."
        if staged
        else f"{assignment.name} uses version {number}."
    )
    return Answer({"assignment": assignment.name, "version": number, "staged": staged}, text)


def _read(source: Path) -> Upload:
    if source.is_dir():
        return read_folder(source.resolve())
    try:
        with source.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise WrongUse(f"can't read {source} ({error.strerror}).") from error
    if len(content) > _MOST_BYTES:
        raise WrongUse(f"{source} has more than 64 MiB.")
    return read_zip(content)


def _proven(name: str, files: Mapping[str, bytes]) -> Answer:
    from worker.commands.kernel.exercise_check import check_folder

    with TemporaryDirectory() as parent:
        folder = Path(parent) / name.partition("/")[2]
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return check_folder(str(folder))


def _own(session: Session, name: str, *, locked: bool = False) -> tuple[Course, OwnExercise]:
    course, _, own = name.partition("/")
    of = course_named(session, course)
    if locked:
        hold_course(session, of.id)
    found = find_own(session, of.id, own)
    if found is None:
        raise WrongUse(f"no exercise {name}. `tilelab admin exercise list {course}` shows the course's own.")
    return of, found


def _draft(session: Session, name: str) -> tuple[Exercise, Mapping[str, bytes]]:
    _, own = _own(session, name)
    if own.draft is None:
        raise WrongUse(f"{name} has no draft. `tilelab admin exercise add` saves one.")
    return own.draft, service.export(session, own.draft)


def _shown(own: OwnExercise) -> dict[str, Any]:
    return {
        "exercise": own.name,
        "title": own.newest.title,
        "draft": own.draft is not None,
        "versions": [row.number for row in own.versions],
        "assignments": {one.slug: one.exercise.number for one in own.assignments},
    }


def _refused(read: Callable[[], T]) -> T:
    try:
        return read()
    except (ExerciseError, CourseError) as error:
        raise WrongUse(str(error)) from error
