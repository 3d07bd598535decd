"""Exercises: how to find and read them.

They come with Tilelab, from a teacher's own folders, or from a path. Other modules import everything about exercises
from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernels.exercise.model import (
    AnalysisRule,
    Binding,
    Case,
    Exercise,
    GoalRule,
    InputKind,
    Layout,
    Operand,
    Operation,
    Role,
)
from kernels.exercise.schema import DEFINITION, load_exercise, read_exercise
from kernels.exercise.table import ExerciseError
from kernels.wording import did_you_mean

__all__ = [
    "BUILT_IN",
    "AnalysisRule",
    "Binding",
    "Case",
    "Exercise",
    "ExerciseError",
    "GoalRule",
    "InputKind",
    "Layout",
    "Operand",
    "Operation",
    "Role",
    "comes_with_tilelab",
    "exercise_folders",
    "find_exercise",
    "list_exercises",
    "load_exercise",
    "read_exercise",
]

BUILT_IN = Path(__file__).parent.parent / "exercises"


def exercise_folders(extra: Sequence[Path] = ()) -> dict[str, Path]:
    """Return folders by exercise name. A teacher's folder hides a built-in one of the same name."""
    folders: dict[str, Path] = {}
    for parent in (*extra, BUILT_IN):
        if not parent.is_dir():
            raise ExerciseError(parent, "", "there is no such folder")
        for folder in sorted(parent.iterdir()):
            if (folder / DEFINITION).is_file():
                folders.setdefault(folder.name, folder)
    return folders


def comes_with_tilelab(exercise: Exercise) -> bool:
    """Whether an exercise comes with Tilelab, however its folder was named."""
    return exercise.folder is not None and exercise.folder.resolve().parent == BUILT_IN.resolve()


def list_exercises(extra: Sequence[Path] = ()) -> tuple[Exercise, ...]:
    """Return every exercise, by name. Raise ExerciseError for the first malformed one."""
    return tuple(load_exercise(folder) for _, folder in sorted(exercise_folders(extra).items()))


def find_exercise(name_or_path: str, extra: Sequence[Path] = ()) -> Exercise:
    """Return the exercise with that name, or in that folder if the text is a path. Raise ExerciseError."""
    if "/" in name_or_path or name_or_path in {".", ".."}:
        return load_exercise(Path(name_or_path).resolve())
    folders = exercise_folders(extra)
    if name_or_path not in folders:
        meant = did_you_mean(name_or_path, folders)
        known = ", ".join(sorted(folders))
        raise ExerciseError(Path(name_or_path), "", f"there is no such exercise.{meant} Known exercises: {known}")
    return load_exercise(folders[name_or_path])
