"""The barrier of a cluster: threads arrive, and then wait until all threads of their cluster have arrived."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Grid, Ordering
from kernels.device.ptx.module import Instruction, Unsupported
from kernels.device.state.findings import Described
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, TrapError
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict

_OPCODE = re.compile(
    r"barrier\.cluster\.(?P<verb>arrive(?P<order>\.release|\.relaxed)?|wait(?:\.acquire)?)(?:\.aligned)?"
)
_KEY = "cluster"
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class ClusterUse:
    """One instruction on the barrier of a cluster.

    waits: whether threads wait here; otherwise they arrive
    releases: whether what a thread did before it arrives comes before what waiting threads do next
    aligned: whether all threads of a warp must execute it together
    """

    instruction: Instruction
    pc: int
    waits: bool
    releases: bool
    aligned: bool


def cluster_use(pc: int, item: Instruction) -> ClusterUse:
    match = _OPCODE.fullmatch(item.opcode)
    if match is None:
        raise Unsupported(item.opcode, item.line)
    waits = match["verb"].startswith("wait")
    return ClusterUse(item, pc, waits, not waits and match["order"] != ".relaxed", item.opcode.endswith(".aligned"))


class ClusterBarriers:
    """The barriers of the clusters of a chunk of blocks.

    arrivals, passed: for each thread, how often it has arrived, and has waited to the end
    at: for each thread, the instruction at which it arrived last
    waiting: instruction -> threads that wait there
    """

    def __init__(self, machine: Machine, ordering: Ordering) -> None:
        self._machine = machine
        self._ordering = ordering
        self._size = machine.launch.cluster_blocks
        shape = machine.shape.threads, machine.shape.blocks
        self._arrivals = np.zeros(shape, np.int64)
        self._passed = np.zeros(shape, np.int64)
        self._at = np.full(shape, _NOWHERE, np.int64)
        self._uses: dict[int, ClusterUse] = {}
        self.waiting: dict[int, Grid] = {}

    def arrive(self, use: ClusterUse, part: Grid) -> None:
        again = part & (self._arrivals > self._passed)
        if again.any():
            self._misused(use, again, "arrives at the cluster's barrier a second time before it waits there")
        for phase in np.unique(self._arrivals[part]).tolist():
            self._each_rank(part & (self._arrivals == phase), phase, use)
        self._arrivals += part
        self._at[part] = use.pc
        self._uses[use.pc] = use

    def wait(self, use: ClusterUse, part: Grid) -> None:
        early = part & (self._arrivals == self._passed)
        if early.any():
            self._misused(use, early, "waits at the cluster's barrier, but it hasn't arrived there")
        self._uses[use.pc] = use
        known = self.waiting.get(use.pc)
        self.waiting[use.pc] = part.copy() if known is None else known | part

    def opened(self, gone: Grid) -> Iterator[tuple[int, Grid]]:
        """Yield the threads that can go on, with the instruction at which they waited."""
        arrived = np.where(gone, np.iinfo(np.int64).max, self._arrivals).min(axis=0)
        complete = np.repeat(arrived.reshape(-1, self._size).min(axis=1), self._size)
        for pc, waiting in list(self.waiting.items()):
            done = waiting & (self._passed < complete)
            if not done.any():
                continue
            for phase in np.unique(self._passed[done]).tolist():
                part = done & (self._passed == phase)
                self._check_aligned(pc, ~gone & (self._arrivals == phase + 1), part.any(axis=0))
                self._each_rank(part, phase, None)
            self._passed += done
            self._leave(pc, waiting & ~done)
            self._order_blocks(pc, done)
            yield pc, done

    def forget(self, columns: NDArray[np.intp]) -> None:
        """Forget the threads of these blocks, which have ended."""
        for pc in list(self.waiting):
            self.waiting[pc][:, columns] = False
            self._leave(pc, self.waiting[pc])

    def _leave(self, pc: int, left: Grid) -> None:
        if left.any():
            self.waiting[pc] = left
        else:
            del self.waiting[pc]

    def _each_rank(self, part: Grid, phase: int, arrives: ClusterUse | None) -> None:
        """Order the threads by their cluster's barrier, which counts as an object of the block with rank 0."""
        ranks = np.arange(part.shape[1]) % self._size
        for rank in range(self._size):
            own = part & (ranks == rank)
            if not own.any():
                continue
            if arrives is not None:
                self._ordering.arrive((_KEY, phase), own, -rank, releases=arrives.releases)
            else:
                self._ordering.wait((_KEY, phase), own, -rank)

    def _order_blocks(self, pc: int, done: Grid) -> None:
        """Let the barrier count as one of a block, too, if all threads of the block wait right after they arrive.

        Then fewer accesses are left for a closer look.
        """
        arrived = self._uses.get(pc - 1)
        if arrived is not None and arrived.releases:
            blocks = (done & (self._at == pc - 1)).all(axis=0)
            if blocks.all():
                self._machine.races.cluster_barrier()
            if blocks.any():
                self._ordering.barrier(None if blocks.all() else blocks)
                self._machine.epochs[0, blocks] += 1

    # -- misuse -------------------------------------------------------------------------------------------------------

    def _check_aligned(self, pc: int, arrived: Grid, blocks: NDArray[np.bool_]) -> None:
        """Check that the threads of each warp arrived together, if they arrived at an aligned instruction."""
        threads, columns = arrived.shape
        missing = -threads % WARP
        aligned = np.isin(self._at, [use.pc for use in self._uses.values() if use.aligned])
        at = np.where(aligned, self._at, _NOWHERE)
        present, at = (np.pad(each, ((0, missing), (0, 0))) for each in (arrived & blocks, at))
        present, at = present.reshape(-1, WARP, columns), at.reshape(-1, WARP, columns)
        low = np.where(present, at, np.iinfo(np.int64).max).min(axis=1)
        high = np.where(present, at, _NOWHERE).max(axis=1)
        split = present & ((low < high) & (high != _NOWHERE))[:, np.newaxis]
        if split.any():
            why = "reaches the cluster's barrier at another place than other threads of its warp. `.aligned` forbids it"
            self._misused(self._uses[pc], split.reshape(-1, columns)[:threads], why)

    def _misused(self, use: ClusterUse, part: Grid, what: str) -> NoReturn:
        lanes = np.flatnonzero(part)

        def describe() -> Described:
            block, thread = self._machine.geometry.who(int(lanes[0]))
            message = f"{self._machine.geometry.lane_name(int(lanes[0]))} {what}."
            return Example(block, (thread,)), message, Facts(Mistake.CLUSTER_BARRIER)

        self._machine.findings.add(Verdict.BARRIER_DIVERGENCE, use.instruction.line, len(lanes), describe)
        raise TrapError
