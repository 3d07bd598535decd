"""The phases of the textbook's tiled matrix product, from the shapes of its matrices. No kernel runs.

Each block has a thread for each element of its tile of the product. In each phase, a thread loads one element of both
inputs, and a zero past their edges. The result has the form of a traced kernel's table, but names no lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from kernels.evidence import Accumulation, BlockPhase, Fetch, Phase, PhaseTable
from kernels.exercise import Exercise, Layout, Operand, Operation
from kernels.expression import ExpressionError
from kernels.launch import Launch
from kernels.phases.views import PADDING

MOST_PICTURES = 16
_MOST_ROWS = 16
_LARGEST_TILE = 4
_LONGEST_NAME = 16
_ZEROS = "0 means that an element would be outside its matrix, so the thread stores a zero."


class NoTextbookTableError(ValueError):
    """An exercise or sizes without such a table; the message is the reason."""


def textbook_table(exercise: Exercise, sizes: Mapping[str, int], tile: int) -> PhaseTable:
    """Return the table for a small product. Raises NoTextbookTableError."""
    if exercise.operation is not Operation.MATMUL or any(operand.vector for operand in exercise.operands):
        raise NoTextbookTableError("only an exercise that multiplies two matrices has a table of phases")
    if tile > _LARGEST_TILE:
        raise NoTextbookTableError(f"`tile` is {tile}; the limit is {_LARGEST_TILE}")
    left, right, output = (_matrix(each, exercise.names(tile, sizes)) for each in (*exercise.inputs, exercise.output))
    if (left.columns, output.rows, output.columns) != (right.rows, left.rows, right.columns):
        raise NoTextbookTableError("with these sizes, the matrices can't be multiplied")
    grid, phases = (-(-output.columns // tile), -(-output.rows // tile), 1), -(-left.columns // tile)
    if grid[0] * grid[1] * phases > MOST_PICTURES:
        raise NoTextbookTableError(
            f"{grid[0] * grid[1]} blocks with {phases} phases need {grid[0] * grid[1] * phases} pictures; "
            f"the limit is {MOST_PICTURES}. Use smaller sizes or a larger tile"
        )
    kernel = _TiledProduct(left, right, output, tile)
    blocks = [(x, y, 0) for y in range(grid[1]) for x in range(grid[0])]
    return PhaseTable(
        sizes=dict(sizes),
        tile=tile,
        launch=Launch(grid, (tile, tile, 1), 0),
        matrices={each.name: (each.rows, each.columns) for each in (left, right, output)}
        | {each.cells: (tile, tile) for each in (left, right)},
        phases=tuple(
            Phase(number, tuple(kernel.block_phase(block, number) for block in blocks)) for number in range(phases)
        ),
        note=_ZEROS if kernel.has_edges else "",
    )


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix, and the array in shared memory that holds a tile of it."""

    name: str
    rows: int
    columns: int
    layout: Layout

    @property
    def cells(self) -> str:
        return f"{self.name}ds"

    def has(self, row: int, column: int) -> bool:
        return row < self.rows and column < self.columns

    def element(self, row: int, column: int) -> str:
        return f"{self.name}[{row}][{column}]" if self.has(row, column) else PADDING

    def linear(self, row: int, column: int) -> str:
        if not self.has(row, column):
            return PADDING
        by_row = self.layout is Layout.ROW_MAJOR
        return f"{self.name}[{row * self.columns + column if by_row else column * self.rows + row}]"


def _matrix(operand: Operand, names: Mapping[str, int]) -> _Matrix:
    if len(operand.name) > _LONGEST_NAME:
        raise NoTextbookTableError(
            f"a matrix has a name of {len(operand.name)} characters; the limit is {_LONGEST_NAME}"
        )
    try:
        rows, columns = operand.shape(names)
    except ExpressionError as error:
        raise NoTextbookTableError(f"{operand.name} has no size: {error}") from None
    if not (1 <= rows <= _MOST_ROWS and 1 <= columns <= _MOST_ROWS):
        raise NoTextbookTableError(
            f"{operand.name} would have {rows} x {columns} elements; the limit is {_MOST_ROWS} x {_MOST_ROWS}"
        )
    return _Matrix(operand.name, rows, columns, operand.layout)


@dataclass(frozen=True, slots=True)
class _TiledProduct:
    left: _Matrix
    right: _Matrix
    output: _Matrix
    tile: int

    @property
    def has_edges(self) -> bool:
        """Whether some tiles reach past the edge of a matrix."""
        extents = (self.left.rows, self.left.columns, self.right.columns)
        return any(extent % self.tile for extent in extents)

    def block_phase(self, block: tuple[int, int, int], phase: int) -> BlockPhase:
        first_row, first_column, first = block[1] * self.tile, block[0] * self.tile, phase * self.tile
        threads = [(x, y) for y, x in product(range(self.tile), repeat=2)]
        return BlockPhase(
            block,
            tuple(fetch for x, y in threads for fetch in self._fetches(x, y, first_row, first_column, first)),
            tuple(
                self._accumulation(x, y, first_row + y, first_column + x, first)
                for x, y in threads
                if self.output.has(first_row + y, first_column + x)
            ),
        )

    def _fetches(self, x: int, y: int, first_row: int, first_column: int, first: int) -> Iterator[Fetch]:
        for matrix, row, column in ((self.left, first_row + y, first + x), (self.right, first + y, first_column + x)):
            cell = f"{matrix.cells}[{y}][{x}]"
            yield Fetch((x, y, 0), matrix.element(row, column), matrix.linear(row, column), cell, None)

    def _accumulation(self, x: int, y: int, row: int, column: int, first: int) -> Accumulation:
        steps = range(self.tile)
        left, right = self.left, self.right
        return Accumulation(
            (x, y, 0),
            self.output.element(row, column),
            " + ".join(f"{left.cells}[{y}][{k}]*{right.cells}[{k}][{x}]" for k in steps),
            " + ".join(f"{left.element(row, first + k)}*{right.element(first + k, column)}" for k in steps),
            None,
        )
