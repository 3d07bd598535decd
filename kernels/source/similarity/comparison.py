"""Compare the sources of all students of an assignment with each other.

A feature has a weight: low if many students have it, 0 if the given code has it. So a pair is similar if it shares what
is rare in this course. Elsewhere it may be common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kernels.source.similarity.features import Features

LEAST_STUDENTS = 10
"""With fewer students, nothing shows which features are common, so no pairs are reported."""

LEAST_SHARE = 0.5
"""Pairs from here on are reported. `python -m bench.copies` measures what that means."""

_DOUBT = 6
"""The weight of so many rare features is added to the whole. So a few of them alone don't make a pair."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two students, by their places in the sequence. share: the common part of the weight of both, 0 to 1."""

    left: int
    right: int
    share: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All students compared. carriers: the number of students with a feature, without features of the given code."""

    shares: npt.NDArray[np.float64]
    carriers: Mapping[str, int]

    def pairs(self, least: float = LEAST_SHARE) -> list[Pair]:
        """The pairs with at least this share, the most similar first."""
        count = len(self.shares)
        if count < LEAST_STUDENTS:
            return []
        lefts, rights = np.nonzero(np.triu(self.shares >= least, 1))
        found = [
            Pair(int(left), int(right), float(self.shares[left, right]))
            for left, right in zip(lefts, rights, strict=True)
        ]
        return sorted(found, key=lambda one: (-one.share, one.left, one.right))


def compare(students: Sequence[Features], given: Collection[str]) -> Comparison:
    """Compare all with all. given: features of the code that all students got."""
    known = frozenset(given)
    sets = [student.all - known for student in students]
    carriers = Counter(feature for each in sets for feature in each)
    count = len(sets)
    weights = {feature: float(np.log(count / having)) for feature, having in carriers.items()}
    columns = {feature: place for place, feature in enumerate(f for f, having in carriers.items() if having > 1)}
    table = np.zeros((count, len(columns)), np.float32)
    for row, features in enumerate(sets):
        table[row, [columns[feature] for feature in features if feature in columns]] = 1
    weight = np.array([weights[feature] for feature in columns], np.float32)
    common = ((table * weight) @ table.T).astype(np.float64)
    total = np.array([sum(weights[feature] for feature in sorted(features)) for features in sets])
    either = total[:, None] + total[None, :] - common
    doubt = _DOUBT * float(np.log(max(count, 3) / 2))
    return Comparison(common / (either + doubt), carriers)
