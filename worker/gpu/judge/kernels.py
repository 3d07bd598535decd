"""Launches the judge's own kernels (judge.cu) and reads their counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.exercise.values import ElementType
from kernels.launch import Launch
from worker.gpu.backend import Argument, Backend, Code, Kernel, Memory
from worker.gpu.judge.recipe_views import TYPES, View, signed
from worker.gpu.judge.recipes import Kind

_TYPED = ("make_matrix", "compare_matrix", "compare_selection", "compare_product", "multiply_random", "multiply_vector")
"""These have a second version for other types than float."""

ENTRIES = (*_TYPED, *(f"{entry}_typed" for entry in _TYPED), "compare_words", "compare_memory", "compare_sums")

GUARD = 0x7FF5_A5A5
"""The content of guard zones: a NaN that differs from the outputs' NaN."""

# As in judge.cu.
_THREADS, _STRIP = 256, 1024
_SLOTS = 32
_WORDS = 4


@dataclass(frozen=True, slots=True)
class Count:
    """The number of differing places, and the first place; 0 if there is none."""

    count: int
    first: int


_NONE = Count(0, 0)


class JudgeKernels:
    """The judge's kernels. Each comparison has its own counter, so that all are read at once.

    A judged kernel may find the memory of counts and vectors. So they are set each time after it has ended.
    """

    def __init__(self, backend: Backend, code: Code) -> None:
        self._backend = backend
        self._code = code
        self._loaded: dict[str, Kernel] = {}
        self._counters: Memory | None = None
        self._vectors: Memory | None = None
        self._used = 0

    def forget(self) -> None:
        """Forget the memory, because it was released."""
        self._counters = self._vectors = None

    def load_again(self) -> None:
        """Forget what was loaded, because the device was reset."""
        self._loaded.clear()
        self.forget()

    def start(self) -> None:
        self._used = 0
        self._counters = self._counters or self._backend.take(_SLOTS * _WORDS)
        self._backend.fill(self._counters, 0)

    def counts(self) -> tuple[Count, ...]:
        assert self._counters is not None
        words = self._backend.read(self._counters)
        if not words.any():
            # nearly always, and the device waits for the answer
            return (_NONE,) * self._used
        pairs = np.ascontiguousarray(words).view(np.uint64).reshape(-1, 2)[: self._used]
        # The kernels keep the largest complement, so that both numbers start at 0.
        return tuple(Count(int(count), (~int(last)) % (1 << 64) if count else 0) for count, last in pairs)

    def make(self, matrix: View, memory: Memory) -> None:
        arguments: tuple[Argument, ...] = (memory, *_shape(matrix), *matrix.arguments())
        self._launch(_entry("make_matrix", matrix), _tiles(matrix, matrix), arguments)

    def compare(self, matrix: View, memory: Memory) -> int:
        """Compare memory with a matrix, bit for bit. Returns the number of the count."""
        slot, counter = self._slot()
        arguments: tuple[Argument, ...] = (memory, counter, *_shape(matrix), *matrix.arguments())
        self._launch(_entry("compare_matrix", matrix), _tiles(matrix, matrix), arguments)
        return slot

    def compare_words(self, zones: tuple[Memory, Memory], word: int) -> tuple[int, int]:
        """Compare every word of two zones of equal size. Returns the numbers of their counts."""
        before, behind = zones
        (first, counter), (second, _) = self._slot(), self._slot()
        grid = -(-before.words // _STRIP), 2, 1
        self._launch("compare_words", grid, (before, behind, counter, before.words, word))
        return first, second

    def compare_memory(
        self, memory: Memory, expected: Memory, elements: int, kind: ElementType, tolerance: tuple[float, float] | None
    ) -> int:
        """Compare memory with other memory. Returns the number of the count.

        tolerance: for floats, absolute and relative; None to compare bit for bit
        """
        slot, counter = self._slot()
        how = kind.bytes if tolerance is None else TYPES[kind]
        absolute, relative = tolerance or (0.0, 0.0)
        self._launch(
            "compare_memory",
            (-(-elements // _STRIP), 1, 1),
            (memory, expected, counter, elements, how, absolute, relative),
        )
        return slot

    def compare_selection(self, left: View, right: View, memory: Memory, kind: ElementType) -> int:
        """Compare memory with a product in which one factor has one element per line. Returns the count's number.

        kind: of the product's elements
        """
        slot, counter = self._slot()
        chosen, dense = (left, right) if left.kind is Kind.SELECTION else (right, left)
        shape = left.rows, right.columns, *_type(kind, left)
        arguments: tuple[Argument, ...] = (memory, counter, *shape, *chosen.arguments(), *dense.arguments())
        self._launch(_entry("compare_selection", left), _tiles(left, right), arguments)
        return slot

    def compare_sums(self, view: View, section: int, memory: Memory, shape: tuple[int, int], *, turned: bool) -> int:
        """Compare memory with the sums of sections. Returns the number of the count.

        shape: of the output
        turned: the output is in column-major order
        """
        slot, counter = self._slot()
        rows, columns = shape
        self._launch(
            "compare_sums",
            (rows * columns, 1, 1),
            (memory, counter, section, rows, columns, turned, *_shape(view), *view.arguments()),
        )
        return slot

    def compare_product(self, left: View, right: View, memory: Memory, kind: ElementType, vector: int) -> int:
        """Compare a product's lines, each times a random vector. Returns the number of the count of lines.

        kind: of the product's elements
        """
        slot, counter = self._slot()
        inner, outer = self._scratch(right.rows, left.rows)
        vector = signed(vector)
        lines = _lines(right)
        self._launch(_entry("multiply_random", right), lines, (inner, vector, *_shape(right), *right.arguments()))
        lines = _lines(left)
        self._launch(_entry("multiply_vector", left), lines, (outer, inner, *_shape(left), *left.arguments()))
        arguments: tuple[Argument, ...] = (memory, outer, counter, vector, left.rows, right.columns)
        self._launch(_entry("compare_product", left), lines, (*arguments, *_type(kind, left)))
        return slot

    def _slot(self) -> tuple[int, Memory]:
        assert self._counters is not None, "call `start` first"
        slot = self._used
        if slot == _SLOTS:
            raise ValueError(f"at most {_SLOTS} comparisons at once")
        self._used += 1
        start = 4 * _WORDS * slot
        return slot, Memory(self._counters.place + start, self._counters.words - start // 4)

    def _scratch(self, inner: int, outer: int) -> tuple[Memory, Memory]:
        words = 2 * (inner + outer)
        if self._vectors is None or self._vectors.words < words:
            self._vectors = self._backend.take(words)
        first = self._vectors.place
        return Memory(first, 2 * inner), Memory(first + 8 * inner, 2 * outer)

    def _launch(self, entry: str, grid: tuple[int, int, int], arguments: tuple[Argument, ...]) -> None:
        if entry not in self._loaded:
            self._loaded[entry] = self._backend.load(self._code, entry)
        self._backend.launch(self._loaded[entry], Launch(grid, (_THREADS, 1, 1), 0), arguments)


def _entry(name: str, matrix: View) -> str:
    return f"{name}_typed" if matrix.typed else name


def _type(kind: ElementType, factor: View) -> tuple[int, ...]:
    """The argument for the type of a product, which only kernels for other types than float have."""
    return (TYPES[kind],) if factor.typed else ()


def _shape(matrix: View) -> tuple[int, int]:
    return matrix.rows, matrix.columns


def _tiles(rows: View, columns: View) -> tuple[int, int, int]:
    """The blocks for all elements of a matrix, or of a product of two."""
    return _lines(rows)[0], -(-columns.columns // _STRIP), 1


def _lines(matrix: View) -> tuple[int, int, int]:
    """The blocks for whole rows."""
    height = 1 if matrix.typed else 4
    return -(-matrix.rows // height), 1, 1
