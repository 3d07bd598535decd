"""The longest part that two sequences have in common, in a bounded number of steps whatever they hold.

Whoever hands in two sources chooses both: what is bounded only for usual ones is not bounded. A row of the usual table
of lengths is one number here, a bit for each item on the right, so that a row takes a handful of operations (Hyyrö,
"Bit-parallel LCS-length computation revisited", 2004).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Items from `left` to `left_end` against those from `right` to `right_end`. same: whether they are alike."""

    same: bool
    left: int
    left_end: int
    right: int
    right_end: int


def blocks(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[Block, ...]:
    """Both from end to end: what is alike and what is not, by turns."""
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
    """The places of what is alike, in order. What both begin and end with belongs to it."""
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
    # A bit that is not set: there the length grows by one. From the end back to where each one came from.
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
