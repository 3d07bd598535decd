"""What wrong sums of sections say about the mistake behind them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.judging.compare import Doubles, Mask, Sums
from kernels.judging.diagnosis.outputs import Diagnosis, all_zero, never_written, not_a_number, where

_Part = Callable[[NDArray[np.intp], int], Mask]

_PARTS: tuple[tuple[str, _Part, str], ...] = (
    ("one_element", lambda at, length: at == 0, "is just the first element of its section: nothing was added to it"),
    ("first_half", lambda at, length: at < length // 2, "is that of the first half of its section"),
    ("second_half", lambda at, length: at >= length // 2, "is that of the second half of its section"),
    ("even", lambda at, length: at % 2 == 0, "is that of every other element of its section, from the first on"),
    ("odd", lambda at, length: at % 2 == 1, "is that of every other element of its section, from the second on"),
    ("first_missing", lambda at, length: at > 0, "leaves out the first element of its section"),
    ("last_missing", lambda at, length: at < length - 1, "leaves out the last element of its section"),
)  # fmt: skip
"""Parts of a section, by the position of an element in it and the section's length, that a mistake may add up."""


def _part(sums: Sums, wrong: Mask) -> Diagnosis | None:
    at = np.arange(sums.values.size) % sums.section
    for key, part, text in _PARTS:
        if _explains(sums, wrong, _added(sums, np.where(part(at, sums.section), sums.values, 0.0))):
            return Diagnosis(key, f"Each wrong sum {text}.")
    return None


def _other(sums: Sums, wrong: Mask) -> Diagnosis | None:
    """Sums of more than the section."""
    right = sums.expected.values.ravel()
    first = sums.values[:: sums.section]
    for key, candidate, text in (
        ("twice", 2 * right, "is twice what it should be"),
        ("first_twice", right + first, "counts the first element of its section twice"),
        ("whole_input", np.full(right.shape, right.sum()), "is that of the whole input"),
        ("running", np.cumsum(right), "goes on from the sections before: is it set to 0 for each?"),
        ("next", np.roll(right, -1), "is that of the section after it"),
        ("previous", np.roll(right, 1), "is that of the section before it"),
    ):
        if _explains(sums, wrong, candidate):
            return Diagnosis(key, f"Each wrong sum {text}.")
    return None


def _added(sums: Sums, values: Doubles) -> Doubles:
    """The sum of each section of these values."""
    added: Doubles = np.add.reduceat(values, np.arange(0, values.size, sums.section))
    return added


def _explains(sums: Sums, wrong: Mask, candidate: Doubles) -> bool:
    """Whether each wrong sum is what this mistake would give."""
    chosen = wrong.ravel()
    return np.array_equal(sums.actual.ravel()[chosen].astype(np.float64), candidate[chosen])


RULES: tuple[Callable[[Sums, Mask], Diagnosis | None], ...] = (
    never_written,
    not_a_number,
    _part,
    _other,
    all_zero,
    where,
)
