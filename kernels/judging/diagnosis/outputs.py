"""What any wrong output can show, whatever was computed; and what a diagnosis is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.judging.compare import Doubles, Mask, Output, is_poison, wrong_elements
from kernels.judging.inputs import Expected

_ENOUGH = 4
"""So many whole numbers in a row are no chance."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A mistake that explains an output, or the place of its wrong elements; `key` is the same in another case."""

    key: str
    text: str
    is_place: bool = False


def equal(output: Output, candidate: Doubles) -> bool:
    """Whether the whole output is what this mistake would give."""
    if candidate.shape != output.actual.shape:
        return False
    return not wrong_elements(output.actual, Expected(candidate, output.expected.bound)).any()


def never_written(output: Output, wrong: Mask) -> Diagnosis | None:
    """Elements that the kernel did not write."""
    poison = is_poison(output.actual)
    if not np.array_equal(poison, wrong):
        return None
    if poison.all():
        return Diagnosis("never_written", f"No element of {output.names[-1]} was ever written.")
    return Diagnosis("partly_written", "None of the wrong elements was ever written.")


def not_a_number(output: Output, wrong: Mask) -> Diagnosis | None:
    """NaN or infinity."""
    values = output.actual[wrong]
    if is_poison(values).any() or np.isfinite(values).any():
        return None
    return Diagnosis("not_finite", "Every wrong element is NaN or infinite.")


def all_zero(output: Output, wrong: Mask) -> Diagnosis | None:
    """Zeros only."""
    if output.actual[wrong].any():
        return None
    return Diagnosis("zero", "Every wrong element is 0.")


def whole_numbers(output: Output, wrong: Mask) -> Diagnosis | None:
    """Whole numbers, most of which should have a fraction."""
    values, right = output.actual[wrong], output.expected.values[wrong]
    fractions = np.count_nonzero(right != np.rint(right))
    if not np.isfinite(values).all() or (values != np.rint(values)).any() or not values.any():
        return None
    if 2 * fractions <= values.size or values.size < _ENOUGH:
        return None
    return Diagnosis("whole_numbers", "Every wrong element is a whole number: is a value kept in an `int`?")


def scaled(output: Output, wrong: Mask) -> Diagnosis | None:
    """A multiple of what is right."""
    for factor, text in ((2, "twice what it should be"), (-1, "the negative of what it should be")):
        if equal(output, output.expected.values * factor):
            return Diagnosis(f"scaled_{factor}", f"Every element is {text}.")
    return None


def where(output: Output, wrong: Mask) -> Diagnosis | None:
    """The place of the wrong elements."""
    place = _place(output, wrong)
    return None if place is None else Diagnosis(place, f"The wrong elements are {place}.", is_place=True)


def _place(output: Output, wrong: Mask) -> str | None:
    """Where exactly the wrong elements lie, if that can be said in a few words."""
    if wrong.all():
        return None
    return _place_in_vector(wrong) if output.vector else _place_in_matrix(wrong, output.tile)


def _place_in_vector(wrong: Mask) -> str | None:
    chosen = wrong.ravel()
    count, last = int(chosen.sum()), chosen.size - 1
    for at, word in ((0, "first"), (last, "last")):
        if count == 1 and chosen[at]:
            return f"just the {word} one"
        if count == last and not chosen[at]:
            return f"all but the {word}"
    return "one single element" if count == 1 else None


def _place_in_matrix(wrong: Mask, tile: int) -> str | None:
    rows, columns = wrong.shape
    i, j = np.indices(wrong.shape)
    edge_row, edge_column = rows // tile * tile, columns // tile * tile
    for mask, text in (
        (i >= edge_row, "exactly the rows of the last, partial tile"),
        (j >= edge_column, "exactly the columns of the last, partial tile"),
        ((i >= edge_row) | (j >= edge_column), "exactly those of the last, partial tiles"),
        ((i >= edge_row) & (j >= edge_column), "exactly those of the last, partial tile"),
        ((i >= tile) | (j >= tile), "exactly those outside the first tile"),
        (i == rows - 1, "exactly the last row"),
        (j == columns - 1, "exactly the last column"),
        (i == 0, "exactly the first row"),
        (j == 0, "exactly the first column"),
        (i != j, "exactly those off the diagonal"),
        (i == j, "exactly those on the diagonal"),
    ):
        if mask.any() and np.array_equal(mask, wrong):
            return text
    return "one single element" if wrong.sum() == 1 else None
