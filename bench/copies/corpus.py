"""A corpus with disguised copies, compared: which copies are found, and which independent pairs are reported."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.copies.disguises import disguised
from kernels.source.similarity.comparison import compare
from kernels.source.similarity.features import features_of
from kernels.source.similarity.statements import read_code


@dataclass(frozen=True, slots=True)
class Outcome:
    """The shares of all pairs with one author, and of all pairs with two."""

    copied: npt.NDArray[np.float64]
    independent: npt.NDArray[np.float64]

    def recall(self, share: float) -> float:
        """The part of the copied pairs with at least this share."""
        return float(np.mean(self.copied >= share))

    def false(self, share: float) -> int:
        """The number of independent pairs with at least this share."""
        return int(np.sum(self.independent >= share))


def outcome(sources: Sequence[str], starter: str, kind: str, copies: int) -> Outcome:
    """Add copies of random sources in one of DISGUISES, and compare all with all."""
    draw = random.Random(f"copies {copies}")
    copied = [draw.randrange(len(sources)) for _ in range(copies)]
    texts = [*sources, *(disguised(sources[author], kind, place) for place, author in enumerate(copied))]
    authors = np.array([*range(len(sources)), *copied])
    shares = compare([features_of(read_code(text)) for text in texts], features_of(read_code(starter)).all).shares
    lefts, rights = np.triu_indices(len(texts), 1)
    same = authors[lefts] == authors[rights]
    found = shares[lefts, rights]
    return Outcome(found[same], found[~same])
