"""Loads and stores."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.locate import Found, Part, Site, locate, split
from kernels.device.machine import Machine
from kernels.device.mask import Mask
from kernels.device.memory import Allocation, kind_of
from kernels.device.observers.races import Access, Kind
from kernels.device.observers.unset import ADDRESS, MEMORY
from kernels.device.ptx import SIZES
from kernels.device.values import INTEGER, Array, Value, from_array, widened

Step = Callable[[Machine, Mask | None], None]

_OPCODE = re.compile(
    r"(?P<verb>ld|ldu|st)"
    r"(?P<order>\.weak|\.volatile|\.relaxed|\.acquire|\.release|\.mmio)?"
    r"(?:\.cta|\.cluster|\.gpu|\.sys)?"
    r"(?:\.(?P<space>global|shared|local|const|param)(?:::cta|::func|::entry)?)?"
    r"(?:\.ca|\.cg|\.cs|\.lu|\.cv|\.wb|\.wt|\.nc)*"
    r"(?:\.L1::\w+|\.L2::\w+)*"
    r"(?:\.v(?P<vector>[24]))?"
    r"\.(?P<type>[busf]\d+)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """What the opcode of a load or store says.

    space: "generic" where the address itself says which space is meant
    """

    store: bool
    space: str
    count: int
    kind: str

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return SIZES[self.kind]


def memory_form(opcode: str) -> Form | None:
    """Reads the opcode of a load or store; None where it is not one that is known."""
    match = _OPCODE.fullmatch(opcode)
    if match is None or match["type"] not in SIZES or SIZES[match["type"]] > 8:
        return None
    space = match["space"] or "generic"
    generic = space in {"generic", "param"}
    return Form(
        match["verb"] == "st",
        "generic" if generic else kind_of(space),
        int(match["vector"] or 1),
        match["type"],
    )


@dataclass(frozen=True, slots=True)
class Place:
    """The address operand: a register's number and a displacement."""

    register: int
    displacement: int


def load_step(
    form: Form,
    pc: int,
    line: int | None,
    place: Place,
    targets: tuple[int | None, ...],
    widths: tuple[int, ...],
    keep: bool,
) -> Step:
    """A load into registers; `widths` are theirs, a None among the targets is not wanted."""
    site = Site(pc, line, form.space, form.size * form.count, store=False)

    def load(machine: Machine, mask: Mask | None) -> None:
        unset = machine.unset
        if unset.origins:
            unset.use(place.register, pc, mask, ADDRESS)
        found = _quick(machine, site, form, place, mask)
        if found is None:
            values, valid = _load_parts(machine, site, form, place, mask)
            for target, value, width in zip(targets, values, widths, strict=True):
                if target is not None:
                    machine.write(target, _fit(value, form.kind, width), mask, keep=keep)
                    _note_unset(machine, target, pc, valid, mask)
            return
        for number, target in enumerate(targets):
            if target is not None:
                element = _element(machine, found, form, number)
                if element.bits < widths[number]:
                    element = widened(element, widths[number], signed=form.kind[0] == "s")
                machine.write(target, element, mask, keep=keep)
                if unset.origins:
                    unset.clear(target, mask)
        allocation = found.allocation
        if not found.valid and allocation.valid is not None:
            _check_valid(machine, found, form, pc, targets, mask)
        if allocation.space == "shared":
            machine.races.record(_access(found, site, Kind.READ, mask))

    return load


def _quick(machine: Machine, site: Site, form: Form, place: Place, mask: Mask | None) -> Found | None:
    """Where all threads access whole words of one variable, if that is so."""
    if form.size < 4:
        return None
    return locate(machine, site, machine.registers[place.register], place.displacement, mask)


def _element(machine: Machine, found: Found, form: Form, number: int) -> Value:
    """One element of a load in whole words, for every thread."""
    if form.size == 4:
        return from_array(_word(machine, found, number).view(np.float32 if form.kind == "f32" else np.int32))
    low, high = _word(machine, found, 2 * number), _word(machine, found, 2 * number + 1)
    joined = np.stack((low, high), axis=-1).view(np.int64)[..., 0]
    return from_array(joined.view(np.float64) if form.kind == "f64" else joined)


def _word(machine: Machine, found: Found, number: int) -> Array:
    if found.readers:
        return found.readers[number]()
    allocation = found.allocation
    return allocation.gather(allocation.words, found.words, found.shift + number, machine.shape)


def _access(found: Found, site: Site, kind: Kind, mask: Mask | None) -> Access:
    if mask is None and found.access is not None:
        return found.access
    return Access(site.pc, found.allocation, kind, site.size, mask, found.words, found.shift)


def _check_valid(
    machine: Machine, found: Found, form: Form, pc: int, targets: tuple[int | None, ...], mask: Mask | None
) -> None:
    """Marks the registers of threads that loaded what nobody wrote."""
    allocation, words = found.allocation, found.words
    assert allocation.valid is not None
    found.valid = allocation.space != "local"  # local memory may become unset again
    per_element = form.size // 4
    for number, target in enumerate(targets):
        good = np.ones((1, 1), np.bool_)
        for piece in range(per_element):
            shift = found.shift + number * per_element + piece
            good = good & allocation.gather(allocation.valid, words, shift, machine.shape)
        if good.all():
            continue
        found.valid = False
        missing = np.broadcast_to(~good if mask is None else ~good & mask.array, _grid(machine))
        if target is not None and missing.any():
            lane = int(np.flatnonzero(missing)[0])
            base = 0 if words is None else int(np.broadcast_to(words.array, _grid(machine)).reshape(-1)[lane])
            offset = (base + found.shift + number * per_element) * 4
            carried = None
            if allocation.origins is not None:
                carried = allocation.gather(
                    allocation.origins, words, found.shift + number * per_element, machine.shape
                )
            machine.unset.from_memory(target, pc, missing, mask, (allocation, offset, lane), carried)


def _grid(machine: Machine) -> tuple[int, int]:
    return machine.shape.threads, machine.shape.blocks


@dataclass(slots=True)
class _Missing:
    """Which threads loaded something unset, where that came from if it is known, and one of the places."""

    lanes: NDArray[np.bool_]
    carried: NDArray[np.int32]
    element: tuple[Allocation, int, int] | None = None


def _load_parts(
    machine: Machine, site: Site, form: Form, place: Place, mask: Mask | None
) -> tuple[list[Array], _Missing]:
    """The load thread by thread, for whatever is not regular; what may not be read becomes 0."""
    lanes = machine.shape.lanes
    bytes_of = np.zeros((lanes, form.count * form.size), np.uint8)
    missing = _Missing(np.zeros(lanes, np.bool_), np.zeros(lanes, np.int32))
    for part in split(machine, site, machine.registers[place.register], place.displacement, mask):
        data, valid = read_part(machine, part, site.size)
        bytes_of[part.lanes] = data
        if valid is not None and not valid.all():
            bad = part.lanes[~valid]
            missing.lanes[bad] = True
            missing.element = part.allocation, int(part.offsets[~valid][0]), int(bad[0])
            if part.allocation.origins is not None:
                missing.carried[part.lanes] = part.allocation.origins.reshape(-1)[_places(machine, part)]
        if part.allocation.space == "shared":
            machine.races.record(
                Access(site.pc, part.allocation, Kind.READ, site.size, offsets=part.offsets, lanes=part.lanes)
            )
    dtype = _DTYPES[form.kind]
    columns = np.ascontiguousarray(bytes_of.reshape(lanes, form.count, form.size).transpose(1, 0, 2))
    return [column.view(dtype).reshape(_grid(machine)) for column in columns], missing


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


def _places(machine: Machine, part: Part) -> NDArray[np.intp]:
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


def _note_unset(machine: Machine, target: int, pc: int, missing: _Missing, mask: Mask | None) -> None:
    if missing.element is not None:
        lanes, carried = missing.lanes.reshape(_grid(machine)), missing.carried.reshape(_grid(machine))
        machine.unset.from_memory(target, pc, lanes, mask, missing.element, carried)
    elif machine.unset.origins:
        machine.unset.clear(target, mask)


_DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "b8": np.dtype(np.uint8), "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8),
    "b16": np.dtype(np.int16), "u16": np.dtype(np.uint16), "s16": np.dtype(np.int16), "f16": np.dtype(np.int16),
    "b32": np.dtype(np.int32), "u32": np.dtype(np.int32), "s32": np.dtype(np.int32),
    "b64": np.dtype(np.int64), "u64": np.dtype(np.int64), "s64": np.dtype(np.int64),
}  # fmt: skip


def _fit(array: Array, kind: str, width: int) -> Value:
    """A loaded element in a register that may be wider."""
    value = from_array(np.ascontiguousarray(array))
    return value if value.bits >= width else widened(value, width, signed=kind[0] == "s")


def store_step(form: Form, pc: int, line: int | None, place: Place, sources: tuple[int, ...]) -> Step:
    """A store of registers."""
    site = Site(pc, line, form.space, form.size * form.count, store=True)

    def store(machine: Machine, mask: Mask | None) -> None:
        unset = machine.unset
        if unset.origins:
            unset.use(place.register, pc, mask, ADDRESS)
        found = _quick(machine, site, form, place, mask)
        if found is None or (unset.origins and found.allocation.space == "local"):
            _store_parts(machine, site, form, place, sources, mask)
            return
        if unset.origins:
            for source in sources:
                unset.use(source, pc, mask, MEMORY)
        _store_words(machine, found, form, sources, mask)
        _note_store(machine, found, site, mask)

    return store


def _store_words(
    machine: Machine, found: Found, form: Form, sources: tuple[int, ...], mask: Mask | None
) -> None:
    allocation, words, grid = found.allocation, found.words, machine.shape
    for number, source in enumerate(sources):
        value = machine.registers[source]
        if form.size == 4:
            pieces: list[Array] = [value.dense(np.dtype(np.uint32))]
        else:
            halves = np.ascontiguousarray(value.dense(np.dtype(np.int64)))[..., np.newaxis].view(np.uint32)
            pieces = [halves[..., 0], halves[..., 1]]
        for piece, array in enumerate(pieces):
            shift = found.shift + number * len(pieces) + piece
            allocation.scatter(allocation.words, words, shift, grid, array, mask)
    if allocation.valid is not None and not found.valid:
        for piece in range(form.count * form.size // 4):
            allocation.scatter(allocation.valid, words, found.shift + piece, grid, True, mask)
        found.valid = mask is None and allocation.space != "local"


def _note_store(machine: Machine, found: Found, site: Site, mask: Mask | None) -> None:
    """Tells the observers of a store in whole words."""
    allocation = found.allocation
    if allocation.space == "shared":
        machine.races.record(_access(found, site, Kind.WRITE, mask))
    elif allocation.space == "global":
        lanes = machine.active(mask)
        base = np.zeros((1, 1), np.intp) if found.words is None else found.words.array
        whole = np.broadcast_to(base, _grid(machine)).reshape(-1)
        words = whole[lanes] + found.shift
        for piece in range(site.size // 4):
            machine.stores.record(machine, site.pc, allocation, words + piece, lanes)


def _store_parts(
    machine: Machine, site: Site, form: Form, place: Place, sources: tuple[int, ...], mask: Mask | None
) -> None:
    """The store thread by thread, for whatever is not regular."""
    for part in split(machine, site, machine.registers[place.register], place.displacement, mask):
        for number, source in enumerate(sources):
            element = Part(part.allocation, part.offsets + number * form.size, part.lanes)
            _store_element(machine, element, form.size, source)
            if part.allocation.space != "local":
                machine.unset.use(source, site.pc, mask, MEMORY)
        note_part(machine, part, site, Kind.WRITE)


def _store_element(machine: Machine, part: Part, size: int, source: int) -> None:
    """One element for each of the listed threads. Local memory may hold unset values, and keeps whose they are."""
    value = machine.registers[source]
    dense = np.broadcast_to(value.dense(INTEGER[value.bits]), _grid(machine)).reshape(-1)[part.lanes]
    data = np.ascontiguousarray(dense).reshape(-1, 1).view(np.uint8)[:, :size]
    origins = machine.unset.origins.get(source)
    if origins is None:
        write_part(machine, part, data)
        return
    unset = np.broadcast_to(origins, _grid(machine)).reshape(-1)[part.lanes]
    write_part(machine, part, data, unset == 0)
    if part.allocation.space == "local":
        part.allocation.keep_origins().reshape(-1)[_places(machine, part)] = unset


def note_part(machine: Machine, part: Part, site: Site, kind: Kind) -> None:
    """Tells the observers of an access that was made thread by thread."""
    if part.allocation.space == "shared":
        machine.races.record(
            Access(site.pc, part.allocation, kind, site.size, offsets=part.offsets, lanes=part.lanes)
        )
    elif part.allocation.space == "global" and kind.writes:
        unit = 4 if site.size >= 4 else 1
        cells = (part.offsets // unit).astype(np.intp)
        for piece in range(site.size // unit):
            machine.stores.record(machine, site.pc, part.allocation, cells + piece, part.lanes, unit)
