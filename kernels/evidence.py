"""The counts of a kernel, per source line and in total, and their meaning in the course's terms.

Every number has a basis. Counted: by the CPU device, exact for its model. Modelled: from counts and a device's limits.
Measured: on a GPU. The code that fills these classes bounds their sizes. They are plain data, so a command that prints
a report loads no numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kernels.counters import HALF_WORK, Totals
from kernels.launch import Launch

SECTORS_A_CYCLE = 2
INSTRUCTIONS_A_CYCLE = 4
SHARED_BYTES_A_CYCLE = 128
TENSOR_WORK_A_CYCLE = HALF_WORK * 2 * 2048
"""Rough costs on one multiprocessor. They only put lines in order."""


_COUNTS = ("requests", "unique_bytes", "sectors", "ideal_sectors", "wavefronts", "conflicts")


class Verb(StrEnum):
    """The kind of an access. A bulk copy loads into shared memory, or stores from there, as the copy engine does."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    BULK_LOAD = "bulk load"
    BULK_STORE = "bulk store"

    @property
    def bulk(self) -> bool:
        return self in {Verb.BULK_LOAD, Verb.BULK_STORE}


class Basis(StrEnum):
    """The origin of a number."""

    MEASURED = "measured"
    COUNTED = "counted"
    MODELLED = "modelled"


@dataclass(frozen=True, slots=True)
class AccessEvidence:
    """All accesses of one source line to one variable, of one verb, as the hardware executes them.

    name: the variable, "" if unknown
    width: bytes per thread of the widest access; of a bulk copy, its mean bytes
    requests: accesses of warps; bulk copies, of which one to several blocks is one
    ideal_sectors: the fewest sectors that could hold the requested bytes.
    ptx_requests to ptx_conflicts: counts before the assembler merged accesses
    note: why the two differ, or another remark; "" for none
    repeats: bulk copies to the place of the same thread's copy before
    """

    space: str
    verb: Verb
    name: str
    width: int
    requests: int
    threads: int
    bytes: int
    unique_bytes: int
    sectors: int
    ideal_sectors: int
    segments: int
    wavefronts: int
    conflicts: int
    ptx_requests: int
    ptx_sectors: int
    ptx_wavefronts: int
    ptx_conflicts: int
    note: str = ""
    repeats: int = 0

    @property
    def sectors_per_request(self) -> float:
        """4 is ideal for 32 threads that read 4 bytes each, 32 the worst."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """The share of moved bytes that threads requested, each byte once; 1 is ideal."""
        return self.unique_bytes / (32 * self.sectors) if self.sectors else 0.0

    @property
    def ideal_per_request(self) -> float:
        """The fewest sectors of a request."""
        return self.ideal_sectors / self.requests if self.requests else 0.0

    @property
    def wavefronts_per_request(self) -> float:
        """1 without bank conflicts (for accesses of 4 bytes)."""
        return self.wavefronts / self.requests if self.requests else 0.0

    @property
    def ways(self) -> float:
        """The passes, as a multiple of those without bank conflicts."""
        ideal = self.wavefronts - self.conflicts
        return self.wavefronts / ideal if ideal else 1.0


@dataclass(frozen=True, slots=True)
class BranchEvidence:
    """The conditional branches of one source line, counted in the PTX.

    warps: warps that reached a branch; divergent: warps that split there
    intervals: (warps, divergent) for the first 64 intervals between barriers
    predicated: whether the assembler made no branch, so the hardware disables threads instead
    """

    warps: int
    divergent: int
    intervals: tuple[tuple[int, int], ...]
    predicated: bool = False


@dataclass(frozen=True, slots=True)
class LineEvidence:
    """One source line. tensor_flops to product_bytes: as in the totals."""

    line: int
    thread_instructions: int
    warp_instructions: int
    flops: int
    accesses: tuple[AccessEvidence, ...] = ()
    branches: BranchEvidence | None = None
    tensor_flops: int = 0
    tensor_work: int = 0
    tensor_instructions: int = 0
    product_bytes: int = 0

    @property
    def cost(self) -> float:
        """A rough number of a multiprocessor's cycles: instructions, sectors of memory, passes over shared memory."""
        moved = sum(access.sectors / SECTORS_A_CYCLE + access.wavefronts for access in self.accesses)
        products = max(self.tensor_work / TENSOR_WORK_A_CYCLE, self.product_bytes / SHARED_BYTES_A_CYCLE)
        return self.warp_instructions / INSTRUCTIONS_A_CYCLE + moved + products

    @property
    def worst_ways(self) -> float:
        """The largest `ways` of the accesses to shared memory that ran."""
        return max((each.ways for each in self.accesses if each.space == "shared" and each.requests), default=1.0)

    def together(self, *spaces: str) -> AccessEvidence | None:
        """The sums of the accesses; of bulk copies only if there is nothing else."""
        ran = [access for access in self.accesses if access.space in spaces and access.requests]
        ran = [access for access in ran if not access.verb.bulk] or ran
        if not ran:
            return None
        return replace(ran[0], **{name: sum(getattr(access, name) for access in ran) for name in _COUNTS})


@dataclass(frozen=True, slots=True)
class Extent:
    """The counted launch, and how much of it ran.

    blocks_run: of `launch.blocks`; fewer if blocks are alike and the rest was scaled
    exact: whether the totals are exact for the whole launch; `note` says why they are an estimate
    """

    sizes: Mapping[str, int]
    tile: int
    launch: Launch
    blocks_run: int
    exact: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class TheoryRow:
    """One formula of the course with the count.

    key: such as "tiled_load_requests"
    formula: as the course writes it; `expected` is its value for this run
    counted: None if nothing of the kind was counted
    departs: (counted - expected) / expected; 0 if both agree
    line: the line that causes most of the difference
    """

    key: str
    title: str
    formula: str
    expected: float
    counted: float | None
    unit: str
    departs: float = 0.0
    line: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ResourceTime:
    """The time that one resource of the device needs alone."""

    resource: str
    title: str
    milliseconds: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Light:
    """Speed of light: a lower bound of the time on a named device. Always modelled."""

    device: str
    sizes: Mapping[str, int]
    resources: tuple[ResourceTime, ...]
    limit: str
    milliseconds: float
    gflops: float
    basis: Basis = Basis.MODELLED


class State(StrEnum):
    """Whether a kernel has an optimisation."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    NOT_NEEDED = "not_needed"


@dataclass(frozen=True, slots=True)
class ChecklistRow:
    """One row of the course's checklist of optimisations.

    evidence: a sentence with this run's numbers
    cores, memory: the course's benefit to compute cores and to memory
    gain: the speedup of the modelled bound; None if the model can't tell
    share: the number behind the state, 0 to 1; None if the state has no such number
    """

    key: str
    title: str
    state: State
    evidence: str
    cores: str
    memory: str
    advice: str = ""
    gain: float | None = None
    line: int | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """One suggestion; the most promising comes first.

    goal: the sentences on a missed goal that the text begins with; "" for none
    """

    text: str
    line: int | None = None
    goal: str = ""


@dataclass(frozen=True, slots=True)
class GoalResult:
    """A limit that the exercise sets on a counter, in addition to a correct result.

    text: the goal in the course's words; counted, at_most: the counter's value and limit
    """

    text: str
    counter: str
    counted: float
    at_most: float
    met: bool

    @property
    def missed(self) -> str:
        counted, most = (
            f"{value:,.0f}" if value == int(value) else f"{value:,.2f}" for value in (self.counted, self.at_most)
        )
        return f"Goal not met: {self.text}. Counted {counted}{self.unit}. The limit is {most}{self.unit}."

    @property
    def unit(self) -> str:
        """The words after both numbers."""
        return " bytes" if self.counter.endswith("_bytes") else ""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A thread loads an element of global memory into a cell of shared memory."""

    thread: tuple[int, int, int]
    element: str
    linear: str
    cell: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A thread's sum in one phase, such as `Mds[0][0]*Nds[0][0] + ...`, written with cells and with elements."""

    thread: tuple[int, int, int]
    target: str
    cells: str
    elements: str
    line: int | None


@dataclass(frozen=True, slots=True)
class BlockPhase:
    """The work of one block in one phase."""

    block: tuple[int, int, int]
    fetches: tuple[Fetch, ...]
    accumulations: tuple[Accumulation, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """The work between two loads of new tiles."""

    number: int
    blocks: tuple[BlockPhase, ...]


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """The phases of a small run of the kernel.

    matrices: (rows, columns) of operands and shared arrays by name, for the pictures
    note: what is missing, or why there is no table
    """

    sizes: Mapping[str, int]
    tile: int
    launch: Launch
    matrices: Mapping[str, tuple[int, int]]
    phases: tuple[Phase, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of shared memory that asynchronous copies fill with tiles of one operand, one after the other.

    number: among the stages of the operand
    array, first, last: the array, and the first and the last byte in it
    """

    operand: str
    number: int
    array: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Fill:
    """A tile that is copied to a stage: rows and columns of the operand, first and last of each.

    stage: its place in `StageTable.stages`
    phase: the phase that uses it
    line: of the copies
    """

    stage: int
    phase: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    line: int | None


@dataclass(frozen=True, slots=True)
class StagePhase:
    """The moment at which a phase begins to use its tiles.

    lines: that read the tiles
    held: for each stage, the place of its last fill in `StageTable.fills`; None if there was none yet
    """

    number: int
    lines: tuple[int, ...]
    held: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class StageTable:
    """The stages of a pipeline in a small run of the kernel: what the first block copies ahead, and when it uses it.

    matrices: (rows, columns) of the operands by name
    note: what is missing
    early_wait: the line of a wait in a loop that finds the next tiles in place, and waits for those of later phases
    """

    sizes: Mapping[str, int]
    tile: int
    launch: Launch
    matrices: Mapping[str, tuple[int, int]]
    stages: tuple[Stage, ...]
    fills: tuple[Fill, ...]
    phases: tuple[StagePhase, ...]
    note: str = ""
    early_wait: int | None = None


PTX_ONLY = (
    "The machine code of this kernel can't be read, so counts are from the PTX. "
    "The hardware may join neighbouring accesses and make fewer requests."
)
"""A note of evidence without machine code."""


MOST_LINES = 2_000
"""The most lines of PTX or machine code for readers. A browser takes seconds to show more."""

LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of the PTX or of the machine code.

    line: of the source, counted from 1; None if unknown
    """

    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The results of an analysis; empty if the kernel wasn't analysed.

    sass: the machine code, cut at a limit; empty if it can't be read
    """

    extent: Extent | None = None
    lines: tuple[LineEvidence, ...] = ()
    totals: Totals = field(default_factory=Totals)
    theory: tuple[TheoryRow, ...] = ()
    light: tuple[Light, ...] = ()
    checklist: tuple[ChecklistRow, ...] = ()
    advice: tuple[Advice, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    phases: PhaseTable | None = None
    stages: StageTable | None = None
    notes: tuple[str, ...] = field(default=())
    sass: tuple[CodeLine, ...] = ()


def costliest_line(evidence: Evidence) -> int | None:
    return max(evidence.lines, key=lambda line: line.cost).line if evidence.lines else None
