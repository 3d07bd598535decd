"""Lower and run programs with counting. The ordinary way doesn't know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kernels.device.arithmetic import operation
from kernels.device.counting.counting import Counted, Counting
from kernels.device.counting.counts import Verb
from kernels.device.counting.merging import Merge, candidates
from kernels.device.execution.blocks import CodeBlock
from kernels.device.execution.lower import LoweredStep, Lowering
from kernels.device.execution.schedule import ChunkRun
from kernels.device.memory.access import FloatLoad, Step, memory_form
from kernels.device.memory.atomic import atomic_form
from kernels.device.memory.bulk import BulkCopy
from kernels.device.memory.copies import is_copy
from kernels.device.memory.tensor_copies import TensorCopy
from kernels.device.ptx.module import Immediate, Instruction, Pair, Vector
from kernels.device.ptx.program import Program
from kernels.device.state.findings import Findings
from kernels.device.state.geometry import Geometry
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import CLUSTER, Memory, kind_of
from kernels.device.tensor.access import threads_below
from kernels.device.tensor.forms import (  # fmt: skip
    EightRows,
    MatrixAccess,
    Multiplication,
    eight_rows,
    matrix_access,
    multiplication,
    weight,
)
from kernels.device.tensor.lowering import matrix_addresses
from kernels.device.tensor.requests import ROW_BYTES, requests
from kernels.device.tensor.wgmma import WarpgroupForm, warpgroup_form

_NO_MEMORY = {"const", "param"}


class CountedMachine(Machine):
    __slots__ = ("counting",)

    def __init__(
        self, geometry: Geometry, memory: Memory, findings: Findings, registers: int, counting: Counting
    ) -> None:
        super().__init__(geometry, memory, findings, registers)
        self.counting = counting

    def begun(self, copy: object, mask: Mask | None) -> None:
        """Count a bulk copy. One to several blocks of a cluster reads global memory once."""
        assert isinstance(copy, BulkCopy | TensorCopy)
        for space, loads, rows in copy.moved(self, mask):
            self.counting.copied(self, copy.pc, Verb.BULK_LOAD if loads else Verb.BULK_STORE, space, rows)


def _counting(machine: Machine) -> Counting:
    assert isinstance(machine, CountedMachine)
    return machine.counting


def count_step(accesses: Sequence[Counted]) -> Step:
    def count(machine: Machine, mask: Mask | None) -> None:
        count = _counting(machine).access
        for access in accesses:
            count(machine, access, mask)

    return count


def counted_step(run: Step, count: Step) -> Step:
    def counted(machine: Machine, mask: Mask | None) -> None:
        count(machine, mask)
        run(machine, mask)

    return counted


def counted_copy(run: Step, read: Counted, write: Counted, given: int | None) -> Step:
    """Do the same for an asynchronous copy, which reads nothing if it only writes zeros."""

    def counted(machine: Machine, mask: Mask | None) -> None:
        reading = mask
        if given is not None:
            size = machine.registers[given].dense(np.dtype(np.int32))
            reading = machine.narrow(mask, size > 0)
        if reading is None or reading.count:
            _counting(machine).access(machine, read, reading)
        _counting(machine).access(machine, write, mask)
        run(machine, mask)

    return counted


def counted_work(run: Step, pc: int) -> Step:
    """Return a step that notes which threads take part in a guarded computation."""

    def counted(machine: Machine, mask: Mask | None) -> None:
        _counting(machine).guarded(pc, mask)
        run(machine, mask)

    return counted


class CountedLowering(Lowering):
    """Makes steps that count themselves. Inside a guard, only threads that take part count.

    flops: for each instruction, the floating-point operations of one thread
    tensors: for each instruction whose operations tensor cores do, the weight of an operation, and the bytes that a
        warp's part reads from shared memory
    """

    def __init__(self, program: Program) -> None:
        self.flops = tuple(_flops(item) for item in program.instructions)
        self.tensors = {pc: each for pc, item in enumerate(program.instructions) if (each := _tensor(item)) is not None}
        self._merges: dict[int, list[Merge]] = {}
        for merge in candidates(program):
            self._merges.setdefault(merge.pcs[0], []).append(merge)
        super().__init__(program)

    def _unguarded(self, pc: int, item: Instruction) -> LoweredStep:
        step = super()._unguarded(pc, item)
        if self.flops[pc] and item.guard is not None:
            step = step.instead(counted_work(step.run, pc))
        if item.head in {"ld", "ldu", "st"}:
            return self._counted_memory(step, pc, item)
        if item.head in {"atom", "red"}:
            return step.instead(self._counted_atomic(step.run, pc, item))
        if is_copy(item.opcode):
            return step.instead(self._counted_copy(step.run, pc, item))
        if (rows := eight_rows(item.opcode)) is not None:
            return step.instead(self._counted_rows(step.run, pc, item, rows))
        if (matrix := matrix_access(item.opcode)) is not None:
            return step.instead(self._counted_matrix(step.run, pc, item, matrix))
        return step

    def _counted_rows(self, run: Step, pc: int, item: Instruction, form: EightRows) -> Step:
        verb, place = (Verb.STORE, 0) if form.store else (Verb.LOAD, 1)
        own = _counted(pc, item, form.space, verb, ROW_BYTES, self.place(item.operands[place]))

        def counted(machine: Machine, mask: Mask | None) -> None:
            _counting(machine).access(machine, own, threads_below(machine, mask, form.rows))
            run(machine, mask)

        return counted

    def _counted_matrix(self, run: Step, pc: int, item: Instruction, form: MatrixAccess) -> Step:
        """Count the requests of the machine code, which aren't the pieces that the step moves."""
        made, addresses = requests(form), matrix_addresses(self, item, form, "")
        verb, place = (Verb.STORE, 0) if form.store else (Verb.LOAD, 1)
        address = Place(self.spare("counted address"), self.place(item.operands[place]).displacement)
        own = _counted(pc, item, form.space, verb, made.width, address)

        def counted(machine: Machine, mask: Mask | None) -> None:
            for part in made.parts:
                machine.registers[address.register] = addresses.of(machine, part)
                _counting(machine).access(machine, own, threads_below(machine, mask, part.count))
            run(machine, mask)

        return counted

    def _counted_memory(self, step: LoweredStep, pc: int, item: Instruction) -> LoweredStep:
        form = memory_form(item.opcode)
        if form is None or _NO_MEMORY & set(item.opcode.split(".")):
            return step
        place = self.place(item.operands[0 if form.store else 1])
        verb = Verb.STORE if form.store else Verb.LOAD
        own = _counted(pc, item, form.space, verb, form.size * form.count, place)
        merges = self._merges.get(pc, ())
        several = (replace(own, pcs=merge.pcs, width=merge.width, displacement=merge.displacement) for merge in merges)
        count = count_step((own, *several))
        quick = replace(step.quick, count=count) if isinstance(step.quick, FloatLoad) else None
        return replace(step, run=counted_step(step.run, count), quick=quick)

    def _counted_atomic(self, run: Step, pc: int, item: Instruction) -> Step:
        form = atomic_form(item.opcode)
        assert form is not None
        place = self.place(item.operands[1 if form.returns else 0])
        size = form.dtype.itemsize * form.count
        return counted_step(run, count_step((_counted(pc, item, form.space, Verb.ATOMIC, size, place),)))

    def _counted_copy(self, run: Step, pc: int, item: Instruction) -> Step:
        size = item.operands[2]
        assert isinstance(size, Immediate)
        given = self.source(item.operands[3], 32) if len(item.operands) > 3 else None
        write = _counted(pc, item, kind_of("shared"), Verb.STORE, size.value, self.place(item.operands[0]))
        read = _counted(pc, item, kind_of("global"), Verb.LOAD, size.value, self.place(item.operands[1]))
        return counted_copy(run, read, write, given)


def _counted(pc: int, item: Instruction, space: str, verb: Verb, width: int, place: Place) -> Counted:
    # Accesses to other blocks' shared memory count as accesses to the own block's.
    space = "shared" if space == CLUSTER else space
    return Counted((pc,), item.counted_line, space, verb, width, place.register, place.displacement)


def _product(item: Instruction) -> Multiplication | WarpgroupForm | None:
    return multiplication(item.opcode) or warpgroup_form(item.opcode)


def _tensor(item: Instruction) -> tuple[int, int] | None:
    product = _product(item)
    if product is None:
        return None
    shared = isinstance(product, WarpgroupForm) and product.shared_bytes(left=not isinstance(item.operands[1], Vector))
    return weight(product.kinds), int(shared)


def _flops(item: Instruction) -> int:
    """Return the floating-point operations of one thread. An atomic addition of floats is one for each element."""
    form = atomic_form(item.opcode)
    if form is not None:
        return form.flops
    if (product := _product(item)) is not None:
        return product.operations
    found = operation(item.opcode, bool(item.operands) and isinstance(item.operands[0], Pair))
    return 0 if found is None else found.flops


class CountedRun(ChunkRun):
    """A chunk of blocks whose instructions and branches are counted."""

    def _execute(self, block: CodeBlock, mask: Mask | None) -> None:
        _counting(self._machine).executed(block.first, mask)
        super()._execute(block, mask)

    def _ways(self, block: CodeBlock, end: Instruction, mask: Mask | None) -> Iterator[tuple[int, Mask | None]]:
        ways = list(super()._ways(block, end, mask))
        if end.head == "brx" or (end.guard is not None and end.head in {"bra", "ret", "exit"}):
            _counting(self._machine).decided(self._machine, block.end_pc, mask, [part for _, part in ways])
        yield from ways
