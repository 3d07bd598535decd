"""A kernel's file and its exercise, as commands on one file read them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worker.commands.root import SystemFault, WrongUse

if TYPE_CHECKING:
    from kernels.exercise import Exercise
    from worker.steps.stages import SandboxedStages

# The source rules refuse a longer file. One byte more than they allow is enough to detect it.
_READ_LIMIT = 64 * 1024 + 1


def read_file(file: str) -> bytes:
    """The source of a file, with UTF-16 as UTF-8. Raises WrongUse if the file can't be read."""
    from kernels.source.paste.decoding import as_utf8

    return as_utf8(_read(file))


def _read(file: str) -> bytes:
    if file == "-":
        if sys.stdin is None:
            raise WrongUse("-: this command has no standard input.")
        return sys.stdin.buffer.read(_READ_LIMIT)
    path = Path(file)
    if not path.exists():
        raise WrongUse(f"{file}: file not found.")
    if not path.is_file():
        raise WrongUse(
            f"{file}: this is {'a folder' if path.is_dir() else 'not a regular file'}."
            " Name one .cu file, or use - for standard input."
        )
    try:
        with path.open("rb") as stream:
            return stream.read(_READ_LIMIT)
    except OSError as error:
        raise WrongUse(f"{file}: cannot read the file ({error.strerror}).") from error


def find(name: str, folder: Path | None, tile: int | None) -> Exercise:
    """The exercise. Raises WrongUse if it doesn't exist or doesn't allow this tile width."""
    from kernels.exercise import ExerciseError, find_exercise

    try:
        exercise = find_exercise(name, () if folder is None else (folder,))
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
    if tile is not None and tile not in exercise.tiles:
        allowed = ", ".join(map(str, exercise.tiles))
        raise WrongUse(f"--tile {tile}: {exercise.name} allows {allowed}.")
    return exercise


def start_stages() -> SandboxedStages:
    """Start the sandboxed processes of a job. Raises SystemFault."""
    from worker.sandbox.limits import SandboxFailure
    from worker.steps.stages import SandboxedStages

    try:
        return SandboxedStages()
    except SandboxFailure as failure:
        raise SystemFault(f"the sandbox did not start ({failure.kind}).") from failure


def other_exercise(source: bytes, exercise: Exercise, folder: Path | None) -> str:
    """A hint if the file is for another exercise: it has its kernel, and lacks this exercise's. Otherwise "".

    Skips exercises whose source rules reject the file.
    """
    from kernels.exercise import ExerciseError, list_exercises
    from kernels.source.source_file import Source, read_source

    try:
        known = list_exercises(() if folder is None else (folder,))
    except ExerciseError:
        return ""  # `tilelab exercises` reports the mistake
    found = []
    for other in known:
        read = read_source(source, other) if other.kernel.encode() in source else None
        if isinstance(read, Source) and other.kernel in read.kernels and exercise.kernel not in read.kernels:
            found.append(f"--exercise {other.name}")
    return f"The exercise was {exercise.name}. For another one, use {' or '.join(found)}." if found else ""


def cache_folder() -> Path:
    """The user's folder for data that can be rebuilt."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tilelab"
