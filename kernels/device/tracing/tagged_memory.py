"""The tags of values in memory during a tracing run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.element_names import element_name, plain_name
from kernels.device.state.machine import Machine
from kernels.device.state.space import Allocation
from kernels.device.tracing.provenance import Chosen, Element, Factor, Tags, TracedFetch, Values

_WORD = 4
_PIECES = (2, 4)
"""Of how many values PTX can make one."""


@dataclass(frozen=True, slots=True)
class Spots:
    """`size` bytes of a variable for each of some threads, from its offset on."""

    machine: Machine
    allocation: Allocation
    lanes: NDArray[np.intp]
    offsets: NDArray[np.int64]
    size: int

    def piece(self, offset: int, size: int) -> Spots:
        return Spots(self.machine, self.allocation, self.lanes, self.offsets + offset, size)

    def of(self, chosen: Chosen) -> Spots:
        return Spots(self.machine, self.allocation, self.lanes[chosen], self.offsets[chosen], self.size)

    @property
    def copies(self) -> NDArray[np.int64]:
        """The variable's copies. In shared memory each block has one, in local memory each thread."""
        shape, space = self.machine.shape, self.allocation.space
        if space == "global":
            return np.zeros(len(self.lanes), np.int64)
        blocks = self.machine.geometry.numbers[self.lanes % shape.blocks]
        return blocks if space == "shared" else blocks * shape.threads + self.lanes // shape.blocks


class _Held:
    """The tags in one variable, by copy and first byte, and how many bytes each of them covers."""

    def __init__(self, copies: int, size: int) -> None:
        self._tags = np.zeros((copies, size), np.int64)
        self._sizes = np.zeros((copies, size), np.uint8)

    def covered(self, spots: Spots) -> NDArray[np.bool_]:
        """Where the value covers exactly these bytes."""
        found: NDArray[np.bool_] = self._sizes[spots.copies, spots.offsets] == spots.size
        return found

    def get(self, spots: Spots) -> Tags:
        return np.where(self.covered(spots), self._tags[spots.copies, spots.offsets], 0)

    def set(self, spots: Spots, tags: Tags) -> None:
        copies = spots.copies
        for offset in range(_WORD, spots.size, _WORD):
            self._sizes[copies, spots.offsets + offset] = 0
        self._tags[copies, spots.offsets] = tags
        self._sizes[copies, spots.offsets] = spots.size


class TaggedMemory:
    """Tags of memory, and the fetches so far. operands: names of the buffers whose elements are followed."""

    def __init__(self, operands: frozenset[str], values: Values) -> None:
        self._operands = operands
        self._values = values
        self._held: dict[tuple[str, int], _Held] = {}
        self._elements: dict[str, Tags] = {}
        self._from_cells: dict[tuple[str, int, int], int] = {}
        self.fetches: list[TracedFetch] = []
        self.arrays: dict[str, tuple[int, ...]] = {}

    def read(self, spots: Spots) -> Tags:
        if spots.size != 2 * _WORD:
            return self._single(spots)
        whole = self._in(spots).covered(spots)
        halves = [np.where(whole, 0, self._single(spots.piece(at, _WORD))) for at in (0, _WORD)]
        return np.where(whole, self._single(spots), self._values.packed(halves))

    def _single(self, spots: Spots) -> Tags:
        allocation, tags = spots.allocation, self._in(spots).get(spots)
        if allocation.space not in {"global", "shared"}:
            return tags
        loads = ~self._values.computed(tags)
        if allocation.space == "shared":
            tags[loads] = self._of_cells(allocation, spots.offsets[loads], tags[loads])
        elif spots.size == _WORD and allocation.name in self._operands:
            tags[loads] = self._of_elements(allocation, spots.offsets[loads] // _WORD)
        else:
            tags[loads] = 0
        return tags

    def _of_elements(self, allocation: Allocation, indices: NDArray[np.int64]) -> Tags:
        name = allocation.name
        if name not in self._elements:
            self._elements[name] = np.zeros(-(-allocation.size // _WORD), np.int64)
        known = self._elements[name]
        for index in np.unique(indices[known[indices] == 0]).tolist():
            known[index] = self._values.factors.tag(Factor(Element(name, index)))
        return known[indices]

    def _of_cells(self, allocation: Allocation, offsets: NDArray[np.int64], tags: Tags) -> Tags:
        """Return the tags of values that are loaded from cells of shared memory, which hold these tags."""
        pairs, which = np.unique(tags * allocation.size + offsets, return_inverse=True)
        found = [self._of_cell(allocation, *divmod(pair, allocation.size)) for pair in pairs.tolist()]
        return np.array(found, np.int64)[which]

    def _of_cell(self, allocation: Allocation, tag: int, offset: int) -> int:
        key = allocation.name, offset, tag
        if key not in self._from_cells:
            held = self._values.factors.of(tag)
            loaded = Factor(held.element, str(element_name(allocation, offset)), held.fetch)
            self._from_cells[key] = self._values.factors.tag(loaded)
        return self._from_cells[key]

    def write(self, spots: Spots, tags: Tags, line: int | None, zero: Chosen) -> None:
        """Store tags. `zero` says where an unknown value is 0."""
        whole = np.ones(len(tags), np.bool_)
        for count in _PIECES:
            pieces = self._values.pieces(tags, count)
            chosen = np.any(pieces, axis=0)
            if chosen.any():
                size, never = spots.size // count, np.zeros(len(tags), np.bool_)
                for number, piece in enumerate(pieces):
                    self._write(spots.of(chosen).piece(number * size, size), piece[chosen], line, never[chosen])
                whole &= ~chosen
        if whole.any():
            self._write(spots.of(whole), tags[whole], line, zero[whole])

    def _write(self, spots: Spots, tags: Tags, line: int | None, zero: Chosen) -> None:
        if spots.allocation.space == "shared":
            tags = self._into_cells(spots, tags, line, zero)
        elif spots.allocation.space == "global" and (computed := self._values.computed(tags)).any():
            tags = np.where(computed, self._arrived(spots, np.where(computed, tags, 0)), tags)
        self._in(spots).set(spots, tags)

    def _arrived(self, spots: Spots, tags: Tags) -> Tags:
        """Store sums into cells of global or shared memory."""
        everyone = np.zeros(spots.machine.shape.lanes, np.int64)
        everyone[spots.lanes] = tags
        sums = self._values.summed(everyone)[spots.lanes]
        if spots.allocation.name in self._operands and (known := sums != 0).any():
            self._values.store(spots.allocation.name, spots.offsets[known] // _WORD, sums[known])
        return sums

    def add(self, spots: Spots, tags: Tags) -> None:
        """Add to the values in memory, one thread after the other."""
        for at in np.flatnonzero(tags).tolist():
            spot = spots.of(np.arange(len(tags)) == at)
            held = self.read(spot)
            everyone = np.zeros((2, spots.machine.shape.lanes), np.int64)
            everyone[:, spot.lanes[0]] = np.where(self._values.loaded(held), 0, held)[0], tags[at]
            self._in(spot).set(spot, self._arrived(spot, self._values.added(*everyone)[spot.lanes]))

    def forget(self, spots: Spots) -> None:
        self._in(spots).set(spots, np.zeros(len(spots.lanes), np.int64))

    def _into_cells(self, spots: Spots, tags: Tags, line: int | None, zero: Chosen) -> Tags:
        """Store values into cells of shared memory. An element directly from global memory, or a zero, is a fetch."""
        found, factors = tags.copy(), self._values.factors
        for tag in np.unique(tags[self._values.copied(tags)]).tolist():
            copied = factors.of(tag)
            found[tags == tag] = factors.tag(Factor(copied.element, "", copied.fetch))
        for at in np.flatnonzero(self._values.loaded(tags) | (tags == 0) & zero).tolist():
            found[at] = self._fetched(spots, at, factors.of(int(tags[at])).element, line)
        return found

    def _fetched(self, spots: Spots, at: int, element: Element | None, line: int | None) -> int:
        allocation, machine, lane, number = spots.allocation, spots.machine, int(spots.lanes[at]), len(self.fetches)
        block, thread = machine.geometry.who(lane)
        name = plain_name(allocation.name)
        self.arrays[name] = allocation.shape or (allocation.size // (allocation.element or _WORD),)
        cell = str(element_name(allocation, int(spots.offsets[at])))
        assert self._values.where is not None, "memory is followed within a step"
        interval = int(self._values.where.intervals[lane])
        self.fetches.append(TracedFetch(number, block, thread, interval, line, element, name, cell))
        return self._values.factors.tag(Factor(element, "", number))

    def _in(self, spots: Spots) -> _Held:
        allocation = spots.allocation
        key = allocation.space, allocation.start
        if key not in self._held:
            launch = spots.machine.launch
            copies = {"global": 1, "shared": launch.blocks}.get(allocation.space, launch.blocks * launch.threads)
            self._held[key] = _Held(copies, allocation.size + _WORD)
        return self._held[key]
