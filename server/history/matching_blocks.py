"""The longest common subsequence of two sequences, in a bounded number of steps for any input.

Students choose both sources, so a method that is fast only for usual inputs isn't enough. Each row of the table of
lengths is one integer with a bit for each item on the right. So a row takes a few operations. See Hyyrö, "Bit-parallel
LCS-length computation revisited", 2004.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Items `left` to `left_end` next to items `right` to `right_end`. same: whether they are equal."""

    same: bool
    left: int
    left_end: int
    right: int
    right_end: int


def blocks(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[Block, ...]:
    """Split both sequences into blocks of equal and of different items."""
    return tuple(_blocks(_pairs(left, right), len(left), len(right)))


def _blocks(pairs: Sequence[tuple[int, int]], left_end: int, right_end: int) -> Iterator[Block]:
    i = j = place = 0
    while place < len(pairs):
        a, b = pairs[place]
        if a > i or b > j:
            yield Block(False, i, a, j, b)
        length = 1
        while place + length < len(pairs) and pairs[place + length] == (a + length, b + length):
            length += 1
        i, j, place = a + length, b + length, place + length
        yield Block(True, a, i, b, j)
    if i < left_end or j < right_end:
        yield Block(False, i, left_end, j, right_end)


def _pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The indices of equal items in order, including the common beginning and end."""
    most = min(len(left), len(right))
    start = next((i for i in range(most) if left[i] != right[i]), most)
    end = next((i for i in range(most - start) if left[-1 - i] != right[-1 - i]), most - start)
    inner = _inner(left[start : len(left) - end], right[start : len(right) - end])
    return [
        *((i, i) for i in range(start)),
        *((start + i, start + j) for i, j in inner),
        *((len(left) - i, len(right) - i) for i in range(end, 0, -1)),
    ]


def _inner(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    where: dict[Hashable, int] = {}
    for j, item in enumerate(right):
        where[item] = where.get(item, 0) | 1 << j
    every = (1 << len(right)) - 1
    row, rows = every, []
    for item in left:
        there = row & where.get(item, 0)
        row = ((row + there) | (row - there)) & every
        rows.append(row)
    # A cleared bit means that the length grows by one there. Walk back from the end to find the pairs.
    found: list[tuple[int, int]] = []
    i, j = len(left) - 1, len(right) - 1
    while i >= 0 and j >= 0:
        if rows[i] >> j & 1:
            j -= 1
        elif i and not rows[i - 1] >> j & 1:
            i -= 1
        else:
            found.append((i, j))
            i, j = i - 1, j - 1
    return found[::-1]
