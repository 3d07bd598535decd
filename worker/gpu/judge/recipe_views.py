"""Views of a recipe for the judge's kernels: the matrix or its transpose."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.exercise import Layout
from kernels.exercise.values import ElementType
from worker.gpu.judge.recipes import COLUMN_STEP, ROW_STEP, Kind, Lines, Recipe

_NUMBERS = {Kind.WIDE: 0, Kind.NARROW: 1, Kind.MANTISSAS: 2, Kind.SELECTION: 3, Kind.WHOLE: 4}

TYPES = {
    ElementType.HALF: 16,
    ElementType.BFLOAT: 17,
    ElementType.E4M3: 18,
    ElementType.E5M2: 19,
    ElementType.FLOAT: 20,
    ElementType.DOUBLE: 21,
    ElementType.CHAR: 22,
    ElementType.BYTE: 23,
    ElementType.INT: 24,
}
"""The numbers of the types in judge.cu."""


@dataclass(frozen=True, slots=True)
class View:
    """A matrix, or its transpose: `rows` lines of `columns` elements.

    turned: whether it is the transpose of the recipe's matrix
    """

    recipe: Recipe
    turned: bool

    @property
    def kind(self) -> Kind:
        return self.recipe.kind

    @property
    def rows(self) -> int:
        return self.recipe.columns if self.turned else self.recipe.rows

    @property
    def columns(self) -> int:
        return self.recipe.rows if self.turned else self.recipe.columns

    @property
    def flat(self) -> View:
        """The same elements, with a single column as a row, which is faster to scan."""
        return View(self.recipe, not self.turned) if self.columns == 1 else self

    @property
    def typed(self) -> bool:
        """Whether the judge's kernels for other types than float make it."""
        return self.recipe.type is not ElementType.FLOAT

    def arguments(self) -> tuple[int, ...]:
        recipe = self.recipe
        along = (recipe.lines is Lines.ROWS) != self.turned
        number = recipe.group if recipe.kind is Kind.NARROW else recipe.limit
        # for the other kinds: the first special term, and the number of special terms
        start, step = recipe.walk if recipe.kind is Kind.SELECTION else (recipe.phase, recipe.specials)
        steps = _STEPS[::-1] if self.turned else _STEPS
        numbers = signed(recipe.seed), *steps, along, recipe.length, number, signed(start), signed(step)
        if not self.typed:
            return _NUMBERS[recipe.kind], *numbers
        typed = TYPES[recipe.type], recipe.wide >> recipe.more, recipe.more, recipe.digits, recipe.ones
        return _NUMBERS[recipe.kind], *numbers, *typed


def view(recipe: Recipe, *, turned: bool = False) -> View:
    """The matrix itself, or its transpose."""
    return View(recipe, turned)


def memory_view(recipe: Recipe) -> View:
    """The matrix in memory order, line by line."""
    return View(recipe, recipe.layout is Layout.COLUMN_MAJOR).flat


def signed(number: int) -> int:
    """The bits of an unsigned 64-bit number as a signed one, which launches need."""
    return (int(number) + (1 << 63)) % (1 << 64) - (1 << 63)


_STEPS = signed(ROW_STEP), signed(COLUMN_STEP)
