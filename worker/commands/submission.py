"""What commands on one file have in common: reading it, and finding the exercise it is for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worker.commands.root import SystemFault, WrongUse

if TYPE_CHECKING:
    from kernels.exercise import Exercise
    from worker.steps.stages import SandboxedStages

# The source rules refuse a longer file; reading one byte more than they allow is enough to tell.
_READ_LIMIT = 64 * 1024 + 1


def read_file(file: str) -> bytes:
    """The source, or one line that says why there is none."""
    if file == "-":
        if sys.stdin is None:
            raise WrongUse("-: there is no standard input to read.")
        return sys.stdin.buffer.read(_READ_LIMIT)
    path = Path(file)
    if not path.exists():
        raise WrongUse(f"{file}: there is no such file.")
    if not path.is_file():
        raise WrongUse(
            f"{file}: this is {'a folder' if path.is_dir() else 'no plain file'};"
            " give one .cu file, or - for standard input."
        )
    try:
        with path.open("rb") as stream:
            return stream.read(_READ_LIMIT)
    except OSError as error:
        raise WrongUse(f"{file}: it cannot be read ({error.strerror}).") from error


def find(name: str, folder: Path | None, tile: int | None) -> Exercise:
    """The exercise, which has to allow the tile that was asked for."""
    from kernels.exercise import ExerciseError, find_exercise

    try:
        exercise = find_exercise(name, () if folder is None else (folder,))
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
    if tile is not None and tile not in exercise.tiles:
        allowed = ", ".join(map(str, exercise.tiles))
        raise WrongUse(f"--tile {tile}: {exercise.name} is graded with {allowed}.")
    return exercise


def start_stages() -> SandboxedStages:
    """The processes of a job, already starting."""
    from worker.sandbox.limits import SandboxFailure
    from worker.steps.stages import SandboxedStages

    try:
        return SandboxedStages()
    except SandboxFailure as failure:
        raise SystemFault(f"the sandbox did not start ({failure.kind}).") from failure


def other_exercises(source: bytes, exercise: Exercise, folder: Path | None) -> list[str]:
    """Names of those whose kernel is in a file that has not this exercise's, where their rules take it."""
    from kernels.exercise import ExerciseError, list_exercises
    from kernels.source import Source, read_source

    try:
        known = list_exercises(() if folder is None else (folder,))
    except ExerciseError:
        return []  # `tilelab exercises` says what is wrong with it
    found = []
    for other in known:
        read = read_source(source, other) if other.kernel.encode() in source else None
        if isinstance(read, Source) and other.kernel in read.kernels and exercise.kernel not in read.kernels:
            found.append(other.name)
    return found


def cache_folder() -> Path:
    """Where a user's programs keep what they can make again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tilelab"
