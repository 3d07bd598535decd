"""An exercise: the task, the launch of a kernel, and the cases that grade it.

An exercise is a folder with `exercise.toml`, `handout.md`, `starter.cu` and `solution.cu`. `docs/exercises.md`
describes every field. `kernels.exercise` finds and reads exercises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kernels.exercise.tensor_map import TensorMap, rows_apart
from kernels.exercise.values import EXACT, UNSAID, ElementType, Tolerance, Values, WorkRule
from kernels.expression import Expression
from kernels.launch import SHARED_BYTES, LaunchRule
from kernels.verdict import Severity

# Part of every digest. Raise it when the judge changes so that a verdict or measurement may change.
JUDGE_VERSION = 5

# Each combination of size macros needs its own compilation, and every student waits for all of them.
MOST_COMPILATIONS = 6

BOUND = "bound="
"""The word in a case's name that says how far results may be from the solution's."""

# Real values are checked with a componentwise bound, which only separates TF32 from float32 for short dot products.
LONGEST_REAL_DOT_PRODUCT = 32


class Role(StrEnum):
    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"  # it has values before the launch, and results after it
    SCRATCH = "scratch"  # it only passes values on: unset at first, and never compared


class Layout(StrEnum):
    """The order of a matrix in memory."""

    ROW_MAJOR = "row_major"
    COLUMN_MAJOR = "column_major"


class Binding(StrEnum):
    """How a kernel reaches an operand: through a parameter, or as a module variable of its file."""

    PARAMETER = "parameter"
    GLOBAL = "global"  # `__device__`; an input may also be `__constant__`
    CONSTANT = "constant"  # `__constant__`

    @property
    def is_variable(self) -> bool:
        return self is not Binding.PARAMETER

    @property
    def space(self) -> str:
        """The memory that a declaration names."""
        return "__constant__" if self is Binding.CONSTANT else "__device__"


FIXED, ANY = "fixed", "any"
"""Whether the elements of a result have fixed places. Another order is the name of the output that has it."""


class Operation(StrEnum):
    """What the kernel computes."""

    MATMUL = "matmul"  # the output is the product of the first input and the second
    SUM = "sum"  # each element of the output is the sum of one section of the input
    TRANSPOSE = "transpose"  # the output is the transposed input
    SOLUTION = "solution"  # whatever the exercise's own solution computes from the same inputs
    ANALYSIS = "analysis"  # nothing is compared: the kernel must run without a finding


class InputKind(StrEnum):
    """The pattern of a case's inputs, which decides what the case can expose."""

    INTEGERS_LEFT = "integers_left"  # wide integers in the left operand, -1 and 1 in the right
    INTEGERS_RIGHT = "integers_right"
    PERMUTATION = "permutation"  # full mantissas times a signed, scaled permutation
    REAL = "real"  # real values against a componentwise bound, at short dot products only
    INTEGERS = "integers"  # whole numbers, none of them 0, whose sums are exact in any order
    MANTISSAS = "mantissas"  # numbers that no format narrower than float holds
    RANDOM = "random"  # what each operand declares as its values
    EQUAL = "equal"  # the same, but all elements of an operand are equal
    ASCENDING = "ascending"  # the same in ascending order
    DESCENDING = "descending"
    TIES = "ties"  # the same, but an operand has at most four different elements

    @classmethod
    def of(cls, operation: Operation) -> tuple[InputKind, ...]:
        """Return the kinds that suit an operation, the plainest first."""
        return _KINDS[operation]


_KINDS: Mapping[Operation, tuple[InputKind, ...]] = {
    Operation.MATMUL: (InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT, InputKind.PERMUTATION, InputKind.REAL),
    Operation.SUM: (InputKind.INTEGERS,),
    Operation.TRANSPOSE: (InputKind.MANTISSAS,),
    Operation.SOLUTION: (InputKind.RANDOM, InputKind.EQUAL, InputKind.ASCENDING, InputKind.DESCENDING, InputKind.TIES),
    Operation.ANALYSIS: (InputKind.INTEGERS, InputKind.MANTISSAS),
}


class Metric(StrEnum):
    """The figure that ranks measurements."""

    GFLOPS = "gflops"
    GBPS = "gbps"
    ELEMENTS = "elements"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Operand:
    """One array that the kernel reads or writes, `rows` by `cols`, or `planes` of that size.

    vector: whether it has one index; `cols` is then 1
    planes: for three indices; otherwise None
    values: before the launch, for the operation SOLUTION
    order: of its results, for the operation SOLUTION: FIXED, ANY, or the name of the output whose order they have
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
    planes: Expression | None = None
    type: ElementType = ElementType.FLOAT
    values: Values | None = None
    order: str = FIXED

    @property
    def is_packed_variable(self) -> bool:
        """Whether it is a module variable in which several elements share a word."""
        return self.binding.is_variable and self.type.bytes < 4

    @property
    def declaration(self) -> str:
        """The declaration that a file needs if this operand is a module variable."""
        extents = (self.rows,) if self.vector else (self.rows, self.cols)
        ordered = extents if self.layout is Layout.ROW_MAJOR else extents[::-1]
        ordered = ordered if self.planes is None else (self.planes, *ordered)
        shape = "".join(f"[{extent.text}]" for extent in ordered)
        return f"{self.binding.space} {self.type.spellings[0]} {self.symbol}{shape};"

    def shape(self, names: Mapping[str, int]) -> tuple[int, int]:
        """Return rows (of all planes) and columns for these sizes, macros and tile."""
        planes = 1 if self.planes is None else self.planes.evaluate(names)
        return planes * self.rows.evaluate(names), self.cols.evaluate(names)

    def extents(self, names: Mapping[str, int]) -> tuple[int, ...]:
        """Return the extent in each dimension, the contiguous one first."""
        rows, columns = self.rows.evaluate(names), self.cols.evaluate(names)
        if self.vector:
            return (rows,)
        plane = (columns, rows) if self.layout is Layout.ROW_MAJOR else (rows, columns)
        return plane if self.planes is None else (*plane, self.planes.evaluate(names))


@dataclass(frozen=True, slots=True)
class Constant:
    """A module variable of the file (`__constant__ int` or `__device__ int`) that is set before each launch."""

    symbol: str
    value: Expression

    @property
    def declaration(self) -> str:
        return f"__constant__ int {self.symbol};"


@dataclass(frozen=True, slots=True)
class MapRule:
    """A tensor map of an operand. box, extents: the contiguous dimension first.

    extents: of the tensor; none for the operand's own
    interleave: as in TensorMap
    """

    operand: str
    box: tuple[Expression, ...]
    swizzle: Expression
    nan: bool = False
    extents: tuple[Expression, ...] = ()
    interleave: int = 0

    def resolve(self, operand: Operand, names: Mapping[str, int]) -> TensorMap:
        """The tensor map for these sizes, macros and tile.

        raise (ExpressionError): an expression has no value
        """
        extents = tuple(extent.evaluate(names) for extent in self.extents) or operand.extents(names)
        return TensorMap(
            operand=self.operand,
            type=operand.type,
            extents=extents,
            strides=rows_apart(extents, self.interleave or operand.type.bytes),
            box=tuple(side.evaluate(names) for side in self.box),
            swizzle=self.swizzle.evaluate(names),
            nan=self.nan,
            interleave=self.interleave,
        )


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel: a pointer to an operand, a size, another number, or a tensor map.

    Exactly one is set.
    """

    ctype: str
    name: str
    operand: str | None
    size: str | None
    value: Expression | float | None = None
    map: MapRule | None = None


class Launched(Protocol):
    """A kernel that a file must define, and its launch."""

    @property
    def kernel(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def launch(self) -> LaunchRule: ...


@dataclass(frozen=True, slots=True)
class FurtherLaunch:
    """A launch after the exercise's first one, of the same kernel or of another one. Memory keeps its contents."""

    kernel: str
    parameters: tuple[Parameter, ...]
    launch: LaunchRule


@dataclass(frozen=True, slots=True)
class CaseRule:
    """Sizes as expressions of the tile and the macros, and the kinds of input to try with them."""

    sizes: Mapping[str, Expression]
    inputs: tuple[InputKind, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a kernel. `on_cpu` is False if the sizes are too large for the CPU device."""

    name: str
    sizes: Mapping[str, int]
    inputs: InputKind
    on_cpu: bool


@dataclass(frozen=True, slots=True)
class AnalysisRule:
    """The sizes and the tile of an analysis. The tile is None for the job's tile."""

    sizes: Mapping[str, int]
    tile: int | None


@dataclass(frozen=True, slots=True)
class GoalRule:
    """A goal: a counter stays at or below a number. counter: one of kernels.counters.COUNTERS."""

    text: str
    counter: str
    at_most: Expression | float


@dataclass(frozen=True, slots=True)
class Exercise:
    """A whole exercise, from its `exercise.toml`.

    folder: the folder of its other files; None if it came as a text
    size_macros: macros with which a submission is compiled, as expressions of the case's sizes
    macros: macros that a submission gets unless it declares them itself; the tile works alike
    largest_macros: the largest value of each that a submission may declare
    constants: module variables of a submission that are set before each launch
    section: elements per sum, for the operation SUM; None if they are shared equally
    tiles: the values that `--tile` may have; `tile` is the default
    largest_tile: the largest tile that a submission may declare
    largest_on_cpu: a case with a larger size only runs on a GPU
    curve: whether other sizes than the ranking's are measured too
    largest_shared: bytes of shared memory that a block may have
    max_registers: the most registers a thread may have; None leaves them to the compiler
    analysis: the sizes at which accesses are counted; None for the largest case on the CPU device
    phases: the small run for the table of phases, if the exercise has one
    digest: changes with everything that a verdict or a measurement depends on
    tolerance: of the operation SOLUTION; 0 for exact results
    work: what one launch computes and moves, for the operation SOLUTION
    solution_text: for the operation SOLUTION, whose results are compared with it; "" if it isn't known here
    then: the launches after the first, for the operation SOLUTION
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
    curve: bool = True
    max_registers: int | None = None
    largest_shared: int = SHARED_BYTES
    tolerance: Tolerance = EXACT
    work: WorkRule = UNSAID
    solution_text: str = ""
    then: tuple[FurtherLaunch, ...] = ()

    @property
    def launches(self) -> tuple[Launched, ...]:
        """All launches of a case, in their order."""
        return (self, *self.then)

    @property
    def kernels(self) -> dict[str, Launched]:
        found: dict[str, Launched] = {}
        for launch in self.launches:
            found.setdefault(launch.kernel, launch)
        return found

    @property
    def root(self) -> Path:
        """Its folder. Raises ValueError for an exercise that came as a text."""
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
        """The operands that have results; exactly one if a result is compared."""
        return tuple(operand for operand in self.operands if operand.role in {Role.OUTPUT, Role.INOUT})

    @property
    def output(self) -> Operand:
        """The operand that is written, if there is one."""
        return self.outputs[0]

    @property
    def plain_inputs(self) -> InputKind:
        """The kind of input for a run that needn't expose anything."""
        return InputKind.of(self.operation)[0]

    def sorted_by(self, operand: Operand) -> tuple[str, ...]:
        """The outputs by which an output's results are sorted before they are compared; none for fixed places.

        Outputs in the order of another one make rows with it. Each is sorted by the columns before it, too. So if all
        columns are correct, the rows are.
        """
        if operand.order in {FIXED, ANY}:
            return (operand.name,) if operand.order == ANY else ()
        before = self.operands[: self.operands.index(operand)]
        return (operand.order, *(each.name for each in before if each.order == operand.order), operand.name)

    def operand(self, name: str) -> Operand:
        return next(operand for operand in self.operands if operand.name == name)

    def names(self, tile: int, sizes: Mapping[str, int], own: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return the values of names in expressions. Sizes win over macros, and the tile over both.

        own: values that a submission gives to macros itself
        """
        return {**self.macros, **(own or {}), **self.defines(sizes), **sizes, self.tile_name: tile}

    def dot_product_length(self, names: Mapping[str, int]) -> int:
        """Return how many products are summed for one element of a matmul's output."""
        return self.inputs[0].cols.evaluate(names)

    def section_length(self, names: Mapping[str, int]) -> int:
        """Return how many elements of a SUM's input give one element of its output; the last may have fewer."""
        if self.section is not None:
            return self.section.evaluate(names)
        (rows, columns), (sums, more) = self.inputs[0].shape(names), self.output.shape(names)
        return -(-rows * columns // (sums * more))

    @property
    def macro_names(self) -> frozenset[str]:
        """The macros with which a submission is compiled: the tile, and those of the exercise and of sizes."""
        return frozenset({self.tile_name, *self.macros, *self.size_macros})

    def defines(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the macros that carry sizes into the source; none if sizes are parameters."""
        return {name: expression.evaluate(sizes) for name, expression in self.size_macros.items()}

    def cases(self, tile: int, own: Mapping[str, int] | None = None) -> tuple[Case, ...]:
        """Return the cases for a kernel with that tile and its own macros, then the ranking size.

        Sizes depend on the tile. A rule gives no case if a size is below 1, such as tile - 1 at tile 1. A dot product
        that is too long for real values gives no case of that kind. Equal cases are returned once.
        """
        cases = dict.fromkeys((tuple(sizes.items()), kind) for sizes, kind in self._ruled(tile, own))
        cases[tuple(self.ranking.items()), self.plain_inputs] = None
        return tuple(self.case(dict(sizes), kind) for sizes, kind in cases)

    def analysis_sizes(self, tile: int, own: Mapping[str, int] | None = None) -> dict[str, int]:
        if self.analysis is not None:
            return dict(self.analysis.sizes)
        largest = self.ranking
        for case in self.cases(tile, own):
            if case.on_cpu and (largest is self.ranking or _total(case.sizes) > _total(largest)):
                largest = case.sizes
        return dict(largest)

    def _ruled(self, tile: int, own: Mapping[str, int] | None) -> Iterator[tuple[dict[str, int], InputKind]]:
        """Yield sizes and kind of each case that the rules give, including repeats."""
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

    def case(self, sizes: Mapping[str, int], inputs: InputKind) -> Case:
        """Return one run at these sizes."""
        words = [f"{name}={value}" for name, value in sizes.items()]
        if self.tolerance.text:
            words.append(f"{BOUND}{self.tolerance.text}")
        name = " ".join([*words, inputs.value])
        return Case(name, sizes, inputs, on_cpu=max(sizes.values()) <= self.largest_on_cpu)


def _total(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())
