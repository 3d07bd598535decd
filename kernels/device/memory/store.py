from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Form, Step, access_of, grid_of, quick
from kernels.device.memory.locate import Found, Site, split
from kernels.device.memory.parts import note, note_part, places, write_part
from kernels.device.state.accesses import STORE, Access, Kind, Part, Strength
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import WRITTEN
from kernels.device.state.unset_values import ADDRESS, MEMORY
from kernels.device.state.values import INTEGER, Array, narrowed

_LOW = {1: 0xFF, 2: 0xFFFF, 4: 0xFFFF_FFFF, 8: -1}
_MIX = np.int64(1_000_003)


def store_step(form: Form, pc: int, line: int | None, place: Place, sources: tuple[int, ...]) -> Step:
    strong = form.strength is not Strength.PLAIN
    change = STORE if strong else ""
    site = Site(pc, line, form.space, form.size * form.count, Kind.WRITE, form.strength, change, form.by_warp)

    def store(machine: Machine, mask: Mask | None) -> None:
        unset = machine.unset
        if unset.origins:
            unset.use(place.register, pc, mask, ADDRESS)
        found = quick(machine, site, form, place, mask)
        # Only the slow way keeps the origins of unset values in local memory.
        if found is None or (unset.origins and found.allocation.space == "local"):
            _store_parts(machine, site, form, place, sources, mask)
            return
        if unset.origins:
            for source in sources:
                unset.use(source, pc, mask, MEMORY)
        _store_words(machine, found, form, sources, mask)
        access = access_of(found, site, mask)
        if strong:
            stored = _stored(machine, form.size, sources)
            access = Access(site.where, found.allocation, mask, found.words, found.shift, stored=stored)
        note(machine, access, releases=form.releases)

    return store


def _stored(machine: Machine, size: int, sources: tuple[int, ...]) -> NDArray[np.int64]:
    """Return a number for the bytes that each thread stores; equal bytes have equal numbers."""
    total = np.zeros(machine.shape.lanes, np.int64)
    for source in sources:
        value = machine.registers[source]
        bits = np.broadcast_to(value.dense(INTEGER[value.bits]), grid_of(machine)).reshape(-1).astype(np.int64)
        total = total * _MIX + (bits & _LOW[size])
    return total


def _store_words(machine: Machine, found: Found, form: Form, sources: tuple[int, ...], mask: Mask | None) -> None:
    allocation, words = found.allocation, found.words
    for number, source in enumerate(sources):
        value = narrowed(machine.registers[source], form.size * 8)
        if form.size == 4:
            pieces: list[Array] = [value.dense(np.dtype(np.uint32))]
        else:
            halves = np.ascontiguousarray(value.dense(np.dtype(np.int64)))[..., np.newaxis].view(np.uint32)
            pieces = [halves[..., 0], halves[..., 1]]
        for piece, array in enumerate(pieces):
            shift = found.shift + number * len(pieces) + piece
            allocation.scatter(allocation.words, words, shift, array, mask)
    if allocation.valid is not None and not found.valid:
        for piece in range(form.count * form.size // 4):
            allocation.scatter(allocation.valid, words, found.shift + piece, WRITTEN, mask)
        found.valid = mask is None and allocation.space != "local"


def _store_parts(
    machine: Machine, site: Site, form: Form, place: Place, sources: tuple[int, ...], mask: Mask | None
) -> None:
    """Store thread by thread, for irregular accesses."""
    for part in split(machine, site, machine.registers[place.register], place.displacement, mask):
        for number, source in enumerate(sources):
            element = replace(part, offsets=part.offsets + number * form.size)
            store_element(machine, element, form.size, source)
            if part.allocation.space != "local":
                machine.unset.use(source, site.pc, mask, MEMORY)
        stored = _stored(machine, form.size, sources) if site.change else None
        note_part(machine, part, site, releases=form.releases, stored=stored)


def store_element(machine: Machine, part: Part, size: int, source: int) -> None:
    """Store one element for each listed thread. Local memory may hold unset values, and keeps their origins."""
    value = machine.registers[source]
    dense = np.broadcast_to(value.dense(INTEGER[value.bits]), grid_of(machine)).reshape(-1)[part.lanes]
    data = np.ascontiguousarray(dense).reshape(-1, 1).view(np.uint8)[:, :size]
    origins = machine.unset.origins.get(source)
    if origins is None:
        write_part(machine, part, data)
        return
    unset = np.broadcast_to(origins, grid_of(machine)).reshape(-1)[part.lanes]
    write_part(machine, part, data, unset == 0)
    if part.allocation.space == "local":
        part.allocation.keep_origins().reshape(-1)[places(machine, part)] = unset
