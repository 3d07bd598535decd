"""Inputs computed from a seed, for a launch on a GPU and again for the check of its result.

They keep the promises of `kernels.judging.inputs`: every correct output is known exactly. But each element depends only
on seed, row and column. So the device makes inputs in place, and checks a product without memory that a kernel could
have changed. The judge's kernels compute the same values, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import InputKind, Layout
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.element_bits import held
from kernels.judging.inputs import NONZERO_LIMIT, SECTION_LIMIT, WIDE_LIMIT, Matrix, factors, product_types
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan

ROW_STEP = 0x9E37_79B9_7F4A_7C15
COLUMN_STEP = 0xD1B5_4A32_D192_ED03
"""The numbers to mix differ by these steps for neighbouring rows and columns, so that all elements' numbers differ."""

SPECIAL_EVERY = 16
"""One in this many neighbouring terms of a dot product is special, and about one in this many lines.

In a special line, the narrow factor has one nonzero element, at a special term: 1, 2, 4 or 8 with any sign. There the
wide factor has full mantissas, and all other lines of the narrow factor have 0. So every product shows whether an
operand was rounded to a format narrower than its type, and is still exact.
"""

_WORD = (1 << 64) - 1
_SCALES = 4

Numbers = NDArray[np.uint64]
Index = NDArray[np.int64]


class Kind(StrEnum):
    """The kind of a matrix's elements. `kernels.judging.inputs` says which mistakes each kind shows."""

    WIDE = "wide"  # nonzero integers with any sign, of up to 13 bits for floats; at the special terms, MANTISSAS
    NARROW = "narrow"  # -1 and 1, or any whole numbers; 0 at the special terms; see below for other zeros and lines
    MANTISSAS = "mantissas"  # odd integers with any sign and all digits of the type, which are 24 bits for floats
    SELECTION = "selection"  # one signed power of two in each line, all others 0
    WHOLE = "whole"  # integers from 1 to a limit


class Lines(StrEnum):
    """The lines of a matrix that the dot products of a product use."""

    ROWS = "rows"  # of a left factor
    COLUMNS = "columns"  # of a right factor


@dataclass(frozen=True, slots=True)
class Recipe:
    """The rule for the elements of one matrix.

    seed: 64 bits
    limit: the largest element, for the kind WHOLE
    phase: the first special term, for the kinds WIDE and NARROW
    wide, ones: the largest elements of the kinds WIDE and NARROW
    most: nonzero elements in a line, for the kind NARROW
    """

    kind: Kind
    rows: int
    columns: int
    layout: Layout
    seed: int
    lines: Lines = Lines.ROWS
    limit: int = 1
    phase: int = 0
    type: ElementType = ElementType.FLOAT
    wide: int = WIDE_LIMIT
    ones: int = 1
    most: int = NONZERO_LIMIT

    @property
    def digits(self) -> int:
        """The binary digits of the type."""
        return self.type.digits if self.type.is_float else self.type.whole_range[1].bit_length()

    @property
    def lowest(self) -> int:
        """The exponent of the smallest element of the kind SELECTION."""
        return -_SCALES if self.type.is_float else 0

    @property
    def more(self) -> int:
        """The bits of the largest wide element after the first 32."""
        return max(0, self.wide.bit_length() - 32)

    @property
    def specials(self) -> int:
        return -(-(self.length - self.phase) // SPECIAL_EVERY)

    @property
    def length(self) -> int:
        """The number of elements in a line, which are the terms of a dot product."""
        return self.columns if self.lines is Lines.ROWS else self.rows

    @property
    def group(self) -> int:
        """One in this many neighbours in a line is nonzero, for the kind NARROW."""
        return -(-self.length // self.most)

    @property
    def walk(self) -> tuple[int, int]:
        """The place of each line's nonzero element, for the kind SELECTION: a start and a step per line.

        Both are fractions of a line, in units of 2**-64. The start is the middle of a place. The step is a whole number
        of places, coprime to the length. So all places come once before any comes again.
        """
        length = self.length
        first, step = mixed(self.seed ^ ROW_STEP) % length, mixed(self.seed ^ COLUMN_STEP) % length
        while math.gcd(step, length) != 1:
            step = (step + 1) % length
        return ((2 * first + 1) << 64) // (2 * length), (((step << 65) // length + 1) // 2) & _WORD


def recipes(case: CasePlan, kind: InputKind, seed: int) -> dict[str, Recipe]:
    """The inputs of a case by the matrix's name, like `kernels.judging.inputs.make_inputs`.

    For the kind PERMUTATION, the selection is the left factor if the seed is odd.

    raise (ValueError): for real inputs, which aren't made on a device
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
            raise ValueError(f"no recipe for inputs of the kind {kind}")
    left, right = factors(case)
    types = product_types(case)
    wide, narrow = (right, left) if kinds[1] is Kind.WIDE else (left, right)
    most = _most(types, wide.type, narrow.type)
    phase = mixed(seed ^ COLUMN_STEP) % min(SPECIAL_EVERY, left.columns)

    def factor(matrix: MatrixPlan, number: int, lines: Lines) -> Recipe:
        widest, ones = _largest(types, matrix.type)
        return _recipe(matrix, kinds[number], seed, number, lines=lines, phase=phase, wide=widest, ones=ones, most=most)

    return {left.name: factor(left, 0, Lines.ROWS), right.name: factor(right, 1, Lines.COLUMNS)}


# The device waits while the host makes recipes, so what types alone decide is kept.
@cache
def _most(types: ProductTypes, wide: ElementType, narrow: ElementType) -> int:
    return types.nonzeros(wide, narrow)


@cache
def _largest(types: ProductTypes, factor: ElementType) -> tuple[int, int]:
    """The largest elements of a wide and of a narrow factor."""
    return types.wide(factor), types.narrow(factor)


def values(recipe: Recipe) -> Matrix:
    """All elements row by row, whatever the layout."""
    rows, columns = np.arange(recipe.rows), np.arange(recipe.columns)
    return elements(recipe, rows[:, np.newaxis], columns[np.newaxis, :])


def elements(recipe: Recipe, rows: Index, columns: Index) -> Matrix:
    """Some elements. The arrays of rows and columns are broadcast against each other."""
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
            made = np.where(_is_special(recipe, term), _mantissa(recipe, drawn), _up_to_wide(recipe, drawn))
        case Kind.MANTISSAS:
            made = _mantissa(recipe, drawn)
        case _:
            made = 1 + _below(drawn, recipe.limit)
    return held(made, recipe.type)


def mixed(number: int) -> int:
    """A pseudorandom 64-bit number for any number."""
    return int(_mix(number & _WORD))


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
    wide: int = WIDE_LIMIT,
    ones: int = 1,
    most: int = NONZERO_LIMIT,
) -> Recipe:
    """A recipe with a separate seed for each matrix. number: of the matrix in its case."""
    own = mixed(2 * seed + number)
    return Recipe(
        kind, matrix.rows, matrix.columns, matrix.layout, own, lines, limit, phase, matrix.type, wide, ones, most
    )


def _mix(number: Any) -> Any:
    """The finalizer of SplitMix64, for an integer or an array. Every bit of the result depends on all of the number."""
    number = (number ^ (number >> 30)) * 0xBF58_476D_1CE4_E5B9 & _WORD
    number = (number ^ (number >> 27)) * 0x94D0_49BB_1331_11EB & _WORD
    return number ^ (number >> 31)


def _below(drawn: Numbers, limit: int | Numbers) -> Index:
    """A number from 0 to below the limit, from the upper half of a drawn number."""
    return ((drawn >> 32) * np.asarray(limit, np.uint64) >> 32).astype(np.int64)


def _signed(recipe: Recipe, drawn: Numbers, magnitude: Index) -> Index:
    """Apply the sign in the lowest bit of a drawn number, if the type has signs."""
    return magnitude if recipe.type is ElementType.BYTE else np.where(drawn & 1, -magnitude, magnitude)


def _up_to_wide(recipe: Recipe, drawn: Numbers) -> Index:
    """Any integer but 0 up to the largest one."""
    more = recipe.more
    further = (drawn >> 1).astype(np.int64) & (1 << more) - 1
    return _signed(recipe, drawn, 1 + (_below(drawn, recipe.wide >> more) << more | further))


def _mantissa(recipe: Recipe, drawn: Numbers) -> Index:
    """An odd integer with all digits."""
    inner = recipe.digits - 2
    bits = (drawn >> min(32, 64 - inner)).astype(np.int64) & (1 << inner) - 1
    return _signed(recipe, drawn, (2 << inner) + 1 + 2 * bits)


def _is_special(recipe: Recipe, term: Numbers) -> NDArray[np.bool_]:
    special: NDArray[np.bool_] = term % np.uint64(SPECIAL_EVERY) == np.uint64(recipe.phase)
    return special


def _narrow(recipe: Recipe, row: Numbers, column: Numbers) -> Matrix:
    """Elements of the kind NARROW. One drawn number decides whether a line is special, and its only element."""
    along = recipe.lines is Lines.ROWS
    line, term, step = (row, column, ROW_STEP) if along else (column, row, COLUMN_STEP)
    drawn = _mix(np.uint64(recipe.seed ^ _WORD) + line * np.uint64(step))
    place = recipe.phase + SPECIAL_EVERY * _below(drawn, recipe.specials)
    alone = np.where(place == term.astype(np.int64), _signed(recipe, drawn, 1 << (drawn >> 5 & 3).astype(np.int64)), 0)
    plain = np.where(_is_special(recipe, term), 0, _ones(recipe, row, column))
    return held(np.where((drawn >> 1 & 15) == 0, alone, plain), recipe.type)


def _ones(recipe: Recipe, row: Numbers, column: Numbers) -> Index:
    """Plain elements of the kind NARROW. One drawn number decides which one of a group is nonzero, and its value."""
    along = recipe.lines is Lines.ROWS
    index, group = (column if along else row), np.uint64(recipe.group)
    drawn_for = index // group
    row, column = (row, drawn_for) if along else (drawn_for, column)
    drawn = _mix(np.uint64(recipe.seed) + row * np.uint64(ROW_STEP) + column * np.uint64(COLUMN_STEP))
    size = np.minimum(group, np.uint64(recipe.length) - drawn_for * group)
    chosen = _below(drawn, size) == (index - drawn_for * group).astype(np.int64)
    magnitude = 1 + _below(drawn << np.uint64(32), recipe.ones)
    return np.where(chosen, _signed(recipe, drawn, magnitude), 0)


def _selected(recipe: Recipe, row: Numbers, column: Numbers) -> Matrix:
    along = recipe.lines is Lines.ROWS
    line, index, step = (row, column, ROW_STEP) if along else (column, row, COLUMN_STEP)
    start, stride = recipe.walk
    place = _below(np.uint64(start) + line * np.uint64(stride), recipe.length)
    drawn = _mix(np.uint64(recipe.seed) + line * np.uint64(step))
    scale = _signed(recipe, drawn, 1 << _below(drawn, 1 + _SCALES - recipe.lowest)) * 2.0**recipe.lowest
    return held(np.where(place == index.astype(np.int64), scale, 0), recipe.type)
