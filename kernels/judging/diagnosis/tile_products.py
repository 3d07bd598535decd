"""Products of tiles with incorrect indices: a tile that is transposed, or another thread's row or column.

A thread (ty, tx) adds up M[ty][k] * N[k][tx] over the cells of two tiles. Each of the four indices may be another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as pairs

import numpy as np

from kernels.judging.compare import Doubles, Product, wrong_elements
from kernels.judging.diagnosis.outputs import Diagnosis
from kernels.judging.inputs import Expected

_LEFT = (("ty", "k"), ("k", "ty"), ("tx", "k"), ("k", "tx"))
_RIGHT = (("k", "tx"), ("tx", "k"), ("k", "ty"), ("ty", "k"))
"""The row and column of the cell that a thread uses, the correct one first."""


def tile_products(product: Product) -> Iterator[Diagnosis]:
    """The incorrect indices that give the whole output."""
    if product.tile < 2:
        return
    left, right = _tiles(product.left, product.tile), _tiles(product.right, product.tile)
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


def _tiles(matrix: Doubles, tile: int) -> Doubles:
    """The tiles by their row and column. Cells outside the matrix are 0."""
    rows, columns = (-(-size // tile) for size in matrix.shape)
    padded = np.zeros((rows * tile, columns * tile), dtype=np.float32)
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
        total = np.zeros((right.shape[1], tile, tile), dtype=np.float32)
        for phase, k in pairs(range(left.shape[1]), range(tile)):
            total += left[row, phase, k] * right[phase, :, k]
        values = total.swapaxes(0, 1).reshape(tile, -1)[: height - row * tile, :width].astype(np.float64)
        rows = slice(row * tile, row * tile + tile)
        expected = Expected(values, bound[rows])
        if wrong_elements(product.actual[rows], expected).any():
            return False
    return True


def rounding(product: Product) -> Doubles:
    """How far sums of these numbers may be from their exact values, whatever terms they have.

    The expected sums' own bound is smaller where their terms are.
    """
    if not product.expected.bound.any():
        return product.expected.bound
    terms = max(*product.left.shape, *product.right.shape)
    largest = float(np.abs(product.left).max() * np.abs(product.right).max())
    return np.full_like(product.expected.bound, terms**2 * 2.0**-23 * largest)
