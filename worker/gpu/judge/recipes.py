"""Inputs that follow from a number: what a launch on a GPU is given, and again when its result is checked.

They keep the promises of `kernels.judging.inputs` (every right output is known to the last bit), but each element is
a function of seed, row and column alone. So the device makes them in place, and checks a product without reading what
a kernel could have changed. The judge's kernels compute the same values from the same numbers, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import InputKind, Layout
from kernels.judging.inputs import NONZERO_LIMIT, SECTION_LIMIT, WIDE_LIMIT, Matrix, factors
from kernels.judging.plan import CasePlan, MatrixPlan

ROW_STEP = 0x9E37_79B9_7F4A_7C15
COLUMN_STEP = 0xD1B5_4A32_D192_ED03
"""Apart by one row, or one column, the numbers that are mixed lie this far apart, and no two elements' are the same."""

SPECIAL_EVERY = 16
"""Of so many neighbouring terms of a dot product one is special, and of so many dot products about one.

In a special line the narrow factor has one element that is not 0, at a special term: 1, 2, 4 or 8, of either sign.
There the wide factor has full mantissas, and all other lines of the narrow factor have 0. So every product shows
whether either operand was rounded to any format narrower than float, and is exact all the same.
"""

_WORD = (1 << 64) - 1
_SCALES = 4

Numbers = NDArray[np.uint64]
Index = NDArray[np.int64]


class Kind(StrEnum):
    """What the elements of a matrix are; see `kernels.judging.inputs` for what each of them exposes."""

    WIDE = (
        "wide"  # integers of up to 13 bits and either sign, none of them 0; at the special terms, MANTISSAS
    )
    NARROW = (
        "narrow"  # -1 and 1, and 0 at the special terms; see below for what else is 0, and the special lines
    )
    MANTISSAS = "mantissas"  # odd integers of exactly 24 bits and either sign
    SELECTION = "selection"  # one signed power of two in each line, everything else 0
    WHOLE = "whole"  # integers from 1 to a limit


class Lines(StrEnum):
    """Which of a matrix's lines the dot products of a product run along."""

    ROWS = "rows"  # of a left factor
    COLUMNS = "columns"  # of a right factor


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the elements of one matrix follow from.

    seed: 64 bits
    limit: the largest element of the kind WHOLE
    phase: the first special term, of the kinds WIDE and NARROW
    """

    kind: Kind
    rows: int
    columns: int
    layout: Layout
    seed: int
    lines: Lines = Lines.ROWS
    limit: int = 1
    phase: int = 0

    @property
    def specials(self) -> int:
        return -(-(self.length - self.phase) // SPECIAL_EVERY)

    @property
    def length(self) -> int:
        """Elements in a line: the terms of a dot product."""
        return self.columns if self.lines is Lines.ROWS else self.rows

    @property
    def group(self) -> int:
        """Of so many neighbours in a line, the kind NARROW has one that is not 0."""
        return -(-self.length // NONZERO_LIMIT)

    @property
    def walk(self) -> tuple[int, int]:
        """Where the kind SELECTION takes its element of each line: a start, and a step from line to line.

        Both are fractions of a line, in units of 2**-64. Start is the middle of a place and step a whole number of
        places without a divisor in common with the length, so that no place comes twice before each has come once.
        """
        length = self.length
        first, step = mixed(self.seed ^ ROW_STEP) % length, mixed(self.seed ^ COLUMN_STEP) % length
        while math.gcd(step, length) != 1:
            step = (step + 1) % length
        return ((2 * first + 1) << 64) // (2 * length), (((step << 65) // length + 1) // 2) & _WORD


def recipes(case: CasePlan, kind: InputKind, seed: int) -> dict[str, Recipe]:
    """The inputs of a case by the matrix's name: as `kernels.judging.inputs.make_inputs`, from another source.

    The selection of the kind PERMUTATION is the left factor where the seed is odd.

    raise (ValueError): for real inputs, which are not made on a device
    """
    match kind:
        case InputKind.INTEGERS:
            limit = max(1, min(WIDE_LIMIT, SECTION_LIMIT // max(1, case.section)))
            return {m.name: _recipe(m, Kind.WHOLE, seed, n, limit=limit) for n, m in _numbered(case)}
        case InputKind.MANTISSAS:
            return {m.name: _recipe(m, Kind.MANTISSAS, seed, n) for n, m in _numbered(case)}
        case InputKind.INTEGERS_LEFT:
            kinds = Kind.WIDE, Kind.NARROW
        case InputKind.INTEGERS_RIGHT:
            kinds = Kind.NARROW, Kind.WIDE
        case InputKind.PERMUTATION if seed % 2:
            kinds = Kind.SELECTION, Kind.MANTISSAS
        case InputKind.PERMUTATION:
            kinds = Kind.MANTISSAS, Kind.SELECTION
        case _:
            raise ValueError(f"no recipe makes inputs of the kind {kind}")
    left, right = factors(case)
    phase = mixed(seed ^ COLUMN_STEP) % min(SPECIAL_EVERY, left.columns)
    return {
        left.name: _recipe(left, kinds[0], seed, 0, phase=phase),
        right.name: _recipe(right, kinds[1], seed, 1, lines=Lines.COLUMNS, phase=phase),
    }


def values(recipe: Recipe) -> Matrix:
    """All elements, row by row whatever the layout."""
    rows, columns = np.arange(recipe.rows), np.arange(recipe.columns)
    return elements(recipe, rows[:, np.newaxis], columns[np.newaxis, :])


def elements(recipe: Recipe, rows: Index, columns: Index) -> Matrix:
    """Some elements; the numbers of rows and columns are broadcast against each other."""
    row, column = rows.astype(np.uint64), columns.astype(np.uint64)
    match recipe.kind:
        case Kind.NARROW:
            return _narrow(recipe, row, column)
        case Kind.SELECTION:
            return _selected(recipe, row, column)
    drawn = _mix(np.uint64(recipe.seed) + row * np.uint64(ROW_STEP) + column * np.uint64(COLUMN_STEP))
    match recipe.kind:
        case Kind.WIDE:
            term = column if recipe.lines is Lines.ROWS else row
            made = np.where(
                _is_special(recipe, term), _mantissa(drawn), _signed(drawn, 1 + _below(drawn, WIDE_LIMIT))
            )
        case Kind.MANTISSAS:
            made = _mantissa(drawn)
        case _:
            made = 1 + _below(drawn, recipe.limit)
    return made.astype(np.float32)


def mixed(number: int) -> int:
    """A number of 64 bits that looks like chance, from any other."""
    return int(_mix(np.array([number & _WORD], np.uint64))[0])


def _numbered(case: CasePlan) -> list[tuple[int, MatrixPlan]]:
    return list(enumerate(case.inputs_of_kernel))


def _recipe(
    matrix: MatrixPlan,
    kind: Kind,
    seed: int,
    number: int,
    *,
    lines: Lines = Lines.ROWS,
    limit: int = 1,
    phase: int = 0,
) -> Recipe:
    """The seed is of the matrix's own. number: of the matrix in its case."""
    own = mixed(2 * seed + number)
    return Recipe(kind, matrix.rows, matrix.columns, matrix.layout, own, lines, limit, phase)


def _mix(number: Numbers) -> Numbers:
    """The finish of the generator SplitMix64: every bit of the result depends on all bits of the number."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return number ^ (number >> np.uint64(31))


def _below(drawn: Numbers, limit: int | Numbers) -> Index:
    """A number from 0 to below the limit, from the upper half of what was drawn."""
    return ((drawn >> 32) * np.asarray(limit, np.uint64) >> 32).astype(np.int64)


def _signed(drawn: Numbers, magnitude: Index) -> Index:
    """The lowest bit of what was drawn is the sign."""
    return np.where(drawn & 1, -magnitude, magnitude)


def _mantissa(drawn: Numbers) -> Index:
    return _signed(drawn, (1 << 23) + 1 + 2 * ((drawn >> 32).astype(np.int64) & (1 << 22) - 1))


def _is_special(recipe: Recipe, term: Numbers) -> NDArray[np.bool_]:
    special: NDArray[np.bool_] = term % np.uint64(SPECIAL_EVERY) == np.uint64(recipe.phase)
    return special


def _narrow(recipe: Recipe, row: Numbers, column: Numbers) -> Matrix:
    """One number is drawn for a line: whether it is special, and then where and what its one element is."""
    along = recipe.lines is Lines.ROWS
    line, term, step = (row, column, ROW_STEP) if along else (column, row, COLUMN_STEP)
    drawn = _mix(np.uint64(recipe.seed ^ _WORD) + line * np.uint64(step))
    place = recipe.phase + SPECIAL_EVERY * _below(drawn, recipe.specials)
    alone = np.where(
        place == term.astype(np.int64), _signed(drawn, 1 << (drawn >> 5 & 3).astype(np.int64)), 0
    )
    plain = np.where(_is_special(recipe, term), 0, _ones(recipe, row, column))
    return np.where((drawn >> 1 & 15) == 0, alone, plain).astype(np.float32)


def _ones(recipe: Recipe, row: Numbers, column: Numbers) -> Index:
    """-1 and 1. One number is drawn for a group: which of its elements is not 0, and that one's sign."""
    along = recipe.lines is Lines.ROWS
    index, group = (column if along else row), np.uint64(recipe.group)
    drawn_for = index // group
    row, column = (row, drawn_for) if along else (drawn_for, column)
    drawn = _mix(np.uint64(recipe.seed) + row * np.uint64(ROW_STEP) + column * np.uint64(COLUMN_STEP))
    size = np.minimum(group, np.uint64(recipe.length) - drawn_for * group)
    chosen = _below(drawn, size) == (index - drawn_for * group).astype(np.int64)
    return np.where(chosen, np.where(drawn & 1, -1, 1), 0)


def _selected(recipe: Recipe, row: Numbers, column: Numbers) -> Matrix:
    along = recipe.lines is Lines.ROWS
    line, index, step = (row, column, ROW_STEP) if along else (column, row, COLUMN_STEP)
    start, stride = recipe.walk
    place = _below(np.uint64(start) + line * np.uint64(stride), recipe.length)
    drawn = _mix(np.uint64(recipe.seed) + line * np.uint64(step))
    scale = np.exp2(_below(drawn, 2 * _SCALES + 1) - _SCALES) * np.where(drawn & 1, -1, 1)
    return np.where(place == index.astype(np.int64), scale, 0).astype(np.float32)
