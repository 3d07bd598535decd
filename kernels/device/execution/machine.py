"""The state of a chunk of blocks while it runs: registers, masks, memory, and who is who."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.execution.findings import Findings
from kernels.device.execution.mask import Mask
from kernels.device.execution.values import INTEGER, Array, Lanes, Value, from_array, uniform
from kernels.device.memory.space import LOCAL_BASE, SHARED_BASE, Memory, Shape
from kernels.launch import Launch

WARP = 32
Coordinates = tuple[int, int, int]

if TYPE_CHECKING:
    from kernels.device.execution.printing import Printer
    from kernels.device.memory.copies import Copies
    from kernels.device.observers.counting import Counting
    from kernels.device.observers.nothing import Unwatched
    from kernels.device.observers.unset import UnsetObserver


@dataclass(frozen=True, slots=True)
class Geometry:
    """Names of threads and blocks in one chunk: `numbers` are those of its blocks in the grid."""

    launch: Launch
    shape: Shape
    numbers: NDArray[np.int64]

    def thread(self, number: int) -> Coordinates:
        """The coordinates of a thread in its block."""
        return _coordinates(number, self.launch.block)

    def block(self, column: int) -> Coordinates:
        """The coordinates in the grid of a block of this chunk."""
        return self.numbered(int(self.numbers[column]))

    def numbered(self, block: int) -> Coordinates:
        """The coordinates in the grid of the block with a number."""
        return _coordinates(block, self.launch.grid)


def _coordinates(number: int, extent: Coordinates) -> Coordinates:
    x, y, _ = extent
    return number % x, number // x % y, number // (x * y)


class Machine:
    """One chunk of blocks on its way through the program.

    registers: the content of each register; constants, symbols and special registers have numbers too
    epochs: for each block how many barriers it has passed
    steps: how many instructions were issued
    backwards: whether atomics of one instruction take effect from the last thread to the first
    """

    __slots__ = (
        "_everyone",
        "backwards",
        "copies",
        "counting",
        "epochs",
        "findings",
        "geometry",
        "launch",
        "memory",
        "output",
        "races",
        "registers",
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
        self.registers: list[Value] = [_EMPTY] * registers
        self.unset: UnsetObserver
        self.races: Unwatched
        self.copies: Copies
        self.counting: Counting
        self.output: Printer
        self.epochs = np.zeros((1, self.shape.blocks), np.int64)
        self.steps = 0
        self.backwards = False
        self._everyone = np.ones((self.shape.threads, self.shape.blocks), np.bool_)

    # -- masks --------------------------------------------------------------------------------------------------------

    def mask(self, array: Array) -> Mask | None:
        """A mask from an array of truth values; None stands for all threads of the chunk."""
        whole = array if array.shape == self._everyone.shape else self._everyone & array
        count = int(np.count_nonzero(whole))
        return None if count == self.shape.lanes else Mask(whole, count)

    def narrow(self, mask: Mask | None, condition: Array) -> Mask | None:
        """The threads of a mask that also meet a condition."""
        return self.mask(condition if mask is None else mask.array & condition)

    def active(self, mask: Mask | None) -> NDArray[np.intp]:
        """The numbers of the threads that take part."""
        return np.arange(self.shape.lanes, dtype=np.intp) if mask is None else mask.flat

    # -- registers ----------------------------------------------------------------------------------------------------

    def write(self, number: int, value: Value, mask: Mask | None, *, keep: bool) -> None:
        """Sets a register; where `keep`, threads outside the mask keep what they had."""
        if mask is None or not keep:
            self.registers[number] = value
            return
        old = self.registers[number]
        if old is _EMPTY or (old.lanes is value.lanes and old.offset == value.offset):
            self.registers[number] = value
            return
        integer = INTEGER[value.bits]
        blended = np.where(mask.array, value.dense(integer), old.dense(integer))
        self.registers[number] = Value(Lanes(blended), 0, value.bits)

    # -- words for people ---------------------------------------------------------------------------------------------

    def who(self, lane: int) -> tuple[Coordinates, Coordinates]:
        """The block and the thread behind a lane number."""
        thread, column = divmod(lane, self.shape.blocks)
        return self.geometry.block(column), self.geometry.thread(thread)

    def thread_name(self, thread: Coordinates) -> str:
        """`(3,1)`: as many coordinates as the block has dimensions, two at least."""
        return _name(thread, self.launch.block)

    def block_name(self, block: Coordinates) -> str:
        """`(0,1)`, likewise for the grid."""
        return _name(block, self.launch.grid)

    def lane_name(self, lane: int) -> str:
        """`thread (3,1) of block (0,1)`."""
        block, thread = self.who(lane)
        return f"thread {self.thread_name(thread)} of block {self.block_name(block)}"


_EMPTY = Value(None, 0, 32)


def _name(coordinates: Coordinates, extent: Coordinates) -> str:
    shown = coordinates if extent[2] > 1 else coordinates[:2]
    return "(" + ",".join(str(each) for each in shown) + ")"


def special_registers(geometry: Geometry) -> Mapping[str, Value]:
    """The device's own registers, as far as a kernel's result may depend on them."""
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
    found["%warpid"] = from_array(threads // WARP)
    found["%nwarpid"] = uniform(-(-shape.threads // WARP), 32)
    for name, bits in (("eq", bit), ("lt", bit - 1), ("le", 2 * bit - 1), ("gt", -2 * bit), ("ge", -bit)):
        found[f"%lanemask_{name}"] = from_array(bits.astype(np.int32))
    found["%dynamic_smem_size"] = uniform(launch.shared, 32)
    for name in ("%smid", "%nsmid", "%gridid"):
        found[name] = uniform(0, 64 if name == "%gridid" else 32)
    return found


def _axis(numbers: Any, extent: Coordinates, axis: int) -> Array:
    x, y, _ = extent
    if extent[axis] == 1:
        return np.zeros((1, 1), np.int64)
    quotient: Array = numbers // (1, x, x * y)[axis]
    return quotient % (x, y, extent[2])[axis]


def address_of(kind: str, start: int) -> int:
    """The generic address of a place in shared or local memory; global addresses are generic already."""
    return start + {"global": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}[kind]
