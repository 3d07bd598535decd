"""An exercise: what is to be computed, how a kernel is launched and on which cases it is judged.

An exercise is a folder with `exercise.toml`, `handout.md`, `starter.cu` and `solution.cu`; `docs/exercises.md`
describes every field. `kernels.exercise` finds and reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kernels.expression import Expression
from kernels.launch import LaunchRule
from kernels.verdict import Severity

# Part of every digest. Raise it when the judge changes so that an old verdict or measurement might come out
# otherwise.
JUDGE_VERSION = 2

# A source is compiled anew wherever its size macros differ, and each compilation is part of every student's wait.
MOST_COMPILATIONS = 6

# Real values are judged against a componentwise bound, which tells TF32 from float32 only for short dot
# products.
LONGEST_REAL_DOT_PRODUCT = 32


class Role(StrEnum):
    """What a kernel does with an operand."""

    INPUT = "input"
    OUTPUT = "output"


class Layout(StrEnum):
    """In which order a matrix lies in memory."""

    ROW_MAJOR = "row_major"
    COLUMN_MAJOR = "column_major"


class Binding(StrEnum):
    """How a kernel reaches an operand: through a parameter, or as a `__device__` global of its file."""

    PARAMETER = "parameter"
    GLOBAL = "global"


class Operation(StrEnum):
    """What is computed."""

    MATMUL = "matmul"  # the output is the product of the first input and the second
    SUM = "sum"  # each element of the output is the sum of one section of the input
    TRANSPOSE = "transpose"  # the output is the input, its rows made columns
    ANALYSIS = "analysis"  # nothing is compared: the kernel has to run without a finding


class InputKind(StrEnum):
    """What the inputs of a case look like, and so what the case can expose."""

    INTEGERS_LEFT = "integers_left"  # wide integers in the left operand, -1 and 1 in the right
    INTEGERS_RIGHT = "integers_right"
    PERMUTATION = "permutation"  # full mantissas times a signed, scaled permutation
    REAL = "real"  # real values against a componentwise bound, at short dot products only
    INTEGERS = "integers"  # whole numbers, none of them 0, whose sums are exact in any order
    MANTISSAS = "mantissas"  # numbers that no format narrower than float holds

    @classmethod
    def of(cls, operation: Operation) -> tuple[InputKind, ...]:
        """The kinds that make sense for an operation, the plainest first."""
        return _KINDS[operation]


_KINDS: Mapping[Operation, tuple[InputKind, ...]] = {
    Operation.MATMUL: (
        InputKind.INTEGERS_LEFT,
        InputKind.INTEGERS_RIGHT,
        InputKind.PERMUTATION,
        InputKind.REAL,
    ),
    Operation.SUM: (InputKind.INTEGERS,),
    Operation.TRANSPOSE: (InputKind.MANTISSAS,),
    Operation.ANALYSIS: (InputKind.INTEGERS, InputKind.MANTISSAS),
}


class Metric(StrEnum):
    """What a measurement is ranked by."""

    GFLOPS = "gflops"
    GBPS = "gbps"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Operand:
    """One array that the kernel reads or writes, `rows` by `cols`.

    vector: whether it is a row of elements with one index; `cols` is 1 then
    symbol: the name of the kernel's parameter or of the file's global that holds it
    """

    name: str
    role: Role
    rows: Expression
    cols: Expression
    layout: Layout
    binding: Binding
    symbol: str
    vector: bool = False

    @property
    def declaration(self) -> str:
        """What a file has to declare where it holds this operand as a global."""
        extents = (self.rows,) if self.vector else (self.rows, self.cols)
        ordered = extents if self.layout is Layout.ROW_MAJOR else extents[::-1]
        return f"__device__ float {self.symbol}{''.join(f'[{extent.text}]' for extent in ordered)};"

    def shape(self, names: Mapping[str, int]) -> tuple[int, int]:
        """Rows and columns, for these sizes, macros and tile."""
        return self.rows.evaluate(names), self.cols.evaluate(names)


@dataclass(frozen=True, slots=True)
class Constant:
    """A module variable of the file (`__constant__ int` or `__device__ int`) that is set before each launch."""

    symbol: str
    value: Expression

    @property
    def declaration(self) -> str:
        """What a file has to declare."""
        return f"__constant__ int {self.symbol};"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel: a pointer to an operand, or a size. Exactly one of the two is set."""

    ctype: str
    name: str
    operand: str | None
    size: str | None


@dataclass(frozen=True, slots=True)
class CaseRule:
    """Sizes as expressions of the tile and the macros, and the kinds of input to try at them."""

    sizes: Mapping[str, Expression]
    inputs: tuple[InputKind, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a kernel; `on_cpu` is False where the sizes are too large for the CPU device."""

    name: str
    sizes: Mapping[str, int]
    inputs: InputKind
    on_cpu: bool


@dataclass(frozen=True, slots=True)
class AnalysisRule:
    """Where a kernel is looked at closely: its sizes, and the tile, None for the one of the job."""

    sizes: Mapping[str, int]
    tile: int | None


@dataclass(frozen=True, slots=True)
class GoalRule:
    """What is asked of the counts beside a right result: that a counter stays at or below a number.

    counter: one of kernels.counters.COUNTERS
    """

    text: str
    counter: str
    at_most: Expression | float


@dataclass(frozen=True, slots=True)
class Exercise:
    """A whole exercise, as its `exercise.toml` describes it.

    folder: where its other files lie; None for one that came as a text
    size_macros: macros that a submission is compiled with, as expressions of the sizes of the case
    macros: macros that a submission is given unless it declares them itself, as it is given the tile
    largest_macros: the largest value of each that a submission may declare for itself
    constants: module variables that a submission has and that are set before each launch
    section: elements that one sum is made of, for the operation SUM; None where they are shared out equally
    tiles: the values that `--tile` may take; `tile` is the default
    largest_tile: the largest tile that a submission may declare for itself
    largest_on_cpu: a case with a larger size than this is left to a GPU
    analysis: where accesses are counted; None for the largest case that the CPU device runs
    phases: the small run that the table of phases is made from, if there is to be one
    digest: changes whenever something changes that a verdict or a measurement depends on
    """

    name: str
    title: str
    folder: Path | None
    kernel: str
    parameters: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    size_macros: Mapping[str, Expression]
    macros: Mapping[str, int]
    largest_macros: Mapping[str, int]
    constants: tuple[Constant, ...]
    operands: tuple[Operand, ...]
    operation: Operation
    section: Expression | None
    tile_name: str
    tile: int
    tiles: tuple[int, ...]
    largest_tile: int
    launch: LaunchRule
    case_rules: tuple[CaseRule, ...]
    largest_on_cpu: int
    ranking: Mapping[str, int]
    metric: Metric
    fmad: bool
    warp_races: Severity
    analysis: AnalysisRule | None
    phases: AnalysisRule | None
    goals: tuple[GoalRule, ...]
    digest: str

    @property
    def root(self) -> Path:
        """Its folder; raises ValueError for one that came as a text."""
        if self.folder is None:
            raise ValueError(f"{self.name}: this exercise came as a text, so it has no files")
        return self.folder

    @property
    def handout(self) -> Path:
        return self.root / "handout.md"

    @property
    def starter(self) -> Path:
        return self.root / "starter.cu"

    @property
    def solution(self) -> Path:
        return self.root / "solution.cu"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that are read, in the order of the operation: left, right."""
        return tuple(operand for operand in self.operands if operand.role is Role.INPUT)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The operands that are written; exactly one where something is compared."""
        return tuple(operand for operand in self.operands if operand.role is Role.OUTPUT)

    @property
    def output(self) -> Operand:
        """The operand that is written, where there is one."""
        return self.outputs[0]

    @property
    def plain_inputs(self) -> InputKind:
        """The kind of input for a run that is not there to expose anything."""
        return InputKind.of(self.operation)[0]

    def operand(self, name: str) -> Operand:
        return next(operand for operand in self.operands if operand.name == name)

    def names(
        self, tile: int, sizes: Mapping[str, int], own: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """What the names in expressions stand for; sizes win over macros, and the tile over both.

        own: values that a submission gives to macros itself
        """
        return {**self.macros, **(own or {}), **self.defines(sizes), **sizes, self.tile_name: tile}

    def dot_product_length(self, names: Mapping[str, int]) -> int:
        """How many products are summed for one element of a matmul's output."""
        return self.inputs[0].cols.evaluate(names)

    def section_length(self, names: Mapping[str, int]) -> int:
        """How many elements of a SUM's input are summed for one element of its output; the last may have fewer."""
        if self.section is not None:
            return self.section.evaluate(names)
        (rows, columns), (sums, more) = self.inputs[0].shape(names), self.output.shape(names)
        return -(-rows * columns // (sums * more))

    def defines(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The macros that carry sizes into the source; empty where sizes are parameters."""
        return {name: expression.evaluate(sizes) for name, expression in self.size_macros.items()}

    def cases(self, tile: int, own: Mapping[str, int] | None = None) -> tuple[Case, ...]:
        """The cases for a kernel with that tile and those macros of its own, then the ranking size.

        Sizes are built around the tile. A rule whose size comes out below 1 gives no case (tile - 1 at tile 1), a
        dot product that is too long for real values gives none of that kind, and equal cases are given once.
        """
        cases = dict.fromkeys(_Key(tuple(sizes.items()), kind) for sizes, kind in self._ruled(tile, own))
        cases[_Key(tuple(self.ranking.items()), self.plain_inputs)] = None
        return tuple(self._case(key) for key in cases)

    def analysis_sizes(self, tile: int, own: Mapping[str, int] | None = None) -> dict[str, int]:
        if self.analysis is not None:
            return dict(self.analysis.sizes)
        largest = self.ranking
        for case in self.cases(tile, own):
            if case.on_cpu and (largest is self.ranking or _total(case.sizes) > _total(largest)):
                largest = case.sizes
        return dict(largest)

    def _ruled(self, tile: int, own: Mapping[str, int] | None) -> Iterator[tuple[dict[str, int], InputKind]]:
        """Sizes and kind of each case that the rules give, repeats included."""
        given = {**self.macros, **(own or {}), self.tile_name: tile}
        for rule in self.case_rules:
            sizes = {name: value.evaluate(given) for name, value in rule.sizes.items()}
            if min(sizes.values()) < 1:
                continue
            for kind in rule.inputs:
                if kind is not InputKind.REAL or not self._too_long(tile, sizes, own):
                    yield sizes, kind

    def _too_long(self, tile: int, sizes: Mapping[str, int], own: Mapping[str, int] | None) -> bool:
        return self.dot_product_length(self.names(tile, sizes, own)) > LONGEST_REAL_DOT_PRODUCT

    def _case(self, key: _Key) -> Case:
        sizes = dict(key.sizes)
        name = " ".join([*(f"{name}={value}" for name, value in sizes.items()), key.inputs.value])
        return Case(name, sizes, key.inputs, on_cpu=max(sizes.values()) <= self.largest_on_cpu)


def _total(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two cases the same."""

    sizes: tuple[tuple[str, int], ...]
    inputs: InputKind
