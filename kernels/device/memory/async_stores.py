"""Stores and updates in the shared memory of another block, which report their bytes to a barrier there."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from kernels.device.memory.access import grid_of
from kernels.device.memory.atomic import Change, bulk_change, update_elements
from kernels.device.memory.bulk import Bytes, Ends
from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import access_to, note
from kernels.device.memory.store import store_element
from kernels.device.ptx.module import SIZES
from kernels.device.state.accesses import Kind, Strength
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import CLUSTER
from kernels.device.state.unset_values import ADDRESS, MEMORY

_OPCODE = re.compile(
    r"(?:st\.async(?:\.weak)?|red\.async\.relaxed\.cluster)\.shared::cluster\.mbarrier::complete_tx::bytes"
    r"(?:\.(?P<change>inc|dec|min|max|add|and|or|xor))?(?:\.v(?P<count>[24]))?\.(?P<type>[busf](?:32|64))"
)


@dataclass(frozen=True, slots=True)
class AsyncForm:
    """The meaning of an opcode. change: the atomic update; None for a store of `count` elements of `size` bytes."""

    size: int
    count: int
    change: Change | None

    @property
    def bytes(self) -> int:
        return self.size * self.count


def async_form(opcode: str) -> AsyncForm | None:
    """Parse the opcode of an asynchronous store or update; return None if it is unknown."""
    match = _OPCODE.fullmatch(opcode)
    if match is None or bool(match["change"]) is not opcode.startswith("red.") or (match["change"] and match["count"]):
        return None
    change = None
    if match["change"] and (change := bulk_change(match["change"], match["type"])) is None:
        return None
    return AsyncForm(SIZES[match["type"]], int(match["count"] or 1), change)


@dataclass(frozen=True, slots=True)
class AsyncStore:
    """One instruction. sources: the registers with its elements."""

    pc: int
    line: int | None
    form: AsyncForm
    target: Place
    sources: tuple[int, ...]

    def perform(self, machine: Machine, mask: Mask | None, ends: Ends) -> Bytes:
        """Store for all threads of the mask, and return the bytes of each thread."""
        machine.unset.use(self.target.register, self.pc, mask, ADDRESS)
        for source in self.sources:
            machine.unset.use(source, self.pc, mask, MEMORY)
        form, change = self.form, self.form.change
        site = Site(self.pc, self.line, CLUSTER, form.bytes, Kind.WRITE)
        if change is not None:
            site = replace(site, kind=Kind.UPDATE, strength=Strength.CLUSTER, change=change.text)
        for part in split(machine, site, machine.registers[self.target.register], self.target.displacement, mask):
            if change is not None:
                operand = np.broadcast_to(machine.registers[self.sources[0]].dense(change.dtype), grid_of(machine))
                update_elements(machine, part, site, change, operand.reshape(-1)[part.lanes])
            else:
                for number, source in enumerate(self.sources):
                    element = replace(part, offsets=part.offsets + number * form.size)
                    store_element(machine, element, form.size, source)
            # The generic proxy carries it out, so it needs no fence between proxies.
            transfer = replace(ends("write", part.lanes), proxy=False)
            note(machine, access_to(part, site, transfer))
        return np.full(machine.shape.lanes, form.bytes, np.int64)
