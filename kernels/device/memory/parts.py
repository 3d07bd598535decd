"""Read and write memory for a list of threads, byte by byte, for irregular accesses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.locate import Site
from kernels.device.state.accesses import Access, Part, Transfer
from kernels.device.state.machine import Machine
from kernels.device.state.space import WRITTEN


def read_part(machine: Machine, part: Part, size: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Return the bytes that the listed threads see, and whether all of them were written."""
    thread, block = part.copies(machine.shape)
    first = (part.offsets >> 2).astype(np.intp)
    count = max(1, size // 4)
    words = np.empty((len(part.lanes), count), np.uint32)
    valid = None if part.allocation.flat_valid is None else np.ones(len(part.lanes), np.bool_)
    for number in range(count):
        index = part.allocation.position(first + number, thread, block, machine.shape)
        words[:, number] = part.allocation.flat[index]
        if valid is not None and part.allocation.flat_valid is not None:
            bits = _bits(part.offsets, size)
            valid &= part.allocation.flat_valid[index] & bits == bits
    if size < 4:
        words >>= ((part.offsets & 3) * 8).astype(np.uint32)[:, np.newaxis]
    return words.view(np.uint8).reshape(len(part.lanes), -1)[:, :size], valid


def report_unset(machine: Machine, pc: int, part: Part, valid: NDArray[np.uint8]) -> None:
    """Report that threads use memory that no thread wrote.

    valid: for each thread, the bits of its words from its offset on
    """
    bad = np.argwhere(valid != WRITTEN)
    if len(bad):
        number, word = bad[0].tolist()
        element = part.allocation, int(part.offsets[number]) + 4 * word, int(part.lanes[number])
        machine.unset.report_memory(pc, element, len(bad))


def values_of(machine: Machine, register: int, lanes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the whole numbers in a register, for the listed threads."""
    value = machine.registers[register]
    dense = value.dense(np.dtype(f"i{value.bits // 8}")).astype(np.int64)
    found: NDArray[np.int64] = np.broadcast_to(dense, (machine.shape.threads, machine.shape.blocks)).reshape(-1)[lanes]
    return found


def places(machine: Machine, part: Part, number: int = 0) -> NDArray[np.intp]:
    """Return the positions of the listed threads' words in the flat memory, from their first on."""
    thread, block = part.copies(machine.shape)
    return part.allocation.position((part.offsets >> 2).astype(np.intp) + number, thread, block, machine.shape)


def write_part(machine: Machine, part: Part, data: NDArray[np.uint8], valid: NDArray[np.bool_] | None = None) -> None:
    """Set the bytes of the listed threads. If two write to the same place, the last one stays."""
    size = data.shape[1]
    thread, block = part.copies(machine.shape)
    first = (part.offsets >> 2).astype(np.intp)
    allocation = part.allocation
    for number in range(max(1, size // 4)):
        index = allocation.position(first + number, thread, block, machine.shape)
        if size >= 4:
            words = np.ascontiguousarray(data[:, number * 4 : number * 4 + 4]).view(np.uint32)[:, 0]
            allocation.flat[index] = words
        else:
            raw = allocation.flat.view(np.uint8)
            for byte in range(size):
                raw[index * 4 + (part.offsets & 3) + byte] = data[:, byte]
        if allocation.flat_valid is not None:
            bits = _bits(part.offsets, size)
            if valid is not None:
                # Several bytes share a word. Plain indexing would keep only the last change of each word.
                np.bitwise_and.at(allocation.flat_valid, index, ~bits)
                bits = np.where(valid, bits, np.uint8(0))
            np.bitwise_or.at(allocation.flat_valid, index, bits)


def write_valid(machine: Machine, part: Part, size: int) -> None:
    """Count whole words of the listed threads as written."""
    if part.allocation.flat_valid is not None:
        for number in range(size // 4):
            part.allocation.flat_valid[places(machine, part, number)] = WRITTEN


def _bits(offsets: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Return the bits of the bytes that an access of `size` bytes uses in its first word."""
    if size >= 4:
        return np.full(offsets.shape, WRITTEN, np.uint8)
    return ((1 << size) - 1 << (offsets & 3)).astype(np.uint8)


def note_part(
    machine: Machine,
    part: Part,
    site: Site,
    *,
    acquires: bool = False,
    releases: bool = False,
    failed: NDArray[np.bool_] | None = None,
    stored: NDArray[np.int64] | None = None,
) -> None:
    """Report an access that was made thread by thread to the search for data races."""
    access = access_to(part, site)
    access.failed, access.stored = failed, stored
    note(machine, access, acquires=acquires, releases=releases)


def access_to(part: Part, site: Site, transfer: Transfer | None = None) -> Access:
    """Return an access by some threads as the search for data races sees it."""
    return Access(
        site.where, part.allocation, offsets=part.offsets, lanes=part.lanes, owners=part.owners, transfer=transfer
    )


def note(machine: Machine, access: Access, *, acquires: bool = False, releases: bool = False) -> None:
    """Report an access to the search for data races, if its memory is watched."""
    allocation = access.allocation
    # Only its own thread can use local memory.
    if allocation.space == "local":
        return
    if allocation.space == "global":
        if access.where.kind.writes:
            allocation.write_by(access.where.pc)
        # Memory that is only read can't race. If a write follows, the launch runs again.
        elif not allocation.followed:
            allocation.seen = True
            return
    if access.where.strength.atomic:
        machine.races.update(access, acquires=acquires, releases=releases)
    else:
        machine.races.record(access)
