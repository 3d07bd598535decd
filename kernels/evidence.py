"""What a kernel did, per source line and in sum, and what that means in the course's terms.

Every number says what it is: counted (by the CPU device, exact for its model), modelled (from counts and a device's
limits) or measured (on a GPU). Sizes are bounded by whoever fills these in. Plain data: reports hold it, and the
command that prints one loads no numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernels.counters import Totals
from kernels.launch import Launch


class Verb(StrEnum):
    """What an access does."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class Basis(StrEnum):
    """Where a number comes from."""

    MEASURED = "measured"
    COUNTED = "counted"
    MODELLED = "modelled"


@dataclass(frozen=True, slots=True)
class AccessEvidence:
    """All accesses of one source line to one variable, of one verb, as the hardware executes them.

    name: the variable, "" where unknown
    width: bytes per thread of the widest access
    ideal_sectors: the fewest sectors that could have held what each request asked for
    ptx_requests, ptx_wavefronts, ptx_conflicts, ptx_sectors: before the assembler merged neighbouring accesses
    note: why the two differ, or what is special here; "" where there is nothing to say
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

    @property
    def sectors_per_request(self) -> float:
        """4 is ideal for 32 threads that read 4 bytes each, 32 the worst."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """Distinct bytes asked for, of the bytes that the sectors moved; 1 is ideal."""
        return self.unique_bytes / (32 * self.sectors) if self.sectors else 0.0

    @property
    def wavefronts_per_request(self) -> float:
        """1 where there is no bank conflict (for accesses of 4 bytes)."""
        return self.wavefronts / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class BranchEvidence:
    """The conditional branches of one source line, counted at the level of PTX.

    warps: how many warps came to one; divergent: how many of them split
    intervals: (warps, divergent) for each interval between barriers, the first 64
    predicated: the assembler made no branch of it, so the hardware masks the threads instead
    """

    warps: int
    divergent: int
    intervals: tuple[tuple[int, int], ...]
    predicated: bool = False


@dataclass(frozen=True, slots=True)
class LineEvidence:
    """One source line."""

    line: int
    thread_instructions: int
    warp_instructions: int
    flops: int
    accesses: tuple[AccessEvidence, ...] = ()
    branches: BranchEvidence | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """What was counted: which launch, and how much of it really ran.

    blocks_run: of `launch.blocks`; fewer where blocks are alike and the rest was scaled
    exact: whether the totals are those of the whole launch; else they are an estimate and `note` says why
    """

    sizes: Mapping[str, int]
    tile: int
    launch: Launch
    blocks_run: int
    exact: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class TheoryRow:
    """One formula of the course beside the count.

    key: such as "tiled_load_requests"
    formula: as the course writes it, with this run's numbers in `expected`
    counted: None where nothing of the kind was counted
    departs: 0 where both agree, else (counted - expected) / expected
    line: where most of the departure happens
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
    """The time that one resource of the device would need alone."""

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
    gain: how many times faster the modelled bound would be with it; None where the model cannot say
    share: what the state is graded by, 0 to 1; None where it is no share
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
    """One thing to look at, the most promising first."""

    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class GoalResult:
    """What the exercise asks of the counts beside a right result.

    text: in the course's words; counted, at_most: of the counter named
    """

    text: str
    counter: str
    counted: float
    at_most: float
    met: bool


@dataclass(frozen=True, slots=True)
class Fetch:
    """A thread brings an element of global memory into a cell of shared memory."""

    thread: tuple[int, int, int]
    element: str
    linear: str
    cell: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Accumulation:
    """What a thread adds up in one phase: `Mds[0][0]*Nds[0][0] + ...`, in terms of cells, and of elements."""

    thread: tuple[int, int, int]
    target: str
    cells: str
    elements: str
    line: int | None


@dataclass(frozen=True, slots=True)
class BlockPhase:
    """What one block does in one phase."""

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

    matrices: extents (rows, columns) of operands and of shared arrays by name, to draw them
    note: what was left out, or why there is no table
    """

    sizes: Mapping[str, int]
    tile: int
    launch: Launch
    matrices: Mapping[str, tuple[int, int]]
    phases: tuple[Phase, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the run showed; empty where a kernel was not analysed."""

    extent: Extent | None = None
    lines: tuple[LineEvidence, ...] = ()
    totals: Totals = field(default_factory=Totals)
    theory: tuple[TheoryRow, ...] = ()
    light: tuple[Light, ...] = ()
    checklist: tuple[ChecklistRow, ...] = ()
    advice: tuple[Advice, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    phases: PhaseTable | None = None
    notes: tuple[str, ...] = field(default=())
