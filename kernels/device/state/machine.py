"""The state of a chunk of blocks while it runs: registers, masks, memory, and names of threads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.accesses import Access, Handed, PendingCopy, Strength, Transfer
from kernels.device.state.findings import Described, Findings
from kernels.device.state.geometry import WARP, Coordinates, Geometry
from kernels.device.state.groups import Groups
from kernels.device.state.mask import Mask
from kernels.device.state.printer import Printer
from kernels.device.state.product_registers import ProductRegisters
from kernels.device.state.space import LOCAL_BASE, SHARED_BASE, Memory
from kernels.device.state.unset_values import UnsetObserver
from kernels.device.state.values import INTEGER, Array, Lanes, Value, from_array, uniform
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict


class Machine:
    """One chunk of blocks on its way through the program.

    registers: the content of each register; constants, symbols and special registers have numbers too
    epochs: for each block, how many barriers it has passed
    steps: how many instructions were issued
    copies: asynchronous copies for which some thread still has to wait
    groups: of asynchronous operations
    handed: asynchronous copies for which barriers in shared memory wait, by the line of their ends
    failed: the waits for a barrier in shared memory that failed, if that may matter, each with a thread
    fresh: barriers in shared memory by name and offset, with the blocks where no fence followed their initialisation
    arrivals: for each line, which threads of any block arrived there at a barrier in shared memory
    products: what threads did to the registers of products of four warps; made with the first use
    backwards: whether atomics of one instruction take effect from the last thread to the first
    alternates: whether this holds for every second such instruction only, so that two counters don't agree
    multiplies: whether tensor cores change the sums
    rounds: whether a sum of floats was inexact
    asked_who_is_active: whether a thread executed `__activemask()`
    """

    __slots__ = (
        "_everyone",
        "_turned",
        "alternates",
        "arrivals",
        "asked_who_is_active",
        "backwards",
        "copies",
        "epochs",
        "failed",
        "findings",
        "fresh",
        "geometry",
        "groups",
        "handed",
        "launch",
        "memory",
        "multiplies",
        "output",
        "products",
        "races",
        "registers",
        "rounds",
        "shape",
        "steps",
        "unset",
    )  # fmt: skip

    def __init__(self, geometry: Geometry, memory: Memory, findings: Findings, registers: int) -> None:
        self.launch = geometry.launch
        self.geometry = geometry
        self.shape = geometry.shape
        self.memory = memory
        self.findings = findings
        self.registers: list[Value] = [EMPTY] * registers
        self.unset: UnsetObserver
        self.races: Unwatched
        self.copies: list[PendingCopy] = []
        self.groups = Groups(self.shape.lanes)
        self.handed: dict[Hashable, Handed] = {}
        self.failed: dict[int, int] = {}
        self.fresh: dict[tuple[str, int], NDArray[np.bool_]] = {}
        self.products: ProductRegisters | None = None
        self.output: Printer
        self.arrivals: dict[int | None, NDArray[np.bool_]] = {}
        self.epochs = np.zeros((1, self.shape.blocks), np.int64)
        self.steps = 0
        self.backwards = self.alternates = self._turned = False
        self.multiplies = True
        self.rounds = False
        self.asked_who_is_active = False
        self._everyone = np.ones((self.shape.threads, self.shape.blocks), np.bool_)

    def turns_atomics(self) -> bool:
        """Whether the threads of the next atomic instruction come from the last one on."""
        self._turned = self.backwards and not (self.alternates and self._turned)
        return self._turned

    # -- masks --------------------------------------------------------------------------------------------------------

    def mask(self, array: Array) -> Mask | None:
        """Return a mask from an array of truth values; None means all threads of the chunk."""
        whole = array if array.shape == self._everyone.shape else self._everyone & array
        count = int(np.count_nonzero(whole))
        return None if count == self.shape.lanes else Mask(whole, count)

    def narrow(self, mask: Mask | None, condition: Array) -> Mask | None:
        return self.mask(condition if mask is None else mask.array & condition)

    def active(self, mask: Mask | None) -> NDArray[np.intp]:
        return np.arange(self.shape.lanes, dtype=np.intp) if mask is None else mask.flat

    def begun(self, copy: object, mask: Mask | None) -> None:
        """Note a bulk copy of these threads. Only a counted run looks at it."""

    # -- registers ----------------------------------------------------------------------------------------------------

    def write(self, number: int, value: Value, mask: Mask | None, *, keep: bool) -> None:
        """Set a register. With `keep`, threads outside the mask keep their values."""
        if mask is None or not keep:
            self.registers[number] = value
            return
        old = self.registers[number]
        if old is EMPTY or (old.lanes is value.lanes and old.offset == value.offset):
            self.registers[number] = value
            return
        integer = INTEGER[value.bits]
        blended = np.where(mask.array, value.dense(integer), old.dense(integer))
        self.registers[number] = Value(Lanes(blended), 0, value.bits)


EMPTY = Value(None, 0, 32)
"""The content of a register that was never set, or is read no more. So its memory serves the next steps."""
_SLOTS, _MULTIPROCESSORS = 64, 132
"""Of warps on a multiprocessor, and of multiprocessors on an H100 or H200."""


def special_registers(geometry: Geometry) -> Mapping[str, Value]:
    """Return the device's special registers on which a kernel's result may depend."""
    launch, shape = geometry.launch, geometry.shape
    threads = np.arange(shape.threads, dtype=np.int32).reshape(-1, 1)
    blocks = geometry.numbers.reshape(1, -1)
    found: dict[str, Value] = {}
    for axis, letter in enumerate("xyz"):
        found[f"%tid.{letter}"] = from_array(_axis(threads, launch.block, axis).astype(np.int32))
        found[f"%ctaid.{letter}"] = from_array(_axis(blocks, launch.grid, axis).astype(np.int32))
        found[f"%ntid.{letter}"] = uniform(launch.block[axis], 32)
        found[f"%nctaid.{letter}"] = uniform(launch.grid[axis], 32)
    lane = threads % WARP
    bit = np.int64(1) << lane.astype(np.int64)
    found["%laneid"] = from_array(lane)
    # It may be any slot of the multiprocessor. A kernel that relies on it is incorrect.
    found["%warpid"] = from_array((_SLOTS - 1 - threads // WARP - blocks.astype(np.int32)) % _SLOTS)
    found["%nwarpid"] = uniform(_SLOTS, 32)
    for name, bits in (("eq", bit), ("lt", bit - 1), ("le", 2 * bit - 1), ("gt", -2 * bit), ("ge", -bit)):
        found[f"%lanemask_{name}"] = from_array(bits.astype(np.int32))
    found["%dynamic_smem_size"] = uniform(launch.shared, 32)
    # It may be any multiprocessor, and blocks may share one.
    found["%smid"] = from_array(((_MULTIPROCESSORS - 1 - blocks // 2) % _MULTIPROCESSORS).astype(np.int32))
    found["%nsmid"] = uniform(_MULTIPROCESSORS, 32)
    found["%gridid"] = uniform(0, 64)
    return found


def cluster_registers(geometry: Geometry) -> Mapping[str, Value]:
    """Return the special registers about clusters."""
    grid, cluster = geometry.launch.grid, geometry.launch.cluster
    size = geometry.launch.cluster_blocks
    blocks = geometry.numbers.reshape(1, -1)
    found: dict[str, Value] = {}
    for axis, letter in enumerate("xyz"):
        place = _axis(blocks, grid, axis).astype(np.int32)
        found[f"%clusterid.{letter}"] = from_array(place // cluster[axis])
        found[f"%cluster_ctaid.{letter}"] = from_array(place % cluster[axis])
        found[f"%nclusterid.{letter}"] = uniform(grid[axis] // cluster[axis], 32)
        found[f"%cluster_nctaid.{letter}"] = uniform(cluster[axis], 32)
    # The blocks of a chunk are in the order of their clusters and ranks.
    found["%cluster_ctarank"] = from_array((np.arange(blocks.size, dtype=np.int32) % size).reshape(1, -1))
    found["%cluster_nctarank"] = uniform(size, 32)
    found["%is_explicit_cluster"] = uniform(size > 1, 1)
    return found


def _axis(numbers: Any, extent: Coordinates, axis: int) -> Array:
    x, y, _ = extent
    if extent[axis] == 1:
        return np.zeros((1, 1), np.int64)
    quotient: Array = numbers // (1, x, x * y)[axis]
    return quotient % (x, y, extent[2])[axis]


def address_of(kind: str, start: int) -> int:
    """Return the generic address of a place in shared or local memory. Global addresses are already generic."""
    return start + {"global": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}[kind]


Grid = NDArray[np.bool_]
EXIT = "exit"
"""The object of a block at which its threads arrive when they return, in a launch with clusters."""


class Unwatched:
    """All events for the search for data races. An observer overrides the events that it needs.

    This class ignores all events. It is the base of the other observers, and shows what observing costs.
    """

    def start(self, machine: Machine) -> None:
        """A chunk of blocks begins."""

    def record(self, access: Access) -> None:
        """Threads access memory."""

    def update(self, access: Access, *, acquires: bool, releases: bool) -> None:  # noqa: ARG002
        """Threads access memory atomically, thread by thread in the order of their numbers."""
        self.record(access)

    def copying(self, accesses: list[Access]) -> None:
        """These asynchronous copies are under way."""

    def landed(self, access: Access, chosen: Grid) -> None:
        """The chosen threads of an asynchronous copy have waited for it."""

    def transferred(self, access: Access, chosen: Grid, transfer: Transfer) -> None:
        """Asynchronous copies of the chosen threads now end like operations of the async proxy."""

    def ends_with(self, transfer: Transfer, lanes: NDArray[np.intp], key: Hashable, shift: int = 0) -> None:
        """Operations of the async proxy end before an object of a block, as for `arrive`, is complete."""

    def ended(self, transfer: Transfer, lanes: NDArray[np.intp], together: int) -> None:
        """Threads have waited for their operations of the async proxy up to these times.

        together: so many threads in a row have their operations together, so the wait of one is enough
        """

    def fence_proxy(self, mask: Mask | None, proxies: Sequence[str]) -> None:
        """Threads executed a fence between their own accesses to these memories and those of the async proxy."""

    def acquire_proxy(self, mask: Mask | None, proxy: str) -> None:
        """Threads executed the second half of such a fence. Threads before them executed the first."""

    def fence_begin(self, mask: Mask | None) -> None:
        """Threads executed the fence for barriers in shared memory that they made."""

    def barrier(self, blocks: Grid | None) -> None:
        """All threads of the given blocks (None: of all) met at a barrier."""

    def cluster_barrier(self) -> None:
        """All threads of all clusters met at their cluster's barrier, with nothing between arrival and wait."""

    def met(self, groups: NDArray[np.int64]) -> None:
        """Threads of one block with the same number, 0 or more, met at their own barrier."""

    def arrive(self, key: Hashable, mask: Mask | None, shift: int = 0, *, releases: bool = True) -> None:
        """Threads arrived at an object of the block `shift` columns after their own, for which other threads wait.

        releases: whether what they did before comes before what waiting threads do next
        """

    def wait(self, key: Hashable, mask: Mask | None, shift: int = 0, *, acquires: bool = True) -> None:
        """Threads have seen that an object of such a block is complete. acquires: or only fences after it do."""

    def fence(self, mask: Mask | None, scope: Strength, *, acquires: bool, releases: bool) -> None:
        """Threads executed a fence, which may only acquire or only release."""

    def finish(self) -> None:
        """The chunk of blocks ended."""

    def end(self, findings: Findings) -> None:
        """The launch ended."""


class TrapError(Exception):
    """The kernel stopped itself: nothing after this counts."""


def stop(
    machine: Machine, line: int | None, lane: int, count: int, why: str, mistake: Mistake = Mistake.OTHER
) -> NoReturn:
    """End the whole kernel with a runtime error. why: the reason as a clause: "it calls through a null pointer"."""

    def describe() -> Described:
        block, thread = machine.geometry.who(lane)
        message = f"{machine.geometry.lane_name(lane)} stops the kernel: {why}."
        return Example(block, (thread,), None), message, Facts(mistake)

    machine.findings.add(Verdict.RUNTIME_ERROR, line, count, describe)
    raise TrapError
