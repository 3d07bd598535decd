"""Compares an output with the expected one and finds the incorrect elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.facts import Element, IncorrectMap
from kernels.judging.inputs import Expected

Matrix = NDArray[Any]
Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]

_POISON_BITS = 0x7FF9DEAD
POISON = np.array([_POISON_BITS], dtype=np.uint32).view(np.float32)[0]
"""The NaN that fills outputs before a run. No arithmetic gives this NaN, so it marks unwritten elements.

Two of them are a NaN of type double.
"""

NEVER_WRITTEN = "never written"
_MOST_CELLS = 32
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-4, 2.0**53


class Output(Protocol):
    """One case's output from the kernel, and the expected output."""

    @property
    def expected(self) -> Expected: ...

    @property
    def actual(self) -> Matrix: ...

    @property
    def tile(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs, then of the output."""

    @property
    def vector(self) -> bool:
        """Whether the output's elements have one index."""


@dataclass(frozen=True, slots=True)
class Product:
    """One case's product from the kernel, with the values that explain it.

    names: the left factor, the right factor and the product
    """

    left: Doubles
    right: Doubles
    expected: Expected
    actual: Matrix
    tile: int
    names: tuple[str, str, str]
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """One case's sums of sections. values: the input, in the order of memory."""

    values: Doubles
    section: int
    expected: Expected
    actual: Matrix
    tile: int
    names: tuple[str, str]
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Transposed:
    """One case's transpose of the matrix `given`."""

    given: Doubles
    expected: Expected
    actual: Matrix
    tile: int
    names: tuple[str, str]
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Solved:
    """One output of a case, with the result of the exercise's own solution.

    name_of: an element by its row and column
    allowed: the tolerance in words; "" for none
    flat: whether its elements have one or two indices
    """

    expected: Expected
    actual: Matrix
    tile: int
    names: tuple[str, ...]
    vector: bool
    name_of: Callable[[int, int], Element]
    allowed: str = ""
    flat: bool = True


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The incorrect elements of one output.

    element: the first incorrect element, row by row, in the course's notation.
    found: its value, or NEVER_WRITTEN; right: its expected value, with the tolerance if there is one
    values: both as numbers; empty if the element was never written or one isn't finite
    places: all of them, for a map
    """

    wrong: int
    elements: int
    element: Element
    found: str
    right: str
    values: tuple[float, ...] = ()
    places: Mask | None = field(default=None, compare=False)


def mismatch(output: Output, wrong: Mask) -> Mismatch | None:
    if not wrong.any():
        return None
    row, column = divmod(int(np.argmax(wrong)), wrong.shape[1])
    found, right = output.actual[row, column], output.expected.values[row, column]
    written = not is_poison(found[np.newaxis])[0]
    element = Element(output.names[-1], (row,) if output.vector else (row, column))
    bound = output.expected.bound[row, column]
    allowed = f" (± {bound:.2g})" if bound else ""
    if isinstance(output, Solved):
        element, allowed = output.name_of(row, column), output.allowed and f" ({output.allowed})"
    return Mismatch(
        wrong=int(wrong.sum()),
        elements=wrong.size,
        element=element,
        found=_number(found, found.dtype) if written else NEVER_WRITTEN,
        right=_number(right, found.dtype) + allowed,
        values=finite(float(found), float(right)) if written else (),
        places=wrong,
    )


def incorrect_map(case: str, name: str, wrong: Mask) -> IncorrectMap:
    """The map of these elements, in at most 32 by 32 cells."""
    wrong = wrong.T if wrong.shape[1] == 1 else wrong
    rows, columns = wrong.shape
    # Powers of two, so that tiles end between cells.
    high, wide = (1 << (-(-size // _MOST_CELLS) - 1).bit_length() for size in (rows, columns))
    edges = np.arange(0, rows, high), np.arange(0, columns, wide)
    found = np.add.reduceat(np.add.reduceat(wrong.astype(np.int64), edges[0], axis=0), edges[1], axis=1)
    sizes = np.outer(np.diff(edges[0], append=rows), np.diff(edges[1], append=columns))
    digits = np.where(found == sizes, 9, np.where(found == 0, 0, 1 + 8 * found // sizes))
    return IncorrectMap(case, name, rows, columns, tuple("".join(map(str, row)) for row in digits.tolist()))


def wrong_elements(actual: Matrix, expected: Expected) -> Mask:
    """The elements that differ from the expected value by more than the case allows."""
    if expected.values.dtype == np.int64:
        # A double doesn't hold all of these.
        differs: Mask = actual != expected.values
        return differs
    with np.errstate(invalid="ignore"):
        near = np.abs(actual.astype(np.float64) - expected.values) <= expected.bound
    # Each comparison with a NaN is false. So ask which elements are near, and return the others.
    right: Mask = near & np.isfinite(actual)
    return ~right


def is_poison(values: Matrix) -> Mask:
    """The elements that still hold POISON, bit for bit."""
    words: NDArray[np.uint32] = (
        np.ascontiguousarray(values).view(np.uint32).reshape(*values.shape, values.itemsize // 4)
    )
    mask: Mask = np.all(words == _POISON_BITS, axis=-1)
    return mask


def with_poison(values: Matrix, unwritten: Mask | None) -> Matrix:
    """Elements of 8 or 16 bits in 32 bits, with POISON for unwritten elements. Fewer bits can hold any number."""
    wide = values.astype(np.float32 if values.dtype.kind == "f" else np.int32)
    if unwritten is not None:
        wide.view(np.uint32)[unwritten] = _POISON_BITS
    return wide


def finite(*values: float) -> tuple[float, ...]:
    """The values; none of them if one isn't finite."""
    return values if np.isfinite(values).all() else ()


def _number(value: Any, kind: np.dtype[Any]) -> str:
    return str(value) if value.dtype == np.int64 else show(float(value), wide=kind == np.float64)


def show(value: float, *, wide: bool = False) -> str:
    """A number in the format of all reports: plain digits, with the fewest decimals that identify the float.

    wide: whether it is a double

    A tiny number has a power of ten. So has a number too large for all its digits to be exact.
    """
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else str(value)
    if value == int(value) and abs(value) <= _LARGEST_PLAIN:
        return str(int(value))
    plain = _SMALLEST_PLAIN <= abs(value) <= _LARGEST_PLAIN
    text = np.format_float_positional if plain else np.format_float_scientific
    return text(np.float64(value) if wide else np.float32(value), trim="-")
