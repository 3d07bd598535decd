"""The tags of values in memory during a tracing run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernels.device.state.element_names import element_name, plain_name
from kernels.device.state.geometry import Coordinates
from kernels.device.state.machine import Machine
from kernels.device.state.space import Allocation
from kernels.device.tracing.provenance import Element, Factor, Packed, Single, Sum, Sums, Tag, Term, TracedFetch

_WORD = 4
Key = tuple[str, int, tuple[Coordinates, ...], int]


@dataclass(frozen=True, slots=True)
class Spot:
    """`size` bytes at an offset of a variable, as thread `lane` sees it."""

    allocation: Allocation
    offset: int
    size: int
    lane: int

    def piece(self, offset: int, size: int) -> Spot:
        return Spot(self.allocation, self.offset + offset, size, self.lane)


class TaggedMemory:
    """Tags of memory, and the fetches so far.

    operands: names of the buffers whose elements are followed
    interval: returns how many barriers a thread's block has passed
    """

    def __init__(self, operands: frozenset[str], sums: Sums, interval: Callable[[Machine, int], int]) -> None:
        self._operands = operands
        self._sums = sums
        self._interval = interval
        self._held: dict[Key, tuple[int, Single | None]] = {}
        self.fetches: list[TracedFetch] = []
        self.arrays: dict[str, tuple[int, ...]] = {}

    def read(self, machine: Machine, spot: Spot) -> Tag | None:
        held = self._held.get(_key(machine, spot))
        if spot.size == 2 * _WORD and (held is None or held[0] != spot.size):
            halves = tuple(self._single(machine, spot.piece(at, _WORD)) for at in (0, _WORD))
            return Packed(halves) if any(halves) else None
        return self._single(machine, spot)

    def _single(self, machine: Machine, spot: Spot) -> Single | None:
        allocation = spot.allocation
        size, tag = self._held.get(_key(machine, spot), (0, None))
        tag = tag if size == spot.size else None
        if allocation.space == "global":
            if isinstance(tag, Term | Sum):
                return tag
            followed = spot.size == _WORD and allocation.name in self._operands
            return Factor(Element(allocation.name, spot.offset // _WORD)) if followed else None
        if allocation.space == "shared" and (tag is None or isinstance(tag, Factor)):
            return replace(tag or Factor(None), cell=str(element_name(allocation, spot.offset)))
        return tag

    def write(self, machine: Machine, spot: Spot, tag: Tag | None, line: int | None, *, zero: bool) -> None:
        """Store a tag. `zero` says that an unknown value is 0."""
        if isinstance(tag, Packed):
            size = spot.size // len(tag.pieces)
            for number, piece in enumerate(tag.pieces):
                self._write(machine, spot.piece(number * size, size), piece, line, zero=False)
            return
        self._write(machine, spot, tag, line, zero=zero)

    def _write(self, machine: Machine, spot: Spot, tag: Single | None, line: int | None, *, zero: bool) -> None:
        space = spot.allocation.space
        if space == "shared":
            tag = self._shared(machine, spot, Factor(None) if tag is None and zero else tag, line)
        elif space == "global" and isinstance(tag, Term | Sum):
            tag = self._arrive(spot, tag)
        for offset in range(_WORD, spot.size, _WORD):
            self._held.pop(_key(machine, spot.piece(offset, _WORD)), None)
        self._held[_key(machine, spot)] = spot.size, tag

    def _arrive(self, spot: Spot, tag: Tag | None) -> Sum | None:
        """Store a sum into a cell of global or shared memory."""
        value = self._sums.of(tag)
        if value is not None and spot.allocation.name in self._operands:
            self._sums.store(Element(spot.allocation.name, spot.offset // _WORD), value)
        return value

    def add(self, machine: Machine, spot: Spot, tag: Tag | None) -> None:
        held = self.read(machine, spot)
        if isinstance(held, Factor) and not held.cell:
            held = None
        value = self._arrive(spot, self._sums.added(held, tag))
        self._held[_key(machine, spot)] = spot.size, value

    def forget(self, machine: Machine, spot: Spot) -> None:
        self._held[_key(machine, spot)] = spot.size, None

    def _shared(self, machine: Machine, spot: Spot, tag: Single | None, line: int | None) -> Single | None:
        """Store a value into a cell of shared memory. An element directly from global memory, or a zero, is a fetch."""
        if not isinstance(tag, Factor) or tag.cell:
            return replace(tag, cell="", negative=False) if isinstance(tag, Factor) else tag
        allocation, number = spot.allocation, len(self.fetches)
        block, thread = machine.geometry.who(spot.lane)
        name = plain_name(allocation.name)
        self.arrays[name] = allocation.shape or (allocation.size // (allocation.element or _WORD),)
        cell = str(element_name(allocation, spot.offset))
        interval = self._interval(machine, spot.lane)
        self.fetches.append(TracedFetch(number, block, thread, interval, line, tag.element, name, cell))
        return Factor(tag.element, "", number)


def _key(machine: Machine, spot: Spot) -> Key:
    """Return space, variable, owner of the copy, offset."""
    allocation = spot.allocation
    owner: tuple[Coordinates, ...] = ()
    if allocation.space != "global":
        block, thread = machine.geometry.who(spot.lane)
        owner = (block,) if allocation.space == "shared" else (block, thread)
    return allocation.space, allocation.start, owner, spot.offset
