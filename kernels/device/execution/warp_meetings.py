"""Threads that wait for others of their warp: at `__syncwarp()`, shuffles, votes and similar instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Grid, Ordering
from kernels.device.execution import warp
from kernels.device.execution.blocks import CodeBlock
from kernels.device.ptx.module import Instruction
from kernels.device.ptx.program import is_product
from kernels.device.state.geometry import WARPGROUP
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask


class WarpMeetings:
    """The meetings in the warps of a chunk of blocks.

    waiting: code block -> threads that wait before its warp-wide instruction
    """

    def __init__(
        self, machine: Machine, blocks: Mapping[int, CodeBlock], instructions: Sequence[Instruction], ordering: Ordering
    ) -> None:
        self._machine = machine
        self._blocks = blocks
        self._instructions = instructions
        self._ordering = ordering
        self.waiting: dict[int, Grid] = {}

    def come(self, block: CodeBlock, mask: Mask | None, gone: Grid) -> Grid | None:
        """Let threads reach a warp-wide instruction. Return None if all of them continue, and no others.

        Otherwise return the threads that can continue; the others wait.
        """
        machine = self._machine
        coming = np.ones(gone.shape, np.bool_) if mask is None else mask.array
        if mask is None and not self.waiting:
            self._meet({block.first: coming})
            return None
        waiting = self.waiting.pop(block.first, None)
        present = coming if waiting is None else coming | waiting
        complete = self._complete(block.first, machine.mask(present), gone)
        left = present & ~complete
        if left.any():
            self.waiting[block.first] = left
        if np.array_equal(complete, coming):
            self._meet({block.first: complete})
            return None
        return complete

    def released(self, gone: Grid) -> dict[int, Grid]:
        """Remove warps whose threads wait at different places but together make up the warp."""
        if not self.waiting:
            return {}
        mask = self._machine.mask(np.logical_or.reduce(list(self.waiting.values())))
        released: dict[int, Grid] = {}
        for place, waiting in list(self.waiting.items()):
            complete = self._complete(place, mask, gone, waiting)
            if not complete.any():
                continue
            released[place] = complete
            left = waiting & ~complete
            if left.any():
                self.waiting[place] = left
            else:
                del self.waiting[place]
        self._meet(released)
        return released

    def _complete(self, place: int, mask: Mask | None, gone: Grid, waiting: Grid | None = None) -> Grid:
        """Return the threads of the mask whose whole group is here. waiting: only those at this place, if not all."""
        complete = warp.all_arrived(self._machine, mask, self._members(self._blocks[place]), gone)
        if waiting is not None:
            complete &= waiting
        if is_product(self._instructions[place]):
            # The last warps of a block may be fewer than four. They stop the kernel if they go on here.
            count = len(complete) // WARPGROUP * WARPGROUP
            whole = complete[:count].reshape(-1, WARPGROUP, complete.shape[1]).all(axis=1)
            complete = np.concatenate((np.repeat(whole, WARPGROUP, axis=0), complete[count:]))
        return complete

    def _members(self, block: CodeBlock) -> NDArray[Any]:
        return self._machine.registers[block.operand].dense(np.dtype(np.int32))

    def _meet(self, places: Mapping[int, Grid]) -> None:
        """Note that threads of warps continue together, at one or several instructions. At barriers, they have met."""
        groups = [
            warp.groups(self._machine, self._machine.mask(part), self._members(self._blocks[at]))
            for at, part in places.items()
            if self._instructions[at].opcode == "bar.warp.sync"
        ]
        if groups:
            self._ordering.met(reduce(np.maximum, groups))
