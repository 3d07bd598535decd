"""Verifies a launch on the device, in a time proportional to the size of the matrices.

A product of integers is checked by Freivalds' method: C r against A (B r), in integers that wrap at 2**64. The vector r
is drawn after the launch. The judge's kernels compute both inputs again. Of the memory that the judged kernel could
reach, they read only the output. An incorrect row of integers passes with a chance below 2**-36. All other outputs are
compared element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernels.exercise import Layout, Operation
from kernels.judging.compare import POISON, is_poison
from kernels.judging.element_bits import DTYPES, numbers
from kernels.judging.inputs import Matrix, factors, output_of
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan
from worker.gpu.backend import Backend, Code, Memory
from worker.gpu.judge.kernels import GUARD, Count, JudgeKernels
from worker.gpu.judge.recipe_views import View, memory_view, view
from worker.gpu.judge.recipes import Kind, Recipe, elements
from worker.gpu.operands import POISON_WORD

__all__ = ["GUARD", "Damage", "Judge", "Verified", "Wrong"]

# Most incorrect rows are incorrect from their start, and computing a column takes a while.
_COLUMNS_AT_FIRST, _COLUMNS_AT_ONCE = 8, 128

Tolerated = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Damage:
    """Memory that a kernel changed and should not have.

    count: number of changed words
    row, column: of the first changed element of a matrix. In a guard zone, row is -1 before the memory or 1 after it;
        column is the distance.
    """

    count: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """An incorrect output with its first incorrect element.

    count: number of incorrect elements
    unwritten: the element still has the outputs' initial NaN
    lines: count is the number of rows (columns in column-major order). Products of integers have only this number.
    """

    count: int
    element: tuple[int, int]
    found: float
    right: float
    unwritten: bool = False
    lines: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """The mistakes of one launch; empty if it was correct.

    changed, hurt: overwritten inputs and guard zones, by the matrix's name
    """

    wrong: Wrong | None = None
    changed: Mapping[str, Damage] = field(default_factory=dict)
    hurt: Mapping[str, Damage] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.wrong is None and not self.changed and not self.hurt


class Judge:
    """The judge's kernels on one device. Its data there is written again for each answer."""

    def __init__(self, backend: Backend, code: Code) -> None:
        self._backend = backend
        self._kernels = JudgeKernels(backend, code)

    def release(self) -> None:
        """Release all memory of the backend and of the judge. Call it instead of `Backend.release`."""
        self._backend.release()
        self._kernels.forget()

    def reset(self) -> None:
        """Reset the backend, so that the next kernel finds a new device and the judge's own code."""
        self._backend.reset()
        self._kernels.load_again()

    def make(self, recipe: Recipe, memory: Memory) -> None:
        """Write a matrix to memory, without waiting."""
        if recipe.rows * recipe.columns * recipe.type.bytes % 4:
            self._backend.fill(Memory(memory.place + 4 * (memory.words - 1), 1), POISON_WORD)
        self._kernels.make(memory_view(recipe), memory)

    def fill_guards(self, memory: Memory) -> None:
        """Fill the zones around guarded memory, without waiting."""
        for zone in self._backend.guards(memory):
            self._backend.fill(zone, GUARD)

    def changed(self, recipe: Recipe, memory: Memory) -> Damage | None:
        self._kernels.start()
        slot = self._kernels.compare(memory_view(recipe), memory)
        return _damage(recipe, self._kernels.counts()[slot])

    def guards_hurt(self, guarded: Sequence[tuple[MatrixPlan, Memory]]) -> list[tuple[MatrixPlan, Damage]]:
        """The matrices with damage in the zones around them, with a single wait for the device."""
        self._kernels.start()
        slots = [self._compare_guards(memory) for _, memory in guarded]
        counts = self._kernels.counts()
        found = [
            (matrix, _hurt(counts, at, memory, self._backend) or self._rest_hurt(matrix, memory))
            for at, (matrix, memory) in zip(slots, guarded, strict=True)
        ]
        return [(matrix, damage) for matrix, damage in found if damage is not None]

    def _rest_hurt(self, matrix: MatrixPlan, memory: Memory) -> Damage | None:
        """The damage in the bytes between a matrix and its guard zone."""
        inside = matrix.bytes % 4
        if not inside:
            return None
        last = self._read(memory, matrix.words - 1, 1).view(np.uint8)
        changed = last[inside:] != np.array([POISON]).view(np.uint8)[inside:]
        return Damage(1, 1, 0) if changed.any() else None

    def wrong(self, case: CasePlan, recipes: Mapping[str, Recipe], out: Memory, vector: int) -> Wrong | None:
        """The incorrect elements of an output for these inputs, or None. Outputs must be exact; -0 equals 0.

        vector: 63 random bits, read after the kernel ran
        """
        self._kernels.start()
        slot = self._compare_output(case, recipes, out, vector)
        return None if slot is None else self._wrong(case, recipes, out, self._kernels.counts()[slot])

    def differences(
        self, pairs: Sequence[tuple[MatrixPlan, Memory, Memory]], tolerances: Sequence[Tolerated | None]
    ) -> list[Count]:
        """Compare each found matrix with the expected one, with a single wait for the device.

        pairs: a matrix, the memory to check, and the memory with the correct elements
        tolerances: for floats, absolute and relative; None to compare bit for bit
        """
        self._kernels.start()
        slots = [
            self._kernels.compare_memory(found, expected, matrix.elements, matrix.type, tolerance)
            for (matrix, found, expected), tolerance in zip(pairs, tolerances, strict=True)
        ]
        counts = self._kernels.counts()
        return [counts[slot] for slot in slots]

    def element(self, matrix: MatrixPlan, memory: Memory, place: int) -> float:
        return float(self._elements(matrix, memory, place, 1)[0])

    def wrong_at(self, matrix: MatrixPlan, memory: Memory, expected: Memory, count: Count) -> Wrong:
        """The first incorrect element of a matrix that differs from the expected memory."""
        found = self._elements(matrix, memory, count.first, 1)
        right = self.element(matrix, expected, count.first)
        return _told(matrix, count, element_at(matrix, count.first), found, right)

    def verify(
        self,
        case: CasePlan,
        recipes: Mapping[str, Recipe],
        memories: Mapping[str, Memory],
        vector: int,
        *,
        guarded: Collection[str] | None = None,
    ) -> Callable[[], Verified]:
        """Start to verify output, inputs and guard zones. The answer waits for the device, once.

        memories: of all matrices of the case, by name
        guarded: names of matrices with guard zones; None for all
        """
        self._kernels.start()
        output = output_of(case) if case.operation is not Operation.ANALYSIS else None
        slot = self._compare_output(case, recipes, memories[output.name], vector) if output else None
        inputs = {n: self._kernels.compare(memory_view(r), memories[n]) for n, r in recipes.items()}
        zones = {name: self._compare_guards(memories[name]) for name in (memories if guarded is None else guarded)}
        matrices = {matrix.name: matrix for matrix in case.matrices}

        def verified() -> Verified:
            counts = self._kernels.counts()
            changed = {name: _damage(recipes[name], counts[at]) for name, at in inputs.items()}
            hurt = {
                name: _hurt(counts, at, memories[name], self._backend)
                or self._rest_hurt(matrices[name], memories[name])
                for name, at in zones.items()
            }
            wrong = None
            if output is not None and slot is not None:
                wrong = self._wrong(case, recipes, memories[output.name], counts[slot])
            return Verified(wrong, _there(changed), _there(hurt))

        return verified

    def _compare_guards(self, memory: Memory) -> tuple[int, int]:
        return self._kernels.compare_words(self._backend.guards(memory), GUARD)

    def _compare_output(self, case: CasePlan, recipes: Mapping[str, Recipe], out: Memory, vector: int) -> int | None:
        match case.operation:
            case Operation.ANALYSIS:
                return None
            case Operation.MATMUL:
                left, right = _oriented(case, recipes)
                kind = output_of(case).type
                if Kind.SELECTION in (left.kind, right.kind):
                    return self._kernels.compare_selection(left, right, out, kind)
                return self._kernels.compare_product(left, right, out, kind, vector)
            case Operation.TRANSPOSE:
                (given,) = recipes.values()
                turned = output_of(case).layout is not Layout.COLUMN_MAJOR
                return self._kernels.compare(view(given, turned=turned).flat, out)
            case _:
                (given,) = recipes.values()
                output = output_of(case)
                turned = output.layout is Layout.COLUMN_MAJOR
                return self._kernels.compare_sums(
                    view(given), case.section, out, (output.rows, output.columns), turned=turned
                )

    def _wrong(self, case: CasePlan, recipes: Mapping[str, Recipe], out: Memory, count: Count) -> Wrong | None:
        """The first difference, from the recipes and only this part of the output."""
        if not count.count:
            return None
        output = output_of(case)
        if case.operation is Operation.MATMUL and not any(recipe.kind is Kind.SELECTION for recipe in recipes.values()):
            return self._wrong_in_line(case, recipes, out, count)
        if case.operation is Operation.SUM:
            row, column = divmod(count.first, output.columns)
            place = count.first if output.layout is Layout.ROW_MAJOR else column * output.rows + row
        else:
            place = count.first
            row, column = element_at(output, place)
        found = self._elements(output, out, place, 1)
        return _told(output, count, (row, column), found, _right(case, recipes, row, column))

    def _wrong_in_line(self, case: CasePlan, recipes: Mapping[str, Recipe], out: Memory, count: Count) -> Wrong:
        """The first incorrect element of a product's line in memory."""
        output, length = output_of(case), output_of(case).row_length
        found = self._elements(output, out, count.first * length, length)
        start, columns = 0, _COLUMNS_AT_FIRST
        while start < length:
            part = found[start : start + columns].astype(np.float64)
            right = _right_part(case, recipes, count.first, start, part.size)
            differs = ~(part == right)
            if differs.any():
                at = int(np.argmax(differs))
                element = element_at(output, count.first * length + start + at)
                first = found[start + at : start + at + 1]
                return replace(_told(output, count, element, first, float(right[at])), lines=True)
            start, columns = start + columns, min(2 * columns, _COLUMNS_AT_ONCE)
        raise RuntimeError("the judge's kernels and the host disagree about a product")

    def _elements(self, matrix: MatrixPlan, memory: Memory, place: int, count: int) -> Matrix:
        """Some elements in the order of memory, as numbers of their type."""
        size = matrix.type.bytes
        first, inside = divmod(place * size, 4)
        words = self._read(memory, first, -(-(inside + count * size) // 4))
        return numbers(words.view(DTYPES[matrix.type])[inside // size :][:count], matrix.type)

    def _read(self, memory: Memory, start: int, words: int) -> Matrix:
        read = self._backend.read(Memory(memory.place + 4 * start, words))
        found: Matrix = np.ascontiguousarray(read).view(np.float32)
        return found


def _oriented(case: CasePlan, recipes: Mapping[str, Recipe]) -> tuple[View, View]:
    """The factors whose product is the output in memory, which is the transpose if it is column-major."""
    left, right = (recipes[matrix.name] for matrix in factors(case))
    if output_of(case).layout is Layout.ROW_MAJOR:
        return view(left), view(right)
    return view(right, turned=True), view(left, turned=True)


def _right(case: CasePlan, recipes: Mapping[str, Recipe], row: int, column: int) -> float:
    if case.operation is Operation.MATMUL:
        left, right = (recipes[matrix.name] for matrix in factors(case))
        terms = np.arange(left.columns)
        a, b = elements(left, np.array([row]), terms), elements(right, terms, np.array([column]))
        return float(a.astype(np.float64) @ b.astype(np.float64))
    (given,) = recipes.values()
    if case.operation is Operation.TRANSPOSE:
        return float(elements(given, np.array([column]), np.array([row]))[0])
    start = (row * output_of(case).columns + column) * case.section
    flat = np.arange(start, min(start + case.section, given.rows * given.columns))
    return float(elements(given, flat // given.columns, flat % given.columns).astype(np.float64).sum())


def _right_part(
    case: CasePlan, recipes: Mapping[str, Recipe], line: int, start: int, words: int
) -> np.typing.NDArray[np.float64]:
    """Some elements of one line of a product in memory."""
    left, right = (recipes[matrix.name] for matrix in factors(case))
    terms, wanted, one = np.arange(left.columns), np.arange(start, start + words), np.array([line])
    if output_of(case).layout is Layout.ROW_MAJOR:
        a = elements(left, one, terms)
        b = elements(right, terms[:, np.newaxis], wanted[np.newaxis, :])
    else:
        a = elements(right, terms, one)
        b = elements(left, wanted[np.newaxis, :], terms[:, np.newaxis])
    product: np.typing.NDArray[np.float64] = a.astype(np.float64) @ b.astype(np.float64)
    return product


def element_at(matrix: MatrixPlan | Recipe, place: int) -> tuple[int, int]:
    """Row and column of a place in memory."""
    if matrix.layout is Layout.ROW_MAJOR:
        row, column = divmod(place, matrix.columns)
    else:
        column, row = divmod(place, matrix.rows)
    return row, column


def _told(matrix: MatrixPlan, count: Count, element: tuple[int, int], found: Matrix, right: float) -> Wrong:
    """The finding of an incorrect element.

    found: an array with its number in the output
    """
    # Any number of 8 or 16 bits may be a result.
    unwritten = matrix.type.bytes >= 4 and bool(is_poison(found)[0])
    return Wrong(count.count, element, float(found[0]), right, unwritten)


def _damage(recipe: Recipe, count: Count) -> Damage | None:
    return Damage(count.count, *element_at(recipe, count.first)) if count.count else None


def _hurt(counts: tuple[Count, ...], slots: tuple[int, int], memory: Memory, backend: Backend) -> Damage | None:
    """The damage in the two guard zones. Before the memory, only the furthest word is known."""
    before, behind = (counts[slot] for slot in slots)
    if not before.count and not behind.count:
        return None
    if behind.count:
        return Damage(before.count + behind.count, 1, behind.first)
    return Damage(before.count, -1, backend.guards(memory)[0].words - 1 - before.first)


def _there(damages: Mapping[str, Damage | None]) -> dict[str, Damage]:
    return {name: damage for name, damage in damages.items() if damage is not None}
