"""Reads and writes memory for a list of threads, byte by byte: for whatever is not regular."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.locate import Part, Site
from kernels.device.machine import Machine
from kernels.device.observers.races import Access, Kind


def read_part(machine: Machine, part: Part, size: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """The bytes that the listed threads see, and whether all of them were written."""
    thread, block = np.divmod(part.lanes, machine.shape.blocks)
    first = (part.offsets >> 2).astype(np.intp)
    count = max(1, size // 4)
    words = np.empty((len(part.lanes), count), np.uint32)
    valid = None if part.allocation.flat_valid is None else np.ones(len(part.lanes), np.bool_)
    for number in range(count):
        index = part.allocation.position(first + number, thread, block, machine.shape)
        words[:, number] = part.allocation.flat[index]
        if valid is not None and part.allocation.flat_valid is not None:
            valid &= part.allocation.flat_valid[index]
    if size < 4:
        words >>= ((part.offsets & 3) * 8).astype(np.uint32)[:, np.newaxis]
    return words.view(np.uint8).reshape(len(part.lanes), -1)[:, :size], valid


def places(machine: Machine, part: Part) -> NDArray[np.intp]:
    """Where in the flat memory the first words of the listed threads lie."""
    thread, block = np.divmod(part.lanes, machine.shape.blocks)
    return part.allocation.position((part.offsets >> 2).astype(np.intp), thread, block, machine.shape)


def write_part(
    machine: Machine, part: Part, data: NDArray[np.uint8], valid: NDArray[np.bool_] | None = None
) -> None:
    """Sets the bytes of the listed threads; where two write the same place, the last one stays."""
    size = data.shape[1]
    thread, block = np.divmod(part.lanes, machine.shape.blocks)
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
            allocation.flat_valid[index] = True if valid is None else valid


def note_part(machine: Machine, part: Part, site: Site, kind: Kind) -> None:
    """Tells the observers of an access that was made thread by thread."""
    if part.allocation.space == "shared":
        machine.races.record(
            Access(site.pc, part.allocation, kind, site.size, offsets=part.offsets, lanes=part.lanes)
        )
    elif part.allocation.stored and not kind.writes:
        if site.size >= 4:
            words = (part.offsets >> 2).astype(np.intp)
            for piece in range(site.size // 4):
                machine.stores.read(machine, site.pc, part.allocation, words + piece, part.lanes)
    elif part.allocation.space == "global" and kind.writes:
        unit = 4 if site.size >= 4 else 1
        cells = (part.offsets // unit).astype(np.intp)
        for piece in range(site.size // unit):
            machine.stores.record(machine, site.pc, part.allocation, cells + piece, part.lanes, unit)
