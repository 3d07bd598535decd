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
JUDGE_VERSION = 1

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


class InputKind(StrEnum):
    """What the inputs of a case look like, and so what the case can expose."""

    INTEGERS_LEFT = "integers_left"  # wide integers in the left operand, -1, 0, 1 in the right
    INTEGERS_RIGHT = "integers_right"
    PERMUTATION = "permutation"  # full mantissas times a signed, scaled permutation
    REAL = "real"  # real values against a componentwise bound, at short dot products only


class Metric(StrEnum):
    """What a measurement is ranked by."""

    GFLOPS = "gflops"
    GBPS = "gbps"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Operand:
    """One array that the kernel reads or writes, `rows` by `cols`.

    symbol: the name of the kernel's parameter or of the file's global that holds it
    """

    name: str
    role: Role
    rows: Expression
    cols: Expression
    layout: Layout
    binding: Binding
    symbol: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel: a pointer to an operand, or a size. Exactly one of the two is set."""

    ctype: str
    name: str
    operand: str | None
    size: str | None


@dataclass(frozen=True, slots=True)
class CaseRule:
    """Sizes as expressions of the tile, and the kinds of input to try at them."""

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
class Exercise:
    """A whole exercise, as its folder describes it.

    size_macros: macros that a submission is compiled with, as expressions of the sizes of the case
    tiles: the values that `--tile` may take; `tile` is the default
    largest_tile: the largest tile that a submission may declare for itself
    largest_on_cpu: a case with a larger size than this is left to a GPU
    digest: changes whenever something changes that a verdict or a measurement depends on
    """

    name: str
    title: str
    root: Path
    kernel: str
    parameters: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    size_macros: Mapping[str, Expression]
    operands: tuple[Operand, ...]
    operation: Operation
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
    digest: str

    @property
    def handout(self) -> Path:
        """The text for students."""
        return self.root / "handout.md"

    @property
    def starter(self) -> Path:
        """The file a student starts from."""
        return self.root / "starter.cu"

    @property
    def solution(self) -> Path:
        """A right kernel."""
        return self.root / "solution.cu"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that are read, in the order of the operation: left, right."""
        return tuple(operand for operand in self.operands if operand.role is Role.INPUT)

    @property
    def output(self) -> Operand:
        """The operand that is written."""
        return next(operand for operand in self.operands if operand.role is Role.OUTPUT)

    def operand(self, name: str) -> Operand:
        """The operand of that name."""
        return next(operand for operand in self.operands if operand.name == name)

    def dot_product_length(self, sizes: Mapping[str, int]) -> int:
        """How many products are summed for one element of the output."""
        return self.inputs[0].cols.evaluate(sizes)

    def defines(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The macros that carry sizes into the source; empty where sizes are parameters."""
        return {name: expression.evaluate(sizes) for name, expression in self.size_macros.items()}

    def cases(self, tile: int) -> tuple[Case, ...]:
        """The cases for a kernel with that tile, then the ranking size.

        Sizes are built around the tile. A rule whose size comes out below 1 gives no case (tile - 1 at tile 1), a
        dot product that is too long for real values gives none of that kind, and equal cases are given once.
        """
        cases = dict.fromkeys(_Key(tuple(sizes.items()), kind) for sizes, kind in self._ruled(tile))
        cases[_Key(tuple(self.ranking.items()), InputKind.INTEGERS_LEFT)] = None
        return tuple(self._case(key) for key in cases)

    def _ruled(self, tile: int) -> Iterator[tuple[dict[str, int], InputKind]]:
        """Sizes and kind of each case that the rules give, repeats included."""
        for rule in self.case_rules:
            sizes = {name: value.evaluate({self.tile_name: tile}) for name, value in rule.sizes.items()}
            if min(sizes.values()) < 1:
                continue
            for kind in rule.inputs:
                too_long = self.dot_product_length(sizes) > LONGEST_REAL_DOT_PRODUCT
                if kind is not InputKind.REAL or not too_long:
                    yield sizes, kind

    def _case(self, key: _Key) -> Case:
        sizes = dict(key.sizes)
        name = " ".join([*(f"{name}={value}" for name, value in sizes.items()), key.inputs.value])
        return Case(name, sizes, key.inputs, on_cpu=max(sizes.values()) <= self.largest_on_cpu)


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two cases the same."""

    sizes: tuple[tuple[str, int], ...]
    inputs: InputKind
