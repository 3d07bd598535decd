"""The tags of values in registers during a tracing run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.device.ptx.module import Immediate, Operand, Pair, Register, Vector
from kernels.device.ptx.program import Program
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.values import INTEGER, Array, uniform
from kernels.device.tracing.provenance import Tags


class TaggedRegisters:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._tags: dict[int, Tags] = {}

    def forget(self) -> None:
        """Forget all tags: other threads start."""
        self._tags.clear()

    def any(self, numbers: Sequence[int]) -> bool:
        return any(self._tags[number].any() for number in numbers if number in self._tags)

    def number(self, operand: Operand | None) -> int:
        """Return a register's number; -1 for anything else."""
        if not isinstance(operand, Register):
            return -1
        return self._program.registers.get(operand.name.lstrip("!"), -1)

    def numbers(self, operand: Operand | None) -> tuple[int, ...]:
        if isinstance(operand, Vector):
            return tuple(map(self.number, operand.items))
        if isinstance(operand, Pair):
            return (self.number(operand.first),)
        return (self.number(operand),)

    def get(self, number: int, machine: Machine, mask: Mask | None) -> Tags:
        """Return the tags of all threads, but 0 for those that don't take part."""
        found = np.zeros(machine.shape.lanes, np.int64)
        if number in self._tags:
            active = machine.active(mask)
            found[active] = self._tags[number][active]
        return found

    def set(self, number: int, tags: Tags, machine: Machine, mask: Mask | None) -> None:
        """Set the tags of the threads that take part."""
        if number < 0:
            return
        if number not in self._tags:
            self._tags[number] = np.zeros(machine.shape.lanes, np.int64)
        active = machine.active(mask)
        self._tags[number][active] = tags[active]

    def clear(self, numbers: Sequence[int], machine: Machine, mask: Mask | None) -> None:
        """Remove the tags of the threads that take part."""
        for held in (self._tags[number] for number in numbers if number in self._tags):
            held[machine.active(mask)] = 0

    def content(self, machine: Machine, operand: Operand | None, bits: int) -> Array:
        """Return an operand's value in every thread, as integers; ones if it isn't known."""
        number = self.number(operand)
        value = uniform(operand.value if isinstance(operand, Immediate) else 1, bits)
        if number >= 0:
            value = machine.registers[number]
        grid = machine.shape.threads, machine.shape.blocks
        return np.broadcast_to(value.dense(INTEGER[value.bits]), grid).reshape(-1)
