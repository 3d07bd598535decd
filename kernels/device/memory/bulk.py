"""Bulk copies between global and shared memory, which one thread starts and the async proxy carries out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step
from kernels.device.memory.locate import Site, in_block_of, report_outside, split
from kernels.device.memory.parts import note
from kernels.device.state.accesses import Access, Kind, Part, Transfer, Where
from kernels.device.state.groups import Grouped
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import WRITTEN, kind_of
from kernels.device.state.unset_values import ADDRESS, SIZE
from kernels.facts import Mistake

Bytes = NDArray[np.int64]
Lanes = NDArray[np.intp]
Ends = Callable[[str, Lanes], Transfer]
"""What ends the reads ("read") or the writes ("write") of these threads."""

_OPCODE = re.compile(
    r"cp\.async\.bulk\.(?:(?P<to>shared::cluster|shared::cta)\.(?P<source>global|shared::cta)|global\.shared::cta)"
    r"\.(?P<end>mbarrier::complete_tx::bytes|bulk_group)"
    r"(?P<several>\.multicast::cluster)?(?:\.L2::cache_hint)?"
)
_PIECE = 16
_MOST_BYTES = 1 << 18
_MOST_WORDS = 1 << 20
"""So many words are copied at a time."""
COMMIT = "cp.async.bulk.commit_group"
_WAIT = re.compile(r"cp\.async\.bulk\.wait_group(?P<read>\.read)?")


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """One instruction.

    spaces: from where to where
    size: the register with the bytes
    ranks: the register with the blocks of the cluster to which it goes, a bit for each; None for one block
    rank: the block to which this copy goes; None for the block of the address
    """

    pc: int
    line: int | None
    spaces: tuple[str, str]
    target: Place
    source: Place
    size: int
    ranks: int | None = None
    rank: int | None = None

    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes:
        """Copy for all threads of the mask, and return the bytes of each thread."""
        for register, harm in ((self.target.register, ADDRESS), (self.source.register, ADDRESS), (self.size, SIZE)):
            machine.unset.use(register, self.pc, mask, harm)
        grid = machine.shape.threads, machine.shape.blocks
        sizes = np.broadcast_to(machine.registers[self.size].dense(np.dtype(np.int32)), grid).reshape(-1)
        lanes = machine.active(mask)
        bad = lanes[(sizes[lanes] % _PIECE != 0) | (sizes[lanes] < 0)]
        if bad.size:
            why = f"it copies {int(sizes[bad[0]]):,} bytes at once, but only multiples of {_PIECE} are allowed"
            stop(machine, self.line, int(bad[0]), len(bad), why, Mistake.MISALIGNED)
        large = lanes[sizes[lanes] > _MOST_BYTES]
        if large.size:
            why = f"it copies {int(sizes[large[0]]):,} bytes at once, more than shared memory has"
            stop(machine, self.line, int(large[0]), len(large), why)
        for size in np.unique(sizes[lanes]).tolist():
            part = machine.narrow(mask, (sizes == size).reshape(grid))
            if size and (part is None or part.count):
                # A copy takes as long as many instructions.
                machine.steps += size // _PIECE
                self._copy(machine, part, size, ends)
        return sizes.astype(np.int64)

    def _copy(self, machine: Machine, mask: Mask | None, size: int, ends: Ends) -> None:
        reading = Site(self.pc, self.line, self.spaces[0], _PIECE, Kind.READ)
        writing = Site(self.pc, self.line, self.spaces[1], _PIECE, Kind.COPY)
        sources = self._whole(machine, reading, self.source, mask, size, ends)
        targets = self._whole(machine, writing, self.target, mask, size, ends)
        step = max(1, _MOST_WORDS * 4 // size)
        for target in targets:
            # What can't be read is reported, so it counts as set where it goes.
            for first in range(0, len(target.lanes), step):
                _set(machine, _some(target, slice(first, first + step)), size // 4)
            for source in sources:
                both, here, there = np.intersect1d(source.lanes, target.lanes, return_indices=True)
                for first in range(0, len(both), step):
                    part = slice(first, first + step)
                    _move(machine, _some(source, here[part]), _some(target, there[part]), size // 4)

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
            if whole.lanes.size:
                found.append(whole)
                transfer = ends("write" if site.kind.writes else "read", whole.lanes)
                where = Where(self.pc, site.kind, size)
                note(
                    machine,
                    Access(
                        where,
                        whole.allocation,
                        offsets=whole.offsets,
                        lanes=whole.lanes,
                        owners=whole.owners,
                        transfer=transfer,
                    ),
                )
        return found


def _some(part: Part, chosen: Lanes | slice | NDArray[np.bool_]) -> Part:
    return part.some(chosen)


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
        _set(machine, _some(part, part.offsets == offset), (part.allocation.size - offset) // 4)


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
    """

    spaces: tuple[str, str]
    barrier: bool
    several: bool = False


def bulk_form(opcode: str) -> BulkForm | None:
    """Parse the opcode of a bulk copy; None if it isn't one that the device knows."""
    match = _OPCODE.fullmatch(opcode)
    if match is None or (match["end"] == "bulk_group") == bool(match["to"]):
        return None
    way, several = (match["source"], match["to"]), bool(match["several"])
    if way == ("shared::cta", "shared::cta") or (several and way != ("global", "shared::cluster")):
        return None
    if match["to"] is None:
        return BulkForm(("shared", "global"), False)
    return BulkForm((kind_of(match["source"]), kind_of(match["to"])), True, several)


def bulk_wait(opcode: str) -> tuple[str, ...] | None:
    """The kinds of accesses for which a `wait_group` waits; None for another opcode."""
    match = _WAIT.fullmatch(opcode)
    if match is None:
        return None
    return ("read",) if match["read"] else ("read", "write")


def _of_groups(kind: str, groups: Bytes) -> Transfer:
    return Transfer(("bulk", kind), groups)


def in_groups(machine: Machine, mask: Mask | None, pc: int) -> Ends:
    """Let copies of an instruction belong to the present groups of their threads."""
    machine.groups.begin(Grouped.BULK_COPIES, machine.active(mask), pc)
    groups = machine.groups.present(Grouped.BULK_COPIES)
    return lambda kind, lanes: _of_groups(kind, groups[lanes])


class Copy(Protocol):
    """A copy by the async proxy."""

    @property
    def pc(self) -> int: ...
    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes: ...


def bulk_step(copy: Copy) -> Step:
    """Return the step of a copy that belongs to its thread's next group."""

    def run(machine: Machine, mask: Mask | None) -> None:
        copy.perform(machine, mask, in_groups(machine, mask, copy.pc))

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
