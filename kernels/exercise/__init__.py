"""Exercises: what one is, and reading and finding them.

They come with Tilelab, from folders of a teacher's own, or from a path. Everything about exercises that other modules
need is imported from here.
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
    """Folders by exercise name; a teacher's own folder comes before a built-in one of the same name."""
    folders: dict[str, Path] = {}
    for parent in (*extra, BUILT_IN):
        if not parent.is_dir():
            raise ExerciseError(parent, "", "there is no such folder")
        for folder in sorted(parent.iterdir()):
            if (folder / DEFINITION).is_file():
                folders.setdefault(folder.name, folder)
    return folders


def comes_with_tilelab(exercise: Exercise) -> bool:
    """Whether an exercise is one of Tilelab's own, however its folder was named."""
    return exercise.folder is not None and exercise.folder.resolve().parent == BUILT_IN.resolve()


def list_exercises(extra: Sequence[Path] = ()) -> tuple[Exercise, ...]:
    """Every exercise, by name; raise ExerciseError at the first that is malformed."""
    return tuple(load_exercise(folder) for _, folder in sorted(exercise_folders(extra).items()))


def find_exercise(name_or_path: str, extra: Sequence[Path] = ()) -> Exercise:
    """The exercise of that name, or in that folder where the text is a path; raise ExerciseError."""
    if "/" in name_or_path or name_or_path in {".", ".."}:
        return load_exercise(Path(name_or_path).resolve())
    folders = exercise_folders(extra)
    if name_or_path not in folders:
        meant = did_you_mean(name_or_path, folders)
        known = ", ".join(sorted(folders))
        raise ExerciseError(Path(name_or_path), "", f"there is no such exercise.{meant} Known are: {known}")
    return load_exercise(folders[name_or_path])
