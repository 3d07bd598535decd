"""For which sizes an exercise is made: its cases say so, by what all of their sizes are multiples of."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernels.exercise.model import Exercise


def steps(exercise: Exercise, tile: int, own: Mapping[str, int] | None = None) -> dict[str, int]:
    """For each size, the largest number that it is a multiple of in every case but the ranking's."""
    cases = exercise.cases(tile, own)[:-1]
    return {name: math.gcd(*(case.sizes[name] for case in cases)) or 1 for name in exercise.sizes}


def misfit(
    exercise: Exercise, sizes: Mapping[str, int], tile: int, own: Mapping[str, int] | None = None
) -> str:
    """Why the exercise is not made for these sizes, and which are next; "" where it is."""
    for name, step in steps(exercise, tile, own).items():
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
    """Why a kernel with that tile need not be right at the ranking size; "" where it has to be.

    Where the exercise's own tile does not fit that size either, it is meant for every kernel.
    """
    if misfit(exercise, exercise.ranking, exercise.tile):
        return ""
    for name, step in steps(exercise, tile, own).items():
        size = exercise.ranking[name]
        if size % step:
            return (
                f"This kernel gets no speed: where speeds are compared, {name} is {size}, and with its tile of {tile}"
                f" it is made for multiples of {step}. Choose a tile that divides {size}."
            )
    return ""


def fitted(
    exercise: Exercise, sizes: Mapping[str, int], tile: int, own: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The sizes, each brought down to one that the exercise is made for."""
    made_for = steps(exercise, tile, own)
    return {name: max(made_for[name], size - size % made_for[name]) for name, size in sizes.items()}
