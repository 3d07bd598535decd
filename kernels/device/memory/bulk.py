"""Bulk copies between global and shared memory, which one thread starts and the async proxy carries out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step
from kernels.device.memory.atomic import Change, bulk_change, update_elements
from kernels.device.memory.locate import Site, in_block_of, report_outside, split
from kernels.device.memory.parts import access_to, note, report_unset, values_of
from kernels.device.ptx.module import Instruction
from kernels.device.state.accesses import Kind, Part, Strength, Transfer
from kernels.device.state.groups import Grouped
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Operands, Place
from kernels.device.state.space import WRITTEN, Allocation, kind_of
from kernels.device.state.unset_values import ADDRESS, SIZE
from kernels.facts import Mistake

Bytes = NDArray[np.int64]
Lanes = NDArray[np.intp]
Ends = Callable[[str, Lanes], Transfer]
"""What ends the reads ("read") or the writes ("write") of these threads."""

_OPCODE = re.compile(
    r"cp\.async\.bulk\.(?:(?P<to>shared::cluster|shared::cta)\.(?P<source>global|shared::cta)|global\.shared::cta)"
    r"\.(?P<end>mbarrier::complete_tx::bytes|bulk_group)"
    r"(?P<several>\.multicast::cluster)?"
)
_REDUCTION = re.compile(
    r"cp\.reduce\.async\.bulk\.(?:(?P<to>shared::cluster)|global)\.shared::cta"
    r"\.(?P<end>mbarrier::complete_tx::bytes|bulk_group)"
    r"\.(?P<change>add|min|max|inc|dec|and|or|xor)(?P<rounding>\.noftz)?\.(?P<type>\w+)"
)
_PIECE = 16
_MOST_BYTES = 1 << 18
_MOST_WORDS = 1 << 20
"""So many words are copied at a time."""
COMMIT = "cp.async.bulk.commit_group"
_WAIT = re.compile(r"cp\.async\.bulk\.wait_group(?P<read>\.read)?")


@dataclass(frozen=True, slots=True)
class Rows:
    """What copies move, from one variable or to one: rows of bytes side by side.

    lanes: the threads
    memory: the variable; None if it is unknown
    places: in shared memory, for each thread
    addresses, sizes: of each row, for each thread
    receivers: how many blocks get the rows of each thread
    """

    lanes: Lanes
    memory: Allocation | None
    places: Bytes
    addresses: Bytes
    sizes: Bytes
    receivers: Bytes


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """One instruction.

    spaces: from where to where
    size: the register with the bytes
    ranks: the register with the blocks of the cluster to which it goes, a bit for each; None for one block
    rank: the block to which this copy goes; None for the block of the address
    change: of a reduction, what it does to the elements at its target
    """

    pc: int
    line: int | None
    spaces: tuple[str, str]
    target: Place
    source: Place
    size: int
    ranks: int | None = None
    rank: int | None = None
    change: Change | None = None

    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes:
        """Copy for all threads of the mask, and return the bytes of each thread."""
        used = (self.target.register, self.source.register, *(() if self.ranks is None else (self.ranks,)))
        for register, harm in (*((each, ADDRESS) for each in used), (self.size, SIZE)):
            machine.unset.use(register, self.pc, mask, harm)
        grid = machine.shape.threads, machine.shape.blocks
        sizes = np.broadcast_to(machine.registers[self.size].dense(np.dtype(np.int32)), grid).reshape(-1)
        lanes = machine.active(mask)
        bad = lanes[(sizes[lanes] % _PIECE != 0) | (sizes[lanes] < 0)]
        if bad.size:
            why = f"it copies {int(sizes[bad[0]]):,} bytes at once, but only multiples of {_PIECE} are allowed"
            stop(machine, self.line, int(bad[0]), len(bad), why, Mistake.COPY_SIZE)
        large = lanes[sizes[lanes] > _MOST_BYTES]
        if large.size:
            why = f"it copies {int(sizes[large[0]]):,} bytes at once, more than shared memory has"
            stop(machine, self.line, int(large[0]), len(large), why, Mistake.COPY_SIZE)
        for size in np.unique(sizes[lanes]).tolist():
            part = machine.narrow(mask, (sizes == size).reshape(grid))
            if size and (part is None or part.count):
                # A copy takes as long as many instructions.
                machine.steps += size // _PIECE
                self._copy(machine, part, size, ends)
        return sizes.astype(np.int64)

    def moved(self, machine: Machine, mask: Mask | None) -> Iterator[tuple[str, bool, Rows]]:
        """What the threads of the mask copied: the space apart from their shared memory, and whether from there."""
        loads = self.spaces[0] == "global"
        far, near = (self.source, self.target) if loads else (self.target, self.source)
        space, lanes = "global" if loads else self.spaces[1], machine.active(mask)
        addresses, places = (values_of(machine, each.register, lanes) + each.displacement for each in (far, near))
        memory = machine.memory.find("global", int(addresses[0])) if len(lanes) and space == "global" else None
        sizes = values_of(machine, self.size, lanes)
        receivers = receivers_of(machine, self.ranks, lanes)
        yield space, loads, Rows(lanes, memory, places, addresses[:, np.newaxis], sizes[:, np.newaxis], receivers)

    def _copy(self, machine: Machine, mask: Mask | None, size: int, ends: Ends) -> None:
        reading = Site(self.pc, self.line, self.spaces[0], _PIECE, Kind.READ)
        writing = Site(self.pc, self.line, self.spaces[1], _PIECE, Kind.COPY if self.change is None else Kind.UPDATE)
        sources = self._whole(machine, reading, self.source, mask, size, ends)
        targets = self._whole(machine, writing, self.target, mask, size, ends)
        step = max(1, _MOST_WORDS * 4 // size)
        for target in targets if self.change is None else ():
            # What can't be read is reported, so it counts as set where it goes.
            for first in range(0, len(target.lanes), step):
                _set(machine, target.some(slice(first, first + step)), size // 4)
            for source in sources:
                both, here, there = np.intersect1d(source.lanes, target.lanes, return_indices=True)
                for first in range(0, len(both), step):
                    part = slice(first, first + step)
                    _move(machine, source.some(here[part]), target.some(there[part]), size // 4)

        if self.change is not None:
            pairs = ((source, target) for source in sources for target in targets)
            for source, target in pairs:
                _, here, there = np.intersect1d(source.lanes, target.lanes, return_indices=True)
                self._reduce(machine, self.change, source.some(here), target.some(there), size)

    def _reduce(self, machine: Machine, change: Change, source: Part, target: Part, size: int) -> None:
        places = _places(machine, source, size // 4)
        if source.allocation.flat_valid is not None:
            report_unset(machine, self.pc, source, source.allocation.flat_valid[places])
        values = np.ascontiguousarray(source.allocation.flat[places]).view(change.dtype).reshape(-1)
        update_elements(machine, in_elements(target, size, change.dtype.itemsize), self._site(change), change, values)

    def _site(self, change: Change) -> Site:
        """The access to one element of a reduction's target."""
        size = change.dtype.itemsize
        return Site(self.pc, self.line, self.spaces[1], size, Kind.UPDATE, Strength.DEVICE, change.text)

    def _whole(
        self, machine: Machine, site: Site, place: Place, mask: Mask | None, size: int, ends: Ends
    ) -> list[Part]:
        """Where the copy begins, for threads whose copy is inside one variable. Tell the search for races."""
        address = machine.registers[place.register]
        found = []
        for part in split(machine, site, address, place.displacement, mask):
            inside = part.offsets + size <= part.allocation.size
            if not inside.all():
                outside = part.some(~inside)
                first = np.full(len(outside.lanes), part.allocation.size)
                report_outside(machine, site, replace(outside, offsets=first))
                if site.store:
                    _set_inside(machine, outside)
            whole = in_block_of(machine, part.some(inside), self.rank if site.kind.writes else None)
            if not site.kind.writes and self.spaces == ("shared", "cluster"):
                whole = replace(whole, owners=whole.lanes % machine.shape.blocks)
            if whole.lanes.size:
                found.append(whole)
                noted, seen = replace(site, size=size), whole
                if self.change is not None and site.kind.writes:
                    noted, seen = self._site(self.change), in_elements(whole, size, self.change.dtype.itemsize)
                transfer = ends("write" if site.kind.writes else "read", seen.lanes)
                note(machine, access_to(seen, noted, transfer))
        return found


def in_elements(part: Part, size: int, element: int) -> Part:
    """Return the same memory, `size` bytes of each thread, element by element."""
    count = size // element
    owners = None if part.owners is None else np.repeat(part.owners, count)
    offsets = (part.offsets[:, np.newaxis] + np.arange(0, size, element)).reshape(-1)
    return Part(part.allocation, offsets, np.repeat(part.lanes, count), owners)


def _places(machine: Machine, part: Part, words: int) -> NDArray[np.intp]:
    """The positions of each thread's words in the flat memory."""
    thread, block = (each[:, np.newaxis] for each in part.copies(machine.shape))
    numbers = (part.offsets >> 2).astype(np.intp)[:, np.newaxis] + np.arange(words)
    return part.allocation.position(numbers, thread, block, machine.shape)


def _set(machine: Machine, part: Part, words: int) -> None:
    if part.allocation.flat_valid is not None:
        part.allocation.flat_valid[_places(machine, part, words)] = WRITTEN


def _set_inside(machine: Machine, part: Part) -> None:
    """Count what copies write before the end of their variable as set, so that its readers aren't accused, too."""
    for offset in np.unique(part.offsets).tolist():
        _set(machine, part.some(part.offsets == offset), (part.allocation.size - offset) // 4)


def _move(machine: Machine, source: Part, target: Part, words: int) -> None:
    """Copy so many words of each thread, and whether they are set."""
    here, there = _places(machine, source, words), _places(machine, target, words)
    target.allocation.flat[there] = source.allocation.flat[here]
    if target.allocation.flat_valid is not None and source.allocation.flat_valid is not None:
        target.allocation.flat_valid[there] = source.allocation.flat_valid[here]


@dataclass(frozen=True, slots=True)
class BulkForm:
    """The meaning of a bulk copy's opcode.

    spaces: from where to where
    barrier: whether it reports to a barrier in shared memory
    several: whether it goes to several blocks of the cluster
    change: of a reduction
    """

    spaces: tuple[str, str]
    barrier: bool
    several: bool = False
    change: Change | None = None


def bulk_form(opcode: str) -> BulkForm | None:
    """Parse the opcode of a bulk copy; None if it isn't one that the device knows."""
    if (match := _REDUCTION.fullmatch(opcode)) is not None:
        return _reduction(match)
    match = _OPCODE.fullmatch(opcode)
    if match is None or (match["end"] == "bulk_group") == bool(match["to"]):
        return None
    way, several = (match["source"], match["to"]), bool(match["several"])
    if way == ("shared::cta", "shared::cta") or (several and way != ("global", "shared::cluster")):
        return None
    if match["to"] is None:
        return BulkForm(("shared", "global"), False)
    return BulkForm((kind_of(match["source"]), kind_of(match["to"])), True, several)


def _reduction(match: re.Match[str]) -> BulkForm | None:
    halves = match["type"] in {"f16", "bf16"}
    change = bulk_change(match["change"], match["type"])
    if change is None or bool(match["rounding"]) != (halves and match["change"] == "add"):
        return None
    if match["to"] is None:
        return BulkForm(("shared", "global"), False, change=change) if match["end"] == "bulk_group" else None
    if match["end"] == "bulk_group" or change.dtype.kind == "f" or halves:
        return None
    return BulkForm(("shared", kind_of(match["to"])), True, change=change)


def bulk_copy(operands: Operands, pc: int, item: Instruction, form: BulkForm) -> BulkCopy:
    target, source = (operands.place(item.operands[at]) for at in (0, 1))
    size = operands.source(item.operands[2], 32)
    ranks = operands.source(item.operands[4], 16) if form.several else None
    return BulkCopy(pc, item.line, form.spaces, target, source, size, ranks, change=form.change)


def bulk_wait(opcode: str) -> tuple[str, ...] | None:
    """The kinds of accesses for which a `wait_group` waits; None for another opcode."""
    match = _WAIT.fullmatch(opcode)
    if match is None:
        return None
    return ("read",) if match["read"] else ("read", "write")


def _of_groups(kind: str, groups: Bytes) -> Transfer:
    return Transfer(("bulk", kind), groups)


class Copy(Protocol):
    """A copy by the async proxy, or a store."""

    @property
    def pc(self) -> int: ...
    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes: ...


def receivers_of(machine: Machine, ranks: int | None, lanes: Lanes) -> Bytes:
    """The number of blocks to which each thread copies. ranks: as in `BulkCopy`."""
    if ranks is None:
        return np.ones(len(lanes), np.int64)
    bits = values_of(machine, ranks, lanes)[:, np.newaxis] >> np.arange(16)
    found: Bytes = (bits & 1).sum(axis=1)
    return found


def bulk_step(copy: Copy) -> Step:
    """Return the step of a copy that belongs to its thread's next group. A copy without bytes is over at once."""

    def run(machine: Machine, mask: Mask | None) -> None:
        groups = machine.groups.present(Grouped.BULK_COPIES)
        moved = copy.perform(machine, mask, lambda kind, lanes: _of_groups(kind, groups[lanes]))
        lanes = machine.active(mask)
        machine.groups.begin(Grouped.BULK_COPIES, lanes[moved[lanes] > 0], copy.pc)
        machine.begun(copy, mask)

    return run


def commit_bulk(machine: Machine, mask: Mask | None) -> None:
    machine.groups.close(Grouped.BULK_COPIES, machine.active(mask))


def bulk_wait_step(kinds: tuple[str, ...], allowed: int) -> Step:
    """Return the step that waits for all groups except the last `allowed` ones."""

    def wait(machine: Machine, mask: Mask | None) -> None:
        lanes, over = machine.groups.end(Grouped.BULK_COPIES, machine.active(mask), allowed)
        for kind in kinds:
            machine.races.ended(_of_groups(kind, over), lanes, 1)

    return wait
