"""Copies of boxes between a tensor in global memory and shared memory (TMA), which the async proxy carries out.

A tensor map describes the tensor and the box. Its bytes are secret. So the kernel only passes on its address, and the
memory at this address knows the map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.atomic import Change, bulk_change, update_elements
from kernels.device.memory.boxes import LINE, REPEAT, Boxes, reach, tile_words, units_of
from kernels.device.memory.bulk import Bytes, Ends, Lanes, Rows, receivers_of
from kernels.device.memory.locate import Site, in_block_of, split
from kernels.device.memory.parts import access_to, note, report_unset, values_of
from kernels.device.ptx.module import Instruction, Malformed, Vector
from kernels.device.state.accesses import Kind, Part, Strength
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Operands, Place
from kernels.device.state.space import WRITTEN, Tensor, kind_of
from kernels.device.state.unset_values import ADDRESS
from kernels.exercise.tensor_map import TensorMap
from kernels.exercise.values import ElementType
from kernels.facts import Mistake
from kernels.wording import plural

_OPCODE = re.compile(
    r"cp(?P<reduces>\.reduce)?\.async\.bulk\.tensor\.(?P<dimensions>[1-5])d"
    r"\.(?:(?P<load>shared::(?:cluster|cta))\.global|global\.shared::cta)"
    r"(?:\.(?P<change>add|min|max|inc|dec|and|or|xor))?(?:\.tile)?"
    r"\.(?P<end>mbarrier::complete_tx::bytes|bulk_group)(?P<several>\.multicast::cluster)?"
    r"(?:\.cta_group::1)?"
)
_ALIGNMENT = 128
_PIECE, _WORD = 16, 4
_MOST_WORDS = 1 << 20
"""So many words are copied at a time."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """The meaning of a tensor copy's opcode.

    load: from global to shared memory; it then reports to a barrier in shared memory
    shared: the space of the shared memory
    several: whether it goes to several blocks of the cluster
    change: of a reduction, what it does to the tensor's elements; "" for a copy
    """

    load: bool
    dimensions: int
    shared: str
    several: bool = False
    change: str = ""


def tensor_form(opcode: str) -> TensorForm | None:
    """Parse the opcode of a tensor copy; None if it isn't one that the device knows."""
    match = _OPCODE.fullmatch(opcode)
    if match is None or (match["end"] == "bulk_group") == bool(match["load"]):
        return None
    if bool(match["change"]) != bool(match["reduces"]) or (match["change"] and match["load"]):
        return None
    several = bool(match["several"])
    if several and match["load"] != "shared::cluster":
        return None
    shared = kind_of(match["load"] or "shared::cta")
    return TensorForm(bool(match["load"]), int(match["dimensions"]), shared, several, match["change"] or "")


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """One instruction. corner: the registers with the coordinates at which the box begins; the rest as in BulkCopy."""

    pc: int
    line: int | None
    form: TensorForm
    map: Place
    corner: tuple[int, ...]
    tile: Place
    ranks: int | None = None
    rank: int | None = None

    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes:
        """Copy for all threads of the mask, and return the bytes of each thread."""
        ranks = () if self.ranks is None else (self.ranks,)
        for register in (self.map.register, *self.corner, self.tile.register, *ranks):
            machine.unset.use(register, self.pc, mask, ADDRESS)
        moved = np.zeros(machine.shape.lanes, np.int64)
        for tensor, lanes in self._tensors(machine, mask):
            moved[lanes] = tensor.map.bytes
            # A copy takes as long as many instructions.
            machine.steps += tensor.map.bytes // _PIECE
            for size, chosen in self._reaches(machine, tensor.map, lanes):
                some = np.zeros(machine.shape.lanes, np.bool_)
                some[chosen] = True
                self._copy(machine, tensor, size, machine.mask(some.reshape(machine.shape.threads, -1)), ends)
        return moved

    def _reaches(self, machine: Machine, tensor_map: TensorMap, lanes: Lanes) -> Iterator[tuple[int, Lanes]]:
        """The bytes of shared memory in which a box lies, each with the threads for which it does."""
        if tensor_map.packed:
            yield tensor_map.bytes, lanes
            return
        lines = (values_of(machine, self.tile.register, lanes) + self.tile.displacement) // LINE % REPEAT
        for line in np.unique(lines).tolist():
            yield reach(tensor_map, line), lanes[lines == line]

    def moved(self, machine: Machine, mask: Mask | None) -> Iterator[tuple[str, bool, Rows]]:
        """What the threads of the mask copied, as in BulkCopy: what is inside the tensor."""
        for tensor, lanes in self._tensors(machine, mask):
            boxes = Boxes.at(tensor.map, lanes, self._corners(machine, lanes), elements=False)
            starts, sizes = boxes.rows()
            places = values_of(machine, self.tile.register, lanes) + self.tile.displacement
            receivers = receivers_of(machine, self.ranks, lanes)
            rows = Rows(lanes, tensor.memory, places, tensor.memory.start + starts, sizes, receivers)
            yield "global", self.form.load, rows

    def _corners(self, machine: Machine, lanes: Lanes) -> NDArray[np.int64]:
        return np.stack([values_of(machine, register, lanes) for register in self.corner], axis=1)

    def _tensors(self, machine: Machine, mask: Mask | None) -> Iterator[tuple[Tensor, Lanes]]:
        """The tensors that the threads name, each with its threads."""
        lanes = machine.active(mask)
        addresses = values_of(machine, self.map.register, lanes) + self.map.displacement
        for address in np.unique(addresses).tolist():
            chosen = lanes[addresses == address]
            memory = machine.memory.find("global", address)
            tensor = None if memory is None or memory.start != address else memory.tensor
            if tensor is None:
                why = "it gives a copy an address without a tensor map. Give it the address of the kernel's parameter"
                stop(machine, self.line, int(chosen[0]), len(chosen), why, Mistake.TENSOR_MAP)
            if len(tensor.map.box) != self.form.dimensions:
                given, needed = self.form.dimensions, len(tensor.map.box)
                why = f"it copies a box of {needed} dimensions with an instruction for {given}"
                stop(machine, self.line, int(chosen[0]), len(chosen), why, Mistake.TENSOR_MAP)
            yield tensor, chosen

    def _copy(self, machine: Machine, tensor: Tensor, size: int, mask: Mask | None, ends: Ends) -> None:
        kind = Kind.COPY if self.form.load else Kind.READ
        site = Site(self.pc, self.line, self.form.shared, size, kind, align=_ALIGNMENT)
        step = max(1, _MOST_WORDS * 4 // tensor.map.bytes)
        for each in split(machine, site, machine.registers[self.tile.register], self.tile.displacement, mask):
            tile = in_block_of(machine, each, self.rank)
            whole, noted = tile, site
            if not tensor.map.packed:
                whole, noted = units_of(tensor.map, tile, _PIECE), replace(site, size=_PIECE)
            note(machine, access_to(whole, noted, ends("write" if self.form.load else "read", whole.lanes)))
            for first in range(0, len(tile.lanes), step):
                self._move(machine, tensor, tile.some(slice(first, first + step)), ends)

    def _move(self, machine: Machine, tensor: Tensor, tile: Part, ends: Ends) -> None:
        corners = self._corners(machine, tile.lanes)
        self._check_corners(machine, tensor, tile, corners)
        boxes = Boxes.at(tensor.map, tile.lanes, corners, elements=bool(self.form.change))
        there, shared = tile_words(machine, tensor.map, tile), tile.allocation
        kind = Kind.READ if self.form.load else Kind.UPDATE if self.form.change else Kind.COPY
        change = self._change(machine, tensor, tile)
        site = Site(self.pc, self.line, "global", tensor.map.type.bytes, kind)
        if change is not None:
            site = replace(site, strength=Strength.DEVICE, change=change.text)
        boxes.note(machine, site.where, tensor.memory, ends)
        if self.form.load:
            shared.flat[there], valid = boxes.read(tensor.memory)
            if shared.flat_valid is not None:
                shared.flat_valid[there] = valid
            return
        words = shared.flat[there]
        valid = np.full(words.shape, WRITTEN, np.uint8) if shared.flat_valid is None else shared.flat_valid[there]
        if change is None:
            boxes.write(tensor.memory, words, valid)
            return
        # A copy passes on what no thread wrote, but a reduction uses it.
        if (valid != WRITTEN).any():
            report_unset(machine, self.pc, units_of(tensor.map, tile, _WORD), valid.reshape(-1, 1))
        part, values = boxes.elements(tensor.memory, words.view(change.dtype))
        update_elements(machine, part, site, change, values)

    def _check_corners(self, machine: Machine, tensor: Tensor, tile: Part, corners: NDArray[np.int64]) -> None:
        """Stop at a box that begins within a piece of memory, or in front of a tensor that changes, as an H200 does."""
        size = tensor.map.place
        bad = np.flatnonzero(corners[:, 0] * size % _PIECE)
        if len(bad):
            why = (
                f"the first coordinate of its box is {int(corners[bad[0], 0])}. With elements of"
                f" {plural(size, 'byte')}, only multiples of {_PIECE // size} are allowed"
            )
            stop(machine, self.line, int(tile.lanes[bad[0]]), len(bad), why, Mistake.TENSOR_MAP)
        before = np.flatnonzero((corners < 0).any(axis=1))
        if len(before) and not self.form.load:
            corner = ", ".join(map(str, corners[before[0]].tolist()))
            why = f"it writes a box at ({corner}), but only loads may begin in front of a tensor"
            stop(machine, self.line, int(tile.lanes[before[0]]), len(before), why, Mistake.TENSOR_MAP)

    def _change(self, machine: Machine, tensor: Tensor, tile: Part) -> Change | None:
        """What a reduction does to the tensor's elements; None for a copy."""
        if not self.form.change:
            return None
        kind = _KINDS.get(tensor.map.type, "")
        bits = kind in {"s32", "u32"} and self.form.change in {"and", "or", "xor"}
        change = bulk_change(self.form.change, f"b{kind[1:]}" if bits else kind)
        # An H200 stops at any other instruction with signed elements of 64 bits.
        if change is None or (kind == "s64" and self.form.change not in {"min", "max"}):
            why = f"a copy can't do `{self.form.change}` with elements of the type `{tensor.map.type}`"
            stop(machine, self.line, int(tile.lanes[0]), len(tile.lanes), why)
        return change


_KINDS = {
    ElementType.FLOAT: "f32",
    ElementType.DOUBLE: "f64",
    ElementType.HALF: "f16",
    ElementType.BFLOAT: "bf16",
    ElementType.INT: "s32",
    ElementType.UNSIGNED: "u32",
    ElementType.LONG: "s64",
}
"""The elements that a reduction may change, as PTX names them."""


def tensor_copy(operands: Operands, pc: int, item: Instruction, form: TensorForm) -> TensorCopy:
    """Read an instruction, whose tensor map with its coordinates counts as two operands."""
    at = 1 if form.load else 0
    corner = item.operands[at + 1]
    if not isinstance(corner, Vector) or len(corner.items) != form.dimensions:
        raise Malformed("a tensor copy with the wrong number of coordinates")
    registers = tuple(operands.source(each, 32) for each in corner.items)
    tile = operands.place(item.operands[0 if form.load else 2])
    ranks = operands.source(item.operands[4], 16) if form.several else None
    return TensorCopy(pc, item.line, form, operands.place(item.operands[at]), registers, tile, ranks)
