"""Loads, and the parts that loads and stores share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.locate import Found, Site, known_place, locate, split
from kernels.device.memory.parts import note, note_part, places, read_part
from kernels.device.ptx.module import SIZES
from kernels.device.state.accesses import Access, Kind, Strength
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import WRITTEN, Allocation, kind_of
from kernels.device.state.unset_values import ADDRESS
from kernels.device.state.values import Array, Lanes, Value, from_array, widened

Step = Callable[[Machine, Mask | None], None]

_OPCODE = re.compile(
    r"(?P<verb>ld|ldu|st)"
    r"(?:\.(?P<order>weak|volatile|relaxed|acquire|release|mmio))?"
    r"(?:\.(?P<scope>cta|cluster|gpu|sys))?"
    r"(?:\.(?P<space>global|shared::cluster|shared|local|const|param)(?:::cta|::func|::entry)?)?"
    r"(?:\.ca|\.cg|\.cs|\.lu|\.cv|\.wb|\.wt|\.nc)*"
    r"(?:\.L1::\w+|\.L2::\w+)*"
    r"(?:\.v(?P<vector>[24]))?"
    r"\.(?P<type>[busf]\d+)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """The meaning of a load's or store's opcode.

    space: "generic" if only the address shows the space
    acquires, releases: its memory order
    by_warp: whether all threads of a warp make each access together
    """

    store: bool
    space: str
    count: int
    kind: str
    strength: Strength = Strength.PLAIN
    acquires: bool = False
    releases: bool = False
    by_warp: bool = False

    @property
    def size(self) -> int:
        return SIZES[self.kind]


def memory_form(opcode: str) -> Form | None:
    """Parse the opcode of a load or store; return None if it is unknown."""
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
        _strength(match["order"], match["scope"]),
        match["order"] == "acquire",
        match["order"] == "release",
    )


def _strength(order: str | None, scope: str | None) -> Strength:
    if order in {"relaxed", "acquire", "release", "mmio"}:
        return scope_of(scope)
    return Strength.VOLATILE if order == "volatile" else Strength.PLAIN


def scope_of(name: str | None) -> Strength:
    """Return the threads that an atomic or a fence orders; without a scope, the threads of the device."""
    return {"cta": Strength.BLOCK, "cluster": Strength.CLUSTER}.get(name or "", Strength.DEVICE)


@dataclass(frozen=True, slots=True)
class FloatLoad:
    """A load of one float at the address in a register.

    count: counts it, in a counted run
    """

    pc: int
    register: int
    target: int
    count: Step | None = None


def load_step(
    form: Form,
    pc: int,
    line: int | None,
    place: Place,
    targets: tuple[int | None, ...],
    widths: tuple[int, ...],
    keep: bool,
    chosen: tuple[int, bool] | None = None,
) -> Step:
    """Return the step of a load into registers with these `widths`. A None among the targets isn't used.

    chosen: the predicate of the threads that load in the source, and whether it is negated; None for all
    """
    site = Site(pc, line, form.space, form.size * form.count, Kind.READ, form.strength, by_warp=form.by_warp)

    def load(machine: Machine, mask: Mask | None) -> None:
        unset = machine.unset
        if unset.origins:
            unset.use(place.register, pc, mask, ADDRESS)
        found = quick(machine, site, form, place, mask)
        if found is None:
            values, valid = _load_parts(machine, site, form, place, mask)
            for target, value, width in zip(targets, values, widths, strict=True):
                if target is not None:
                    machine.write(target, _fit(value, form.kind, width), mask, keep=keep)
                    _note_unset(machine, target, pc, valid, mask)
            return
        _load_words(machine, found, form, targets, widths, mask, keep=keep)
        allocation = found.allocation
        if not found.valid and allocation.valid is not None:
            _check_valid(machine, found, form, pc, targets, mask)
        found.known = bool(found.readers) and (found.valid or allocation.valid is None)
        reading = mask if chosen is None else _choosing(machine, mask, chosen)
        if reading is None or reading.count:
            note(machine, access_of(found, site, reading), acquires=form.acquires)

    if chosen is None and form.size == 4 and widths == (32,) and targets[0] is not None:
        return _again(load, form, (pc, place.register), targets[0])
    return load


def _choosing(machine: Machine, mask: Mask | None, chosen: tuple[int, bool]) -> Mask | None:
    """Return the threads of a mask whose predicate holds, or doesn't hold if negated."""
    number, negated = chosen
    return machine.narrow(mask, machine.registers[number].dense(np.dtype(np.bool_)) != negated)


def _load_words(
    machine: Machine,
    found: Found,
    form: Form,
    targets: tuple[int | None, ...],
    widths: tuple[int, ...],
    mask: Mask | None,
    *,
    keep: bool,
) -> None:
    for number, target in enumerate(targets):
        if target is None:
            continue
        element = _element(found, form, number)
        if element.bits < widths[number]:
            element = widened(element, widths[number], signed=form.kind[0] == "s")
        machine.write(target, element, mask, keep=keep)
        if machine.unset.origins:
            machine.unset.clear(target, mask)


def _again(load: Step, form: Form, where: tuple[int, int], target: int) -> Step:
    """Return a faster step for a load of one word that all threads repeat from the same places.

    Most loads are of this kind. All others go through `load`.
    """
    pc, register = where
    dtype = np.dtype(np.float32 if form.kind == "f32" else np.int32)

    def load_again(machine: Machine, mask: Mask | None) -> None:
        found = None if mask is not None else known_place(machine.registers[register], pc)
        if found is None or machine.unset.origins or form.acquires:
            load(machine, mask)
            return
        machine.registers[target] = Value(Lanes(found.readers[0]().view(dtype)), 0, 32)
        if found.access is not None and found.allocation.followed:
            machine.races.record(found.access)

    return load_again


def quick(machine: Machine, site: Site, form: Form, place: Place, mask: Mask | None) -> Found | None:
    """Return the place if all threads access whole words of one variable."""
    if form.size < 4:
        return None
    return locate(machine, site, machine.registers[place.register], place.displacement, mask)


def _element(found: Found, form: Form, number: int) -> Value:
    """Return one element of a load in whole words, for every thread."""
    if form.size == 4:
        return from_array(_word(found, number).view(np.float32 if form.kind == "f32" else np.int32))
    low, high = _word(found, 2 * number), _word(found, 2 * number + 1)
    joined = np.stack((low, high), axis=-1).view(np.int64)[..., 0]
    return from_array(joined.view(np.float64) if form.kind == "f64" else joined)


def _word(found: Found, number: int) -> Array:
    if found.readers:
        return found.readers[number]()
    allocation = found.allocation
    return allocation.gather(allocation.words, found.words, found.shift + number)


def access_of(found: Found, site: Site, mask: Mask | None) -> Access:
    """Return an access by whole words as the search for data races sees it."""
    if mask is None and found.access is not None:
        return found.access
    return Access(site.where, found.allocation, mask, found.words, found.shift)


def _check_valid(
    machine: Machine, found: Found, form: Form, pc: int, targets: tuple[int | None, ...], mask: Mask | None
) -> None:
    """Mark the registers of threads that loaded unwritten memory."""
    allocation, words = found.allocation, found.words
    assert allocation.valid is not None
    found.valid = allocation.space != "local"  # local memory may become unset again
    per_element = form.size // 4
    for number, target in enumerate(targets):
        good = np.ones((1, 1), np.bool_)
        for piece in range(per_element):
            shift = found.shift + number * per_element + piece
            good = good & (allocation.gather(allocation.valid, words, shift) == WRITTEN)
        if good.all():
            continue
        found.valid = False
        missing = np.broadcast_to(~good if mask is None else ~good & mask.array, grid_of(machine))
        if target is not None and missing.any():
            lane = int(np.flatnonzero(missing)[0])
            base = 0 if words is None else int(np.broadcast_to(words.array, grid_of(machine)).reshape(-1)[lane])
            offset = (base + found.shift + number * per_element) * 4
            carried = None
            if allocation.origins is not None:
                shift = found.shift + number * per_element
                carried = allocation.gather(allocation.origins, words, shift)
            machine.unset.from_memory(target, pc, missing, mask, (allocation, offset, lane), carried)


def grid_of(machine: Machine) -> tuple[int, int]:
    """Return the shape of an array with an element for every thread of the chunk."""
    return machine.shape.threads, machine.shape.blocks


@dataclass(slots=True)
class _Missing:
    """Which threads loaded an unset value, its origins if known, and one of the places."""

    lanes: NDArray[np.bool_]
    carried: NDArray[np.int32]
    element: tuple[Allocation, int, int] | None = None


def _load_parts(
    machine: Machine, site: Site, form: Form, place: Place, mask: Mask | None
) -> tuple[list[Array], _Missing]:
    """Load thread by thread, for irregular accesses. A thread that may not read gets 0."""
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
                missing.carried[part.lanes] = part.allocation.origins.reshape(-1)[places(machine, part)]
        note_part(machine, part, site, acquires=form.acquires)
    dtype = _DTYPES[form.kind]
    columns = np.ascontiguousarray(bytes_of.reshape(lanes, form.count, form.size).transpose(1, 0, 2))
    return [column.view(dtype).reshape(grid_of(machine)) for column in columns], missing


def _note_unset(machine: Machine, target: int, pc: int, missing: _Missing, mask: Mask | None) -> None:
    if missing.element is not None:
        lanes, carried = missing.lanes.reshape(grid_of(machine)), missing.carried.reshape(grid_of(machine))
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
    """Return a loaded element for a register that may be wider."""
    value = from_array(np.ascontiguousarray(array))
    return value if value.bits >= width else widened(value, width, signed=kind[0] == "s")
