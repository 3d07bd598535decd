"""Asynchronous copies from global to shared memory (cp.async). No thread sees them before a wait."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step
from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import note, note_part, read_part, write_part, write_valid
from kernels.device.state.accesses import Access, Flight, Handed, Kind, Part, PendingCopy, Transfer
from kernels.device.state.groups import Grouped
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.unset_values import ADDRESS

_COPY = re.compile(r"cp\.async\.(?:ca|cg)\.shared(?:::cta)?\.global(?:\.L2::\w+)*")


def _issue(machine: Machine, site: Site, part: Part, data: NDArray[np.uint8], valid: NDArray[np.bool_]) -> None:
    groups = machine.groups.present(Grouped.COPIES)[part.lanes]
    # A starting copy as the search for data races sees it
    flight = Flight.begun(len(part.lanes))
    access = Access(site.where, part.allocation, offsets=part.offsets, lanes=part.lanes, flight=flight)
    note(machine, access)
    # An early read is a race, and not also a read of memory that no thread has written.
    write_valid(machine, part, site.size)
    machine.copies.append(PendingCopy(part, data, valid, groups, access, np.ones(len(groups), np.bool_)))
    _tell(machine)


def commit_copies(machine: Machine, mask: Mask | None) -> None:
    machine.groups.close(Grouped.COPIES, machine.active(mask))


def _wait(machine: Machine, mask: Mask | None, allowed: int | None) -> None:
    """End the copies of the given threads, except the last `allowed` groups; None waits for every copy."""
    before = machine.groups.before(Grouped.COPIES, allowed or 0)
    present = np.zeros(machine.shape.lanes, np.bool_)
    present[machine.active(mask)] = True
    for copy in machine.copies:
        lanes = copy.part.lanes
        done = copy.waits & present[lanes]
        if allowed is not None:
            done &= copy.groups <= before[lanes]
        if done.any():
            _write(machine, copy, done)
            machine.races.landed(copy.access, done)
    for line, handed in machine.handed.items():
        over = present & (handed.times > 0)
        if allowed is not None:
            over &= handed.groups <= before
        if (own := np.flatnonzero(over)).size:
            machine.races.ended(Transfer(line, handed.times[own]), own, 1)
    machine.copies = [copy for copy in machine.copies if copy.waits.any()]
    _tell(machine)


def hand_over(
    machine: Machine, lanes: NDArray[np.intp], ends: Callable[[NDArray[np.intp]], Transfer], key: Hashable
) -> None:
    """Let a phase `key` of a barrier in shared memory wait for all earlier copies of these threads.

    ends: what then ends the copies of some threads
    """
    transfer = ends(lanes)
    for line, handed in machine.handed.items():
        if line != transfer.line and (some := lanes[handed.times[lanes] > 0]).size:
            machine.races.ends_with(Transfer(line, handed.times[some]), some, key)
    handed = machine.handed.setdefault(transfer.line, Handed.none(machine.shape.lanes))
    for copy in machine.copies:
        own = copy.waits & np.isin(copy.part.lanes, lanes)
        if own.any():
            _write(machine, copy, own)
            there = copy.part.lanes[own]
            machine.races.transferred(copy.access, own, ends(there))
            handed.groups[there] = copy.groups[own]
            handed.times[there] = ends(there).times
    machine.races.ends_with(transfer, lanes, key)
    machine.copies = [copy for copy in machine.copies if copy.waits.any()]
    _tell(machine)


def _write(machine: Machine, copy: PendingCopy, chosen: NDArray[np.bool_]) -> None:
    """Write what the chosen threads copied. They needn't wait for it any more."""
    part = Part(copy.part.allocation, copy.part.offsets[chosen], copy.part.lanes[chosen])
    write_part(machine, part, copy.data[chosen], copy.valid[chosen])
    copy.waits &= ~chosen


def _tell(machine: Machine) -> None:
    machine.races.copying([copy.access for copy in machine.copies])


def is_copy(opcode: str) -> bool:
    """Whether an opcode starts an asynchronous copy that the device can emulate."""
    return bool(_COPY.fullmatch(opcode))


def copy_step(pc: int, line: int | None, target: Place, source: Place, size: int, given: int | None) -> Step:
    """Start a copy of `size` bytes per thread. Register `given` holds the bytes from memory; the rest are zeros."""
    read = Site(pc, line, "global", size, Kind.READ)
    write = Site(pc, line, "shared", size, Kind.COPY)

    def copy(machine: Machine, mask: Mask | None) -> None:
        for place in (target, source):
            machine.unset.use(place.register, pc, mask, ADDRESS)
        lanes = machine.shape.lanes
        data = np.zeros((lanes, size), np.uint8)
        valid = np.ones(lanes, np.bool_)
        wanted = np.full(lanes, size, np.int64)
        if given is not None:
            dense = machine.registers[given].dense(np.dtype(np.int32))
            whole = np.broadcast_to(dense, (machine.shape.threads, machine.shape.blocks))
            wanted = np.minimum(whole.reshape(-1).astype(np.int64), size)
        # A thread at the edge may copy fewer bytes. The bytes after them may be outside the array.
        for count in np.unique(wanted):
            if count > 0:
                reading = machine.narrow(mask, (wanted == count).reshape(machine.shape.threads, -1))
                if reading is None or reading.count:
                    site = Site(read.pc, read.line, read.space, size, Kind.READ)
                    _read(machine, site, source, reading, data, valid, int(count))
        for part in split(machine, write, machine.registers[target.register], target.displacement, mask):
            _issue(machine, write, part, data[part.lanes], valid[part.lanes])

    return copy


def _read(
    machine: Machine,
    site: Site,
    source: Place,
    mask: Mask | None,
    data: NDArray[np.uint8],
    valid: NDArray[np.bool_],
    count: int,
) -> None:
    exact = Site(site.pc, site.line, site.space, 4 if count % 4 == 0 else 1, Kind.READ)
    for piece in range(0, count, exact.size):
        address, displacement = machine.registers[source.register], source.displacement + piece
        for part in split(machine, exact, address, displacement, mask):
            found, set_before = read_part(machine, part, exact.size)
            note_part(machine, part, exact)
            data[part.lanes, piece : piece + exact.size] = found
            if set_before is not None:
                valid[part.lanes] &= set_before


def wait_step(allowed: int | None) -> Step:
    return lambda machine, mask: _wait(machine, mask, allowed)
