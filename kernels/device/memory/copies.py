"""Asynchronous copies from global to shared memory (cp.async): seen by nobody before they are waited for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.execution.machine import Machine
from kernels.device.execution.mask import Mask
from kernels.device.memory.access import Place, Step
from kernels.device.memory.locate import Part, Site, split
from kernels.device.memory.parts import note, note_part, read_part, write_part
from kernels.device.observers.accesses import Access, Flight, Kind
from kernels.device.observers.unset import ADDRESS

_COPY = re.compile(r"cp\.async\.(?:ca|cg)\.shared(?:::cta)?\.global(?:\.L2::\w+)*")


@dataclass(slots=True)
class _Pending:
    """A copy under way.

    groups: for each thread the number of the group that its copy will belong to
    access: how the search for data races is told of it
    waits: for each thread whether it has yet to wait
    """

    part: Part
    data: NDArray[np.uint8]
    valid: NDArray[np.bool_]
    groups: NDArray[np.int64]
    access: Access
    waits: NDArray[np.bool_]


class Copies:
    """The asynchronous copies of one chunk that nobody has waited for yet."""

    def __init__(self) -> None:
        self._pending: list[_Pending] = []
        self._commits: NDArray[np.int64] | None = None

    def issue(
        self,
        machine: Machine,
        site: Site,
        part: Part,
        data: NDArray[np.uint8],
        valid: NDArray[np.bool_],
    ) -> None:
        """Starts a copy of `data` to the places of `part`."""
        groups = self._counts(machine)[part.lanes]
        access = _under_way(machine, site, part)
        self._pending.append(_Pending(part, data, valid, groups, access, np.ones(len(groups), np.bool_)))
        self._tell(machine)

    def commit(self, machine: Machine, mask: Mask | None) -> None:
        """Closes the current group of the given threads."""
        self._counts(machine)[machine.active(mask)] += 1

    def wait(self, machine: Machine, mask: Mask | None, allowed: int | None) -> None:
        """Ends the copies of the given threads but for the last `allowed` groups; None waits for every copy."""
        counts = self._counts(machine)
        present = np.zeros(machine.shape.lanes, np.bool_)
        present[machine.active(mask)] = True
        for copy in self._pending:
            lanes = copy.part.lanes
            done = copy.waits & present[lanes]
            if allowed is not None:
                done &= copy.groups < counts[lanes] - allowed
            if done.any():
                part = Part(copy.part.allocation, copy.part.offsets[done], lanes[done])
                write_part(machine, part, copy.data[done], copy.valid[done])
                copy.waits &= ~done
                machine.races.landed(copy.access, done)
        self._pending = [copy for copy in self._pending if copy.waits.any()]
        self._tell(machine)

    def _counts(self, machine: Machine) -> NDArray[np.int64]:
        if self._commits is None:
            self._commits = np.zeros(machine.shape.lanes, np.int64)
        return self._commits

    def _tell(self, machine: Machine) -> None:
        machine.races.copying([copy.access for copy in self._pending])


def _under_way(machine: Machine, site: Site, part: Part) -> Access:
    """Tells the search for data races of a copy that begins."""
    flight = Flight.begun(len(part.lanes))
    access = Access(site.where, part.allocation, offsets=part.offsets, lanes=part.lanes, flight=flight)
    note(machine, access)
    return access


def is_copy(opcode: str) -> bool:
    """Whether an opcode starts an asynchronous copy of the kind that is known."""
    return bool(_COPY.fullmatch(opcode))


def copy_step(pc: int, line: int | None, target: Place, source: Place, size: int, given: int | None) -> Step:
    """Starts a copy of `size` bytes per thread; register `given` says how many come from memory, the rest are zeros."""
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
        for count in np.unique(wanted):
            if count > 0:
                reading = machine.narrow(mask, (wanted == count).reshape(machine.shape.threads, -1))
                if reading is None or reading.count:
                    site = Site(read.pc, read.line, read.space, size, Kind.READ)
                    _read(machine, site, source, reading, data, valid, int(count))
        for part in split(machine, write, machine.registers[target.register], target.displacement, mask):
            machine.copies.issue(machine, write, part, data[part.lanes], valid[part.lanes])

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


def commit_step() -> Step:
    """Closes a group of copies."""
    return lambda machine, mask: machine.copies.commit(machine, mask)


def wait_step(allowed: int | None) -> Step:
    """Waits for copies."""
    return lambda machine, mask: machine.copies.wait(machine, mask, allowed)
