from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.judging.compare import Doubles, Mask, Sums
from kernels.judging.diagnosis.outputs import Diagnosis, all_zero, never_written, not_a_number, where

_Part = Callable[[NDArray[np.intp], int], Mask]

_PARTS: tuple[tuple[str, _Part, str], ...] = (
    ("one_element", lambda at, length: at == 0, "is only the first element of its section"),
    ("first_half", lambda at, length: at < length // 2, "equals the sum of the first half of its section"),
    ("second_half", lambda at, length: at >= length // 2, "equals the sum of the second half of its section"),
    ("even", lambda at, length: at % 2 == 0, "adds up every second element of its section, from the first"),
    ("odd", lambda at, length: at % 2 == 1, "adds up every second element of its section, from the second"),
    ("first_missing", lambda at, length: at > 0, "leaves out the first element of its section"),
    ("last_missing", lambda at, length: at < length - 1, "leaves out the last element of its section"),
)  # fmt: skip
"""Parts of a section that a mistake may add up, by an element's position and the section's length."""


def _part(sums: Sums, wrong: Mask) -> Diagnosis | None:
    at = np.arange(sums.values.size) % sums.section
    for key, part, text in _PARTS:
        if _explains(sums, wrong, _added(sums, np.where(part(at, sums.section), sums.values, 0.0))):
            return Diagnosis(key, f"Each incorrect sum {text}.")
    return None


def _other(sums: Sums, wrong: Mask) -> Diagnosis | None:
    """Sums beyond the section."""
    right = sums.expected.values.ravel()
    first = sums.values[:: sums.section]
    for key, candidate, text, more in (
        ("twice", 2 * right, "is twice the expected sum", ""),
        ("first_twice", right + first, "counts the first element of its section twice", ""),
        ("whole_input", np.full(right.shape, right.sum()), "equals the sum of the whole input", ""),
        ("running", np.cumsum(right), "includes all sections before it", "Does each section start at 0?"),
        ("next", np.roll(right, -1), "equals the sum of the next section", ""),
        ("previous", np.roll(right, 1), "equals the sum of the previous section", ""),
    ):
        if _explains(sums, wrong, candidate):
            return Diagnosis(key, f"Each incorrect sum {text}.", more)
    return None


def _added(sums: Sums, values: Doubles) -> Doubles:
    added: Doubles = np.add.reduceat(values, np.arange(0, values.size, sums.section))
    return added


def _explains(sums: Sums, wrong: Mask, candidate: Doubles) -> bool:
    """Whether this mistake gives each incorrect sum."""
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
