"""The sizes for which an exercise is made: multiples of what all sizes of its cases have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernels.exercise.model import Exercise


def steps(exercise: Exercise, tile: int, own: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return, for each size, its largest common divisor in all cases except the ranking size."""
    cases = exercise.cases(tile, own)[:-1]
    return {name: math.gcd(*(case.sizes[name] for case in cases)) or 1 for name in exercise.sizes}


def misfit(exercise: Exercise, sizes: Mapping[str, int], tile: int, own: Mapping[str, int] | None = None) -> str:
    """Return why the exercise isn't made for these sizes, and the nearest that fit; "" if it is."""
    return between_steps(exercise, sizes, tile, steps(exercise, tile, own))


def between_steps(exercise: Exercise, sizes: Mapping[str, int], tile: int, made_for: Mapping[str, int]) -> str:
    """Return why the exercise isn't made for these sizes; "" if they are multiples of `made_for`, from `steps`."""
    for name, step in made_for.items():
        size = sizes[name]
        if size % step:
            below = size - size % step
            near = f"{below} or {below + step}" if below else f"{step}"
            return (
                f"the kernels of {exercise.name} are made for multiples of {step} with tile {tile}; "
                f"try {near} for {name}."
            )
    return ""


def unranked(exercise: Exercise, tile: int, own: Mapping[str, int] | None = None) -> str:
    """Return why a kernel with that tile may be incorrect at the ranking size; "" if it must be correct.

    If even the exercise's own tile doesn't fit that size, every kernel must be correct there.
    """
    if misfit(exercise, exercise.ranking, exercise.tile):
        return ""
    for name, step in steps(exercise, tile, own).items():
        size = exercise.ranking[name]
        if size % step:
            return (
                f"This kernel gets no speed. Speeds are compared at {name} = {size}, but with a tile of {tile}"
                f" it only works at multiples of {step}. Choose a tile that divides {size}."
            )
    return ""


def fitted(
    exercise: Exercise, sizes: Mapping[str, int], tile: int, own: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the sizes, each reduced to one for which the exercise is made."""
    made_for = steps(exercise, tile, own)
    return {name: max(made_for[name], size - size % made_for[name]) for name, size in sizes.items()}
