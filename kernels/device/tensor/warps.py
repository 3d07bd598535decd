"""The warps that take part in an instruction together, and their registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.values import INTEGER, Array, from_array
from kernels.device.tensor.fragments import Fragment, Words
from kernels.facts import Mistake

Origins = NDArray[Any]


class Warps:
    """The warps of a chunk that take part in an instruction, in the order warp by block."""

    def __init__(self, machine: Machine, mask: Mask | None, line: int | None, name: str) -> None:
        self._machine = machine
        shape = machine.shape
        whole = shape.threads % WARP == 0
        self._chosen: NDArray[np.bool_] | None = None
        if mask is not None or not whole:
            present = np.zeros((-(-shape.threads // WARP) * WARP, shape.blocks), np.bool_)
            present[: shape.threads] = True if mask is None else mask.array
            by_warp = present.reshape(-1, WARP, shape.blocks)
            some: NDArray[np.bool_] = np.logical_or.reduce(by_warp, axis=1)
            every: NDArray[np.bool_] = np.logical_and.reduce(by_warp, axis=1)
            if not whole or (some != every).any():
                self._refuse(by_warp, some & ~every, line, name)
            self._chosen = every

    def _refuse(self, present: NDArray[np.bool_], partial: NDArray[np.bool_], line: int | None, name: str) -> None:
        if not partial.any():
            return
        warp, block = np.argwhere(partial)[0]
        count = int(present[warp, :, block].sum())
        lane = int(np.flatnonzero(present[warp, :, block])[0])
        thread = (int(warp) * WARP + lane) * self._machine.shape.blocks + int(block)
        execute = "executes" if count == 1 else "execute"
        why = f"{name} needs all 32 threads of a warp, but only {count} {execute} it"
        stop(self._machine, line, thread, count, why, Mistake.MATRIX)

    def gather(self, numbers: Sequence[int], bits: int) -> Words:
        """The contents of registers: warp by register by thread."""
        return self.contents([self._machine.registers[number].dense(INTEGER[bits]) for number in numbers]).view(
            np.dtype(f"u{bits // 8}")
        )

    def contents(self, arrays: Sequence[Array]) -> Array:
        """Arrays by thread and block as warp by array by thread."""
        shape = self._machine.shape
        grid = shape.threads, shape.blocks
        stacked = np.empty((len(arrays), *grid), arrays[0].dtype)
        for number, array in enumerate(arrays):
            stacked[number] = array
        by_warp = stacked[:, : shape.threads // WARP * WARP].reshape(len(arrays), -1, WARP, shape.blocks)
        ordered = by_warp.transpose(1, 3, 0, 2)
        if self._chosen is not None:
            return np.ascontiguousarray(ordered[self._chosen[: len(ordered)]])
        return np.ascontiguousarray(ordered).reshape(-1, len(arrays), WARP)

    def spread(self, words: Array) -> Array:
        """Contents of registers by warp, register and thread as register by thread by block."""
        shape = self._machine.shape
        warps, registers = shape.threads // WARP, words.shape[1]
        if self._chosen is None:
            by_warp = words.reshape(warps, shape.blocks, registers, WARP)
        else:
            by_warp = np.zeros((warps, shape.blocks, registers, WARP), words.dtype)
            by_warp[self._chosen[:warps]] = words
        ordered = np.ascontiguousarray(by_warp.transpose(2, 0, 3, 1)).reshape(registers, -1, shape.blocks)
        missing = shape.threads - ordered.shape[1]
        return np.pad(ordered, ((0, 0), (0, missing), (0, 0))) if missing else ordered

    def write(self, targets: Sequence[int | None], words: Words, mask: Mask | None) -> None:
        integer = INTEGER[words.dtype.itemsize * 8]
        for target, array in zip(targets, self.spread(words), strict=True):
            if target is not None:
                self._machine.write(target, from_array(array.view(integer)), mask, keep=True)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each warp in its block."""
        warps = np.arange(self._machine.shape.threads // WARP)
        if self._chosen is not None:
            return np.nonzero(self._chosen[: len(warps)])[0].astype(np.int64)
        return np.repeat(warps, self._machine.shape.blocks).astype(np.int64)

    @property
    def fours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The places of the four warps of each warpgroup, all of which take part, and the warpgroup of each warp."""
        numbers, blocks = self.numbers, self._machine.shape.blocks
        columns = np.arange(len(numbers)) % blocks if self._chosen is None else np.nonzero(self._chosen)[1]
        _, whose = np.unique(numbers // 4 * blocks + columns, return_inverse=True)
        return np.lexsort((numbers, whose)).reshape(-1, 4), whose

    def first_lane(self, number: int) -> int:
        """The first thread of one of the warps, as its place among all threads of the chunk."""
        blocks = self._machine.shape.blocks
        everyone = np.arange(self._machine.shape.threads * blocks).reshape(-1, blocks)
        return int(self.contents([everyone])[number, 0, 0])

    # -- unset values -------------------------------------------------------------------------------------------------

    def origins(self, numbers: Sequence[int]) -> Origins | None:
        """For each register and thread, where its unset value comes from; None if all are set."""
        known = self._machine.unset.origins
        if known.keys().isdisjoint(numbers):
            return None
        nothing = np.zeros((1, 1), np.int32)
        return self.contents([known.get(number, nothing) for number in numbers])

    def note_origins(self, targets: Sequence[int | None], origins: Origins | None, mask: Mask | None) -> None:
        unset = self._machine.unset
        spread = None if origins is None else self.spread(origins)
        for number, target in enumerate(targets):
            if target is not None:
                unset.mark(target, None if spread is None else spread[number], mask)


def product_origins(origins: Sequence[Origins | None], shape: tuple[int, ...]) -> Origins:
    """An element of a product is unset if any element of its row, its column or the addend is. shape: of all products.

    origins: of a, b and the addend; None if all of it is set
    """
    a, b, c = origins
    total = np.zeros(shape, np.int32)
    if a is not None:
        total = np.maximum(total, a.max(axis=-1)[:, :, np.newaxis])
    if b is not None:
        total = np.maximum(total, b.max(axis=-1)[:, np.newaxis])
    return total if c is None else np.maximum(total, c)


def element_origins(fragment: Fragment, origins: Origins) -> Origins:
    """The origins of a matrix's elements from those of its registers."""
    parts = fragment.places.shape[-1]
    return fragment.in_order(np.repeat(origins[..., np.newaxis], parts, axis=-1))


def register_origins(fragment: Fragment, origins: Origins) -> Origins:
    largest: Origins = fragment.by_register(origins).max(axis=-1)
    return largest
