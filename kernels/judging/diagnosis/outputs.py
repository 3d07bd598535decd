"""Diagnoses that fit the incorrect output of any operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.judging.compare import Doubles, Mask, Output, Solved, is_poison, wrong_elements
from kernels.judging.inputs import Expected

IS_IT_AN_INT = "Is a value stored in an `int`?"
_ENOUGH = 4
"""The fewest whole numbers that can't be a coincidence."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A mistake that explains an output, or the place of its incorrect elements.

    key, names, text, more: as in Diagnosed; the first two are the same in all cases with this mistake
    in_all: whether it explains nothing unless it explains all failing cases
    proves: whether this case's output proves it; if not, another case's must
    """

    key: str
    text: str
    more: str = ""
    names: tuple[str, ...] = ()
    is_place: bool = False
    in_all: bool = False
    proves: bool = True


def equal(output: Output, candidate: Doubles, bound: Doubles | None = None) -> bool:
    """Whether this mistake gives the whole output.

    bound: the allowed error of each element; None for the expected output's bound
    """
    if candidate.shape != output.actual.shape:
        return False
    allowed = output.expected.bound if bound is None else bound
    return not wrong_elements(output.actual, Expected(candidate, allowed)).any()


def never_written(output: Output, wrong: Mask) -> Diagnosis | None:
    poison = is_poison(output.actual)
    if not np.array_equal(poison, wrong):
        return None
    if poison.all():
        return Diagnosis("never_written", f"Your kernel never writes {output.names[-1]}.")
    return Diagnosis("partly_written", f"Your kernel leaves elements of {output.names[-1]} unwritten.")


def not_a_number(output: Output, wrong: Mask) -> Diagnosis | None:
    """NaN or infinity."""
    values = output.actual[wrong]
    if is_poison(values).any() or np.isfinite(values).any():
        return None
    return Diagnosis("not_finite", "Every incorrect element is NaN or infinite.")


def all_zero(output: Output, wrong: Mask) -> Diagnosis | None:
    """Zeros only."""
    if output.actual[wrong].any():
        return None
    return Diagnosis("zero", "Every incorrect element is 0.")


def whole_numbers(output: Output, wrong: Mask) -> Diagnosis | None:
    """Whole numbers, although most expected numbers have a fraction."""
    values, right = output.actual[wrong], output.expected.values[wrong]
    fractions = np.count_nonzero(right != np.rint(right))
    if not np.isfinite(values).all() or (values != np.rint(values)).any() or not values.any():
        return None
    if 2 * fractions <= values.size or values.size < _ENOUGH:
        return None
    return Diagnosis("whole_numbers", "Every incorrect element is a whole number.", IS_IT_AN_INT)


def scaled(output: Output, wrong: Mask) -> Diagnosis | None:
    for factor, text in ((2, "twice the expected value"), (-1, "the negative of the expected value")):
        if equal(output, output.expected.values * factor):
            return Diagnosis(f"scaled_{factor}", f"Every element is {text}.")
    return None


def where(output: Output, wrong: Mask) -> Diagnosis | None:
    """The place of the incorrect elements."""
    if isinstance(output, Solved) and not output.flat:
        return None
    place = _place(output, wrong)
    return None if place is None else Diagnosis(place, f"Incorrect elements: {place}.", is_place=True)


def _place(output: Output, wrong: Mask) -> str | None:
    """The exact place of the incorrect elements, if a few words describe it."""
    if wrong.all():
        return None
    return _place_in_vector(wrong) if output.vector else _place_in_matrix(wrong, output.tile)


def _place_in_vector(wrong: Mask) -> str | None:
    chosen = wrong.ravel()
    count, last = int(chosen.sum()), chosen.size - 1
    for at, word in ((0, "first"), (last, "last")):
        if count == 1 and chosen[at]:
            return f"only the {word}"
        if count == last and not chosen[at]:
            return f"all but the {word}"
    return "a single element" if count == 1 else None


def _place_in_matrix(wrong: Mask, tile: int) -> str | None:
    rows, columns = wrong.shape
    i, j = np.indices(wrong.shape)
    edge_row, edge_column = rows // tile * tile, columns // tile * tile
    for mask, text in (
        (i >= edge_row, "exactly the rows of the last, partial tile"),
        (j >= edge_column, "exactly the columns of the last, partial tile"),
        ((i >= edge_row) | (j >= edge_column), "exactly the last, partial tiles of all rows and columns"),
        ((i >= edge_row) & (j >= edge_column), "exactly the last, partial tile"),
        ((i >= tile) | (j >= tile), "everything outside the first tile"),
        (i == rows - 1, "exactly the last row"),
        (j == columns - 1, "exactly the last column"),
        (i == 0, "exactly the first row"),
        (j == 0, "exactly the first column"),
        (i != j, "everything except the diagonal"),
        (i == j, "exactly the diagonal"),
    ):
        if mask.any() and np.array_equal(mask, wrong):
            return text
    return "a single element" if wrong.sum() == 1 else None


RULES = (never_written, not_a_number, all_zero, scaled, where)
"""All that is known about any kernel."""
