"""Where values come from: elements of global memory, products of them, and sums of products.

A tracing run attaches a tag to the value in a register or a memory cell. A tag is a number, so a step is followed for
all its threads at once. Its low bits say of which kind it is, and the rest is its row in a table of this kind; 0 is the
tag of an unknown value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kernels.launch import Launch

Coordinates = tuple[int, int, int]
Tags = NDArray[np.int64]
Chosen = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_KIND = 7
_FACTOR, _TERM, _SUM, _PACKED = range(1, 5)
_NEGATIVE, _PADDING, _CELL = 8, 16, 32
_ROW = 6


@dataclass(frozen=True, slots=True)
class Element:
    """The 4-byte element number `index` of a variable in global memory."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Factor:
    """The value of an element, read from a cell of shared memory or directly from global memory.

    element: None for another value: a padding zero, or a computed value
    cell: "" if it comes directly from global memory
    fetch: the number of the fetch that filled the cell, -1 without a fetch
    """

    element: Element | None
    cell: str = ""
    fetch: int = -1

    @property
    def is_padding(self) -> bool:
        """Whether it is a zero that a thread stored into the cell."""
        return self.element is None and self.fetch >= 0


@dataclass(frozen=True, slots=True)
class TracedFetch:
    """A thread stores an element of global memory, or a zero (`element` None), into a cell of shared memory."""

    number: int
    block: Coordinates
    thread: Coordinates
    interval: int
    line: int | None
    element: Element | None
    array: str
    cell: str


@dataclass(frozen=True, slots=True)
class Where:
    """All threads at a step, by block and number in it, and the barriers that their blocks have passed before."""

    blocks: Numbers
    threads: Numbers
    intervals: Numbers
    line: int | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The summands of all accumulators, as columns. Each is a product, or a single value, that a thread adds.

    accumulator: the row in `Trace.targets`
    number: in the order of the run
    block, thread: numbers in the grid and in the block
    interval: barriers that the block has passed
    line: 0 if unknown
    one, two: rows in `Trace.factors`; `two` is -1 for a single value
    negative: whether it is subtracted
    """

    accumulator: Numbers
    number: Numbers
    block: Numbers
    thread: Numbers
    interval: Numbers
    line: Numbers
    one: Numbers
    two: Numbers
    negative: Chosen

    @classmethod
    def none(cls) -> Terms:
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, empty, empty, empty, empty, empty, np.empty(0, np.bool_))

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, chosen: Chosen | Numbers | slice) -> Terms:
        return Terms(
            self.accumulator[chosen],
            self.number[chosen],
            self.block[chosen],
            self.thread[chosen],
            self.interval[chosen],
            self.line[chosen],
            self.one[chosen],
            self.two[chosen],
            self.negative[chosen],
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that a small run did.

    targets: of each accumulator, the element in which it is stored, if any
    arrays: extents of the shared arrays that were filled
    note: why the trace is incomplete; "" if it is complete
    """

    launch: Launch
    fetches: tuple[TracedFetch, ...] = ()
    terms: Terms = field(default_factory=Terms.none)
    targets: tuple[Element | None, ...] = ()
    factors: tuple[Factor, ...] = ()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    note: str = ""


class Factors:
    """The table of factors, each of them once."""

    def __init__(self) -> None:
        self.rows: list[Factor] = []
        self._tags: dict[Factor, int] = {}

    def tag(self, factor: Factor) -> int:
        if factor not in self._tags:
            flags = _PADDING * factor.is_padding | _CELL * bool(factor.cell)
            self._tags[factor] = len(self.rows) << _ROW | flags | _FACTOR
            self.rows.append(factor)
        return self._tags[factor]

    def of(self, tag: int) -> Factor:
        """The factor of a tag, whatever its sign; without an element if the tag is another's."""
        return self.rows[tag >> _ROW] if tag & _KIND == _FACTOR else Factor(None)


class Values:
    """The tables of tags, and what becomes of tags in arithmetic.

    Each call gets the tags of all threads, and 0 for those that don't take part in the step.

    where: the threads at the current step
    """

    def __init__(self) -> None:
        self.factors = Factors()
        self.where: Where | None = None
        self._terms = _Rows(_TERM)
        self._sums = _Rows(_SUM)
        self._packed = _Rows(_PACKED)
        self._places: list[Where] = []
        self._stored: list[tuple[str, Numbers, Numbers]] = []

    def summed(self, tags: Tags) -> Tags:
        """Return the values as sums; 0 where one is unknown, or a padding zero."""
        kind = tags & _KIND
        single = (kind == _FACTOR) & (tags & _PADDING == 0)
        found = np.where(kind == _SUM, tags, 0)
        terms = np.where(kind == _TERM, tags, 0)
        if single.any():
            terms[single] = self._made(single, tags, np.zeros_like(tags))
        if (new := terms != 0).any():
            none = np.zeros_like(tags)
            found[new] = self._sums.add(none[new], none[new], terms[new])
        return found

    def added(self, one: Tags, two: Tags) -> Tags:
        first, second = one & _KIND == _TERM, two & _KIND == _TERM
        first, second = first & ~second, second & ~first
        term = np.where(first, one, np.where(second, two, 0))
        left, right = self.summed(np.where(first, 0, one)), self.summed(np.where(second, 0, two))
        new = (term != 0) | ((left != 0) & (right != 0))
        found = np.where(left != 0, left, right)
        if new.any():
            found[new] = self._sums.add(left[new], right[new], term[new])
        return found

    def subtracted(self, one: Tags, two: Tags) -> Tags:
        """Return `one - two`. The sign of a whole sum that is subtracted isn't followed."""
        return self.added(one, self.negated(two))

    @staticmethod
    def negated(tags: Tags) -> Tags:
        """Return the values with the opposite sign, where it can be followed."""
        kind = tags & _KIND
        return np.where((kind == _FACTOR) | (kind == _TERM), tags ^ _NEGATIVE, tags)

    def multiplied(self, one: Tags, two: Tags) -> Tags:
        """Return the products. With an unknown factor, or a sum as a factor, a value counts as scaled."""
        first, second = one & _KIND, two & _KIND
        one, two = np.where(first == _PACKED, 0, one), np.where(second == _PACKED, 0, two)
        product = (first == _FACTOR) & (second == _FACTOR)
        scaled = (second == _TERM) | (second == _SUM) | (one == 0)
        found = np.where(scaled & (first != _TERM) & (first != _SUM), two, one)
        if product.any():
            found[product] = self._made(product, one, two)
        return found

    def fused(self, one: Tags, two: Tags, rest: Tags) -> Tags:
        """`one * two + rest`."""
        return self.added(self.multiplied(one, two), rest)

    def packed(self, pieces: Sequence[Tags]) -> Tags:
        """Return several values packed into one, where any is known and none is packed itself."""
        grid = np.stack(pieces)
        fit = (grid != 0).any(0) & (grid & _KIND != _PACKED).all(0)
        found = np.zeros_like(pieces[0])
        if fit.any():
            found[fit] = self._packed.add(*grid[:, fit])
        return found

    def pieces(self, tags: Tags, count: int) -> Sequence[Tags]:
        """Return the pieces of packed values; 0 where something else is, or another number of pieces."""
        found = np.zeros((count, len(tags)), np.int64)
        for at in np.flatnonzero(tags & _KIND == _PACKED).tolist():
            row = self._packed.row(int(tags[at]))
            if len(row) == count:
                found[:, at] = row
        return list(found)

    @staticmethod
    def computed(tags: Tags) -> Chosen:
        """Where a value is a product or a sum."""
        kind = tags & _KIND
        found: Chosen = (kind == _TERM) | (kind == _SUM)
        return found

    @staticmethod
    def loaded(tags: Tags) -> Chosen:
        """Where a value comes directly from global memory."""
        found: Chosen = tags & (_KIND | _CELL) == _FACTOR
        return found

    @staticmethod
    def copied(tags: Tags) -> Chosen:
        """Where a value comes from a cell of shared memory."""
        found: Chosen = tags & (_KIND | _CELL) == _FACTOR | _CELL
        return found

    def store(self, name: str, indices: Numbers, sums: Tags) -> None:
        """Note that sums are stored into elements of a variable in global memory."""
        self._stored.append((name, indices, sums))

    def _made(self, chosen: Chosen, one: Tags, two: Tags) -> Tags:
        """New terms of some threads. `two` is 0 for a single value."""
        where = self.where
        assert where is not None, "arithmetic is followed within a step"
        self._places.append(Where(where.blocks[chosen], where.threads[chosen], where.intervals[chosen], where.line))
        one, two = one[chosen], two[chosen]
        return self._terms.add(one, two) | ((one ^ two) & _NEGATIVE)

    def accumulators(self) -> tuple[tuple[Element | None, ...], Terms]:
        """Return the target of each accumulator, and all terms.

        A sum belongs to the last element that got it or a sum of it, otherwise to the last sum of it.
        """
        one, two, term = self._sums.columns(3)
        stored = [(name, index) for name, indices, _ in self._stored for index in indices.tolist()]
        roots = np.concatenate([np.empty(0, np.int64), *(sums for *_, sums in self._stored)]) >> _ROW
        ranks = len(stored) + np.arange(len(term))[::-1]
        np.minimum.at(ranks, roots, np.arange(len(roots))[::-1])
        for batch in reversed(self._sums.batches()):
            for parents in (one[batch], two[batch]):
                known = parents != 0
                np.minimum.at(ranks, parents[known] >> _ROW, ranks[batch][known])
        owner, used = ranks[term != 0], term[term != 0]
        order = np.lexsort((used >> _ROW, owner))
        owner, used = owner[order], used[order]
        # a term that is in several parts of one sum counts once
        once = np.append(True, (np.diff(owner) != 0) | (np.diff(used >> _ROW) != 0))[: len(owner)]
        owner, used = owner[once], used[once]
        found, accumulator = np.unique(owner, return_inverse=True)
        last = len(stored) - 1
        targets = tuple(Element(*stored[last - rank]) if rank <= last else None for rank in found.tolist())
        return targets, self._terms_of(used, accumulator)

    def _terms_of(self, tags: Tags, accumulator: Numbers) -> Terms:
        rows = tags >> _ROW
        if not len(rows):
            return Terms.none()
        one, two = (column[rows] for column in self._terms.columns(2))
        places = self._places
        lines = [np.full(len(where.blocks), where.line or 0, np.int64) for where in places]
        return Terms(
            accumulator,
            rows,
            np.concatenate([where.blocks for where in places])[rows],
            np.concatenate([where.threads for where in places])[rows],
            np.concatenate([where.intervals for where in places])[rows],
            np.concatenate(lines)[rows],
            one >> _ROW,
            np.where(two != 0, two >> _ROW, -1),
            tags & _NEGATIVE != 0,
        )


class _Rows:
    """A table that grows by some rows of equal width at a time."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self._count = 0
        self._first: list[int] = []
        self._columns: list[Sequence[Tags]] = []

    def add(self, *columns: Tags) -> Tags:
        """Return the tags of the new rows."""
        first, self._count = self._count, self._count + len(columns[0])
        self._first.append(first)
        self._columns.append(columns)
        return np.arange(first, self._count) << _ROW | self._kind

    def row(self, tag: int) -> tuple[int, ...]:
        number = tag >> _ROW
        at = bisect_right(self._first, number) - 1
        return tuple(int(column[number - self._first[at]]) for column in self._columns[at])

    def columns(self, count: int) -> list[Tags]:
        """Return all rows, as `count` columns."""
        return [np.concatenate([np.empty(0, np.int64), *(each[at] for each in self._columns)]) for at in range(count)]

    def batches(self) -> list[slice]:
        """Return which rows were added together."""
        return [slice(one, two) for one, two in pairwise([*self._first, self._count])]
