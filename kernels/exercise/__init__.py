"""Exercises: what one is, and reading and finding them."""

from __future__ import annotations

from kernels.exercise.finding import (
    BUILT_IN,
    AnalysisRule,
    Binding,
    Case,
    Exercise,
    ExerciseError,
    GoalRule,
    InputKind,
    Layout,
    Operand,
    Operation,
    Role,
    comes_with_tilelab,
    exercise_folders,
    find_exercise,
    list_exercises,
    load_exercise,
    read_exercise,
)

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
