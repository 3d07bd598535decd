from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product as pairs
from typing import Any

import numpy as np

from kernels.judging.compare import Doubles, Mask, Product, wrong_elements
from kernels.judging.diagnosis.outputs import (
    IS_IT_AN_INT,
    Diagnosis,
    all_zero,
    equal,
    never_written,
    not_a_number,
    scaled,
    where,
    whole_numbers,
)
from kernels.judging.inputs import Expected

_LEFT = (("ty", "k"), ("k", "ty"), ("tx", "k"), ("k", "tx"))
_RIGHT = (("k", "tx"), ("tx", "k"), ("k", "ty"), ("ty", "k"))
"""The row and column of the cell that a thread uses, the correct one first."""


_FRAGMENTS = (16, 8)
"""The sides of a fragment of wmma, and of a matrix of ldmatrix."""


def tile_products(product: Product) -> Iterator[Diagnosis]:
    """The incorrect indices that give the whole output."""
    if product.tile < 2:
        return
    left, right = (_tiles(each, product.tile, _kind(product)) for each in (product.left, product.right))
    needed = _text(product, _LEFT[0], _RIGHT[0])
    for of_left, of_right in [*pairs(_LEFT, _RIGHT)][1:]:
        if _gives(product, _cells(left, of_left), _cells(right, of_right)):
            used = _text(product, of_left, of_right)
            text = f"Within each tile, your kernel multiplies {used}, not {needed}."
            names = (product.names[0], *of_left, product.names[1], *of_right)
            # In a single tile, an incorrect index of the whole matrix has the same effect.
            yield Diagnosis("tile_cells", text, names=names, in_all=True)


def _text(product: Product, left: tuple[str, str], right: tuple[str, str]) -> str:
    cells = zip(product.names, (left, right), strict=False)
    return " by ".join(f"`{name}[{row}][{column}]`" for name, (row, column) in cells)


def _kind(product: Product) -> type[np.floating[Any]]:
    """The type in which a thread adds up. Sums of whole numbers and of halves are exact in either."""
    return np.float32 if product.actual.dtype == np.float32 else np.float64


def _tiles(matrix: Doubles, tile: int, kind: type[np.floating[Any]]) -> Doubles:
    """The tiles by their row and column. Cells outside the matrix are 0."""
    rows, columns = (-(-size // tile) for size in matrix.shape)
    padded = np.zeros((rows * tile, columns * tile), dtype=kind)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return padded.reshape(rows, tile, columns, tile).swapaxes(1, 2)


def _cells(tiles: Doubles, index: tuple[str, str]) -> Doubles:
    """The tiles with the axes (row of tiles, column of tiles, k, ty, tx). A missing index has one place."""
    row, column = index
    turned = tiles if row == "k" else tiles.swapaxes(2, 3)
    return turned[..., None, :] if "tx" in (row, column) else turned[..., None]


def _gives(product: Product, left: Doubles, right: Doubles) -> bool:
    """Whether these cells give the output. The sums round as a thread does that goes from k to k."""
    height, width = product.actual.shape
    tile, bound = product.tile, rounding(product)
    for row in range(left.shape[0]):
        # The axes are (column of tiles, ty, tx).
        total = np.zeros((right.shape[1], tile, tile), dtype=_kind(product))
        for phase, k in pairs(range(left.shape[1]), range(tile)):
            total += left[row, phase, k] * right[phase, :, k]
        values = total.swapaxes(0, 1).reshape(tile, -1)[: height - row * tile, :width].astype(np.float64)
        rows = slice(row * tile, row * tile + tile)
        expected = Expected(values, bound[rows])
        if wrong_elements(product.actual[rows], expected).any():
            return False
    return True


def _tile_diagonals(product: Product) -> Iterator[Diagnosis]:
    """Sums of the tiles' diagonals alone: `threadIdx.x` chose the row of each load, and `threadIdx.y` the column."""
    if product.tile < 2:
        return
    left, right = (_tiles(each, product.tile, _kind(product)) for each in (product.left, product.right))
    total = np.zeros((left.shape[0], right.shape[1]), dtype=_kind(product))
    for phase, k in pairs(range(left.shape[1]), range(product.tile)):
        total += np.outer(left[:, phase, k, k], right[phase, :, k, k])
    height, width = product.actual.shape
    of_tiles = total.repeat(product.tile, axis=0).repeat(product.tile, axis=1)
    if equal(product, of_tiles[:height, :width].astype(np.float64), rounding(product)):
        text = (
            f"Each tile of `{product.names[-1]}` has one value: your kernel multiplies only the diagonals of the tiles."
        )
        yield Diagnosis("tile_diagonals", text, names=product.names, in_all=True)


def rounding(product: Product) -> Doubles:
    """How far sums of these numbers may be from their exact values, whatever terms they have.

    The expected sums' own bound is smaller where their terms are.
    """
    if not product.expected.bound.any():
        return product.expected.bound
    terms = max(*product.left.shape, *product.right.shape)
    largest = float(np.abs(product.left).max() * np.abs(product.right).max())
    return np.full_like(product.expected.bound, terms**2 * 2.0**-23 * largest)


def reordered(product: Product) -> Iterator[Diagnosis]:
    """The expected numbers in another order, or products of swapped or transposed matrices.

    In a small output, several of them may agree by chance. The other cases tell them apart.
    """
    left, right, (m, n, p) = product.left, product.right, product.names
    candidates: tuple[tuple[str, Callable[[], Doubles], tuple[str, ...], str], ...] = (
        ("transposed", lambda: product.expected.values.T, (p,),
         f"The result is transposed: {p}[i][j] has the value of {p}[j][i]."),
        ("swapped", lambda: right @ left, (m, n), f"Your kernel computes {n}*{m}: the operands are swapped."),
        ("left_transposed", lambda: left.T @ right, (m,), f"Your kernel computes {m} transposed times {n}."),
        ("right_transposed", lambda: left @ right.T, (n,), f"Your kernel computes {m} times {n} transposed."),
        ("both_transposed", lambda: left.T @ right.T, (m, n),
         f"Your kernel computes {m} transposed times {n} transposed."),
    )  # fmt: skip
    for key, candidate, names, text in candidates:
        try:
            values = candidate()
        except ValueError:
            continue  # the shapes don't fit, so the kernel didn't compute this
        if equal(product, values, rounding(product)):
            yield Diagnosis(key, text, names=names)
    yield from tile_products(product)
    yield from _tile_diagonals(product)
    yield from _turned_fragments(product)


def _turned_fragments(product: Product) -> Iterator[Diagnosis]:
    """Products of matrices whose fragments are transposed, each in its place."""
    names = product.names[:2]
    for side, turned in pairs(_FRAGMENTS, (names[:1], names[1:], names)):
        if any(extent % side for extent in (*product.left.shape, *product.right.shape)):
            continue
        left = _turned(product.left, side) if names[0] in turned else product.left
        right = _turned(product.right, side) if names[1] in turned else product.right
        if equal(product, left @ right, rounding(product)):
            which = " and ".join(f"`{name}`" for name in turned)
            text = f"Within each {side} x {side} tile, your kernel transposes {which}."
            yield Diagnosis("fragments", text, "Do the fragments' layouts fit the arrays?", names=turned, in_all=True)


def _turned(matrix: Doubles, side: int) -> Doubles:
    rows, columns = matrix.shape
    fragments = matrix.reshape(rows // side, side, columns // side, side)
    return fragments.transpose(0, 3, 2, 1).reshape(rows, columns)


def _missing_terms(product: Product, wrong: Mask) -> Diagnosis | None:
    """A sum that stops early, starts late, or leaves out or repeats one tile, in the whole output."""
    length, tile = product.left.shape[1], product.tile
    whole_tiles = length // tile * tile
    for stop, key, text in (
        (whole_tiles, "last_tile", "the last, partial tile is left out"),
        (tile, "first_tile", "only the first tile is added up"),
        (length - 1, "last_term", "the last term is left out"),
    ):
        if stop < length and equal(product, product.left[:, :stop] @ product.right[:stop]):
            kept = f"has only its first {stop} of {length} terms" if stop else "is 0"
            return Diagnosis(key, f"Each sum {kept}: {text}.")
    if length > 1 and equal(product, product.left[:, 1:] @ product.right[1:]):
        return Diagnosis("first_term", "The first term, k = 0, is left out of each sum.")
    return _one_tile(product, length, tile)


def _one_tile(product: Product, length: int, tile: int) -> Diagnosis | None:
    for start in range(0, length, tile):
        part = product.left[:, start : start + tile] @ product.right[start : start + tile]
        span = f"k = {start} to {min(start + tile, length) - 1}"
        if equal(product, product.expected.values - part):
            return Diagnosis("tile_missing", f"One tile is left out of each sum: {span}.")
        if equal(product, product.expected.values + part):
            return Diagnosis("tile_twice", f"One tile is counted twice in each sum: {span}.")
        if length > tile and equal(product, part):
            return Diagnosis(
                "only_one_tile", f"Each sum has one tile only, {span}.", "Does the kernel keep the sum between tiles?"
            )
    return None


def _shifted(product: Product, wrong: Mask) -> Diagnosis | None:
    right, name = product.expected.values, product.names[2]
    for key, actual, shifted, text in (
        ("row_down", product.actual[1:], right[:-1], f"{name}[i][j] has the value of {name}[i-1][j]"),
        ("row_up", product.actual[:-1], right[1:], f"{name}[i][j] has the value of {name}[i+1][j]"),
        ("column_right", product.actual[:, 1:], right[:, :-1], f"{name}[i][j] has the value of {name}[i][j-1]"),
        ("column_left", product.actual[:, :-1], right[:, 1:], f"{name}[i][j] has the value of {name}[i][j+1]"),
    ):
        if actual.size >= 4 and np.array_equal(actual, shifted):
            return Diagnosis(key, f"The result is shifted by one: {text}.")
    return None


def _narrow_format(product: Product, wrong: Mask) -> Diagnosis | None:
    if np.count_nonzero(wrong) < _BY_CHANCE:
        return None
    for name, narrow in _FORMATS:
        for cut in (True, False):
            left, right = narrow(product.left, cut), narrow(product.right, cut)
            values = left @ right
            if _as_narrow(product, values) or _as_narrow(product, narrow(values, cut)):
                return _narrow_text(name)
        if _as_narrow(product, narrow(product.expected.values, False)):
            return _narrow_text(name)
    if product.left.shape[1] <= _LONGEST_SUM:
        for name, narrow in _STEPWISE:
            if any(_as_narrow(product, sums) for sums in _sums(product, narrow)):
                return _narrow_text(name)
    return None


def _as_narrow(product: Product, values: Doubles) -> bool:
    """Whether these values are the output, also where they are too large for the format."""
    large = ~np.isfinite(values)
    if not np.array_equal(product.actual[large], values[large], equal_nan=True):
        return False
    finite = replace(product, actual=np.where(large, 0, product.actual))
    return equal(finite, np.where(large, 0, values))


def _sums(product: Product, narrow: Callable[[Doubles, bool], Doubles]) -> Iterator[Doubles]:
    """The sums if each step rounds: of float products, of narrow products, with fused steps, and on tensor cores."""
    left, right = product.left, product.right
    halves = narrow(left, False), narrow(right, False)

    def of_floats(term: Doubles) -> Doubles:
        return narrow(term.astype(np.float32).astype(np.float64), False)

    def of_halves(term: Doubles) -> Doubles:
        return narrow(term, False)

    def fused(term: Doubles) -> Doubles:
        return term

    for (first, second), of_term in (((left, right), of_floats), (halves, of_halves), (halves, fused)):
        total = np.zeros_like(product.expected.values)
        for k in range(left.shape[1]):
            total = narrow(total + of_term(np.outer(first[:, k], second[k])), False)
        yield total
    for block in _TENSOR_BLOCKS:
        total = np.zeros_like(product.expected.values)
        for k in range(0, left.shape[1], block):
            total = narrow(total + left[:, k : k + block] @ right[k : k + block], False)
        yield total


def _cut_factors(product: Product, wrong: Mask) -> Diagnosis | None:
    """The product of inputs without their fractions. A product of 0 alone proves nothing."""
    bound = rounding(product)
    whole_left, whole_right = np.trunc(product.left), np.trunc(product.right)
    pairs = ((whole_left, product.right), (product.left, whole_right), (whole_left, whole_right))
    for left, right in pairs:
        values = left @ right
        differs = (np.abs(values - product.expected.values) > bound).any()
        if differs and equal(product, values, bound):
            text = "The result matches inputs without their fractions."
            proves = bool(values.any())
            return Diagnosis("cut_factors", text, IS_IT_AN_INT, in_all=True, proves=proves)
    return None


def _narrow_text(name: str) -> Diagnosis:
    text = f"The result matches {name} arithmetic: the numbers were rounded to a narrower format than float."
    return Diagnosis("narrow_format", text)


def _to_bits(values: Doubles, bits: int, cut: bool) -> Doubles:
    """Each value with that number of significant bits, truncated or rounded to nearest even."""
    mantissa, exponent = np.frexp(values)
    scaled = np.ldexp(mantissa, bits)
    rounded: Doubles = np.ldexp(np.trunc(scaled) if cut else np.rint(scaled), exponent - bits)
    return rounded


def _to_half(values: Doubles, cut: bool) -> Doubles:
    return _to_bits(values, 11, cut=True) if cut else values.astype(np.float16).astype(np.float64)


_FORMATS: tuple[tuple[str, Callable[[Doubles, bool], Doubles]], ...] = (
    ("bfloat16", lambda values, cut: _to_bits(values, 8, cut)),
    ("half-precision or TF32", lambda values, cut: _to_bits(values, 11, cut)),
    ("half-precision", _to_half),
)


_STEPWISE = (_FORMATS[0], _FORMATS[2])
"""The formats that a kernel can add in. TF32 is only a format of factors."""

_TENSOR_BLOCKS = (16, 8)
"""So many products are added up before tensor cores round."""

_LONGEST_SUM = 128
"""A longer sum takes too long to repeat step by step."""

_BY_CHANCE = 4
"""Fewer elements than these often agree with a narrow format where the mistake is another."""


RULES: tuple[Callable[[Product, Mask], Diagnosis | None], ...] = (
    never_written,
    not_a_number,
    scaled,
    _missing_terms,
    _shifted,
    _narrow_format,
    _cut_factors,
    all_zero,
    whole_numbers,
    where,
)
