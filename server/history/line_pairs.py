"""Pair removed lines with the added lines that replaced them, by the words in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MOST_CELLS = 10_000
"""Comparisons of two lines in one diff. A block that needs more is shown without pairs."""

_LEAST_ALIKE = 0.5
_MOST_WORDS = 300
_WORD = re.compile(r"\w+")

Pair = tuple[int | None, int | None]


def line_pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    """Every line of both sides once, in order: similar lines as pairs, other lines alone.

    Needs len(left) * len(right) comparisons.
    """
    known: dict[str, int] = {}
    a, b = ([_words(line, known) for line in side] for side in (left, right))
    best = _best_from(a, b)
    i = j = 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        elif best[i][j] == best[i][j + 1]:
            yield None, j
            j += 1
        else:
            yield i, j
            i, j = i + 1, j + 1
    yield from unpaired(range(i, len(a)), range(j, len(b)))


def unpaired(left: range, right: range) -> Iterator[Pair]:
    """Every line of both sides alone."""
    yield from ((i, None) for i in left)
    yield from ((None, j) for j in right)


def _best_from(left: Sequence[int], right: Sequence[int]) -> list[list[float]]:
    """The largest sum of likeness from line i on the left and line j on the right."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(right) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + _alike(left[i], right[j]))
    return best


def _alike(left: int, right: int) -> float:
    """The share of words in common; 0 if the lines are too different to be a pair."""
    share = 2 * (left & right).bit_count() / ((left.bit_count() + right.bit_count()) or 1)
    return share if share >= _LEAST_ALIKE else 0.0


def _words(line: str, known: dict[str, int]) -> int:
    """A bit for each different word; 0 for a line with too many words to compare.

    known: the bits of words so far, on both sides; this function adds new words
    """
    found = _WORD.findall(line)
    if len(found) > _MOST_WORDS:
        return 0
    return sum(1 << known.setdefault(word, len(known)) for word in set(found))
