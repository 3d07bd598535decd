"""The counted kernel for theory, checklist and advice, with the figures that they share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernels.compile.diagnostics import Resources
from kernels.counters import Totals
from kernels.evidence import AccessEvidence, Light, LineEvidence, Verb
from kernels.exercise.values import ElementType
from kernels.judging.operand_plan import MatrixPlan
from kernels.launch import Launch
from kernels.occupancy import Occupancy

FLOAT = 4
WARP = 32
SECTOR = 32
_SPARE_SECTORS = 2


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product: `rows` by `depth` times `depth` by `columns`."""

    rows: int
    depth: int
    columns: int

    @property
    def volume(self) -> int:
        return self.rows * self.depth * self.columns

    @property
    def square(self) -> bool:
        return self.rows == self.depth == self.columns


@dataclass(frozen=True, slots=True)
class Subject:
    """One counted kernel.

    product: the matrix product, for the operation "matmul" only
    inputs, outputs: the operands
    barriers: executed by one block; None if not counted
    occupancy, light: on the requested device; None if unknown
    shapes: extents of the source's arrays, as far as they can be read
    early_wait: the line of a wait for copies that no thread needs yet
    """

    operation: str
    tile: int
    launch: Launch
    resources: Resources
    lines: tuple[LineEvidence, ...]
    totals: Totals
    inputs: tuple[MatrixPlan, ...]
    outputs: tuple[MatrixPlan, ...]
    product: Product | None = None
    barriers: float | None = None
    occupancy: Occupancy | None = None
    light: Light | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    early_wait: int | None = None

    @property
    def threads(self) -> int:
        return self.launch.threads * self.launch.blocks

    @property
    def input_elements(self) -> int:
        return sum(operand.rows * operand.columns for operand in self.inputs)

    @property
    def output_elements(self) -> int:
        return sum(operand.rows * operand.columns for operand in self.outputs)

    @property
    def element_bytes(self) -> float:
        """Of the inputs, on average."""
        return sum(operand.bytes for operand in self.inputs) / max(1, self.input_elements) or FLOAT

    @property
    def elements_read(self) -> float:
        """Elements that threads requested from global memory, of the inputs' average size."""
        return self.totals.read_bytes / self.element_bytes

    @property
    def of_floats(self) -> bool:
        """Whether the course's formulas and next steps hold. They are for elements of 4 bytes, and threads that add."""
        return all(operand.type is ElementType.FLOAT for operand in self.inputs)

    @property
    def shared_bytes(self) -> int:
        return self.resources.shared_bytes + self.launch.shared

    @property
    def shares(self) -> bool:
        """Whether threads exchange data through shared memory, or use there what bulk copies bring."""
        filled = self.totals.shared_store_requests + self.totals.bulk_load_requests
        used = self.totals.shared_load_requests + self.totals.product_bytes
        return filled > 0 and used > 0

    @property
    def elected(self) -> tuple[LineEvidence, ...]:
        """Lines that one thread of a warp executes for all. Such a thread issues bulk copies, and waits for them."""
        if not self.totals.bulk_load_requests + self.totals.bulk_store_requests + self.totals.cluster_copies:
            return ()
        return tuple(line for line in self.lines if 0 < line.warp_instructions == line.thread_instructions)

    @property
    def active_share(self) -> float:
        """The share of a warp's threads that are active in an instruction, apart from the elected ones."""
        alone = sum(line.warp_instructions for line in self.elected)
        warps, threads = self.totals.warp_instructions - alone, self.totals.thread_instructions - alone
        return threads / (WARP * warps) if warps > 0 else self.totals.warp_efficiency

    def accesses(self, space: str, *verbs: Verb) -> Iterator[tuple[LineEvidence, AccessEvidence]]:
        for line in self.lines:
            for access in line.accesses:
                if access.space == space and (not verbs or access.verb in verbs):
                    yield line, access

    def wasted_sectors(self, access: AccessEvidence) -> int:
        """Sectors that an access moves only because it isn't coalesced.

        One more sector at each end of a row's piece is not wasted. Rows that begin in the middle of a sector need it.
        So does a broadcast from two rows.
        """
        ideal, moved = access.ideal_sectors, access.sectors
        spare = _SPARE_SECTORS * access.requests
        # A piece of a misaligned row may touch twice as many sectors.
        if self.misaligned:
            spare = max(spare, ideal)
        return moved - ideal if moved - ideal > max(spare, ideal // 2) else 0

    @property
    def misaligned(self) -> bool:
        """Whether rows of an operand begin in the middle of sectors."""
        return any(each.row_length * each.type.bytes % SECTOR for each in (*self.inputs, *self.outputs))

    @property
    def has_edges(self) -> bool:
        """Whether the last blocks reach past the output, so some of their threads have no work."""
        if self.product is None:
            return self.threads > self.output_elements > self.launch.blocks
        rows, columns = block_tile(self)
        return bool(self.product.rows % rows or self.product.columns % columns)

    @property
    def of_tensor_cores(self) -> bool:
        """Whether tensor cores do most of the operations."""
        return 2 * self.totals.tensor_flops > self.totals.flops

    def busiest_line(self, space: str, verb: Verb) -> int | None:
        return line_of_most([(line.line, access.requests) for line, access in self.accesses(space, verb)])

    @property
    def reading_line(self) -> int | None:
        """The line that reads most of global memory."""
        reads = self.accesses("global", Verb.LOAD, Verb.BULK_LOAD)
        return line_of_most([(line.line, access.sectors) for line, access in reads])

    def milliseconds(self, resource: str) -> float:
        """The time that a resource needs at the speed of light; 0 if it isn't modelled."""
        times = self.light.resources if self.light is not None else ()
        return next((each.milliseconds for each in times if each.resource == resource), 0.0)


def product_of(inputs: Sequence[MatrixPlan]) -> Product | None:
    """The product of two matrices; None if the inputs aren't two matrices that fit."""
    if len(inputs) != 2 or inputs[0].columns != inputs[1].rows:
        return None
    left, right = inputs
    return Product(left.rows, left.columns, right.columns)


def line_of_most(amounts: Sequence[tuple[int, float]]) -> int | None:
    """The line with the largest sum; None if all are 0."""
    sums: dict[int, float] = {}
    for line, amount in amounts:
        sums[line] = sums.get(line, 0) + amount
    best = max(sums, key=lambda line: sums[line], default=None)
    return best if best is not None and sums[best] > 0 else None


def block_tile(subject: Subject) -> tuple[int, int]:
    """Rows and columns of the output that one block computes, as far as the launch shows.

    A grid along both axes shows the shape. One line of blocks as wide as a tile shows it too. If the blocks of a line
    come out narrower, they are only numbered along that line. Their number is then known, but not their shape. Each
    block's part of the output then counts as a square, as in the course.
    """
    product = subject.product
    assert product is not None, "only a product has a tile of its output"
    across, down, _ = subject.launch.grid
    rows, columns = math.ceil(product.rows / down), math.ceil(product.columns / across)
    tile = subject.tile
    numbered = (down == 1 < across and product.rows > tile and columns < tile) or (
        across == 1 < down and product.columns > tile and rows < tile
    )
    if not numbered and subject.launch.grid[2] == 1:
        return _rounded(rows, tile), _rounded(columns, tile)
    each = max(1, round(math.sqrt(subject.output_elements / subject.launch.blocks)))
    return _rounded(each, tile), _rounded(each, tile)


def _rounded(extent: int, tile: int) -> int:
    """The extent, rounded up to a multiple of the tile if a partial last block made it slightly smaller."""
    multiple = math.ceil(extent / tile) * tile
    return multiple if multiple - extent < max(1, multiple // 2) else extent
