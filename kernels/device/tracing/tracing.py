"""A run in which each value is followed: which thread loads which element, and which products are summed.

It is meant for small launches, because it looks at every step. The run itself is an ordinary one: before each step, the
tracer looks at the tags of its inputs. Values that it can't follow have no tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from kernels.device.execution.executor import Options, run
from kernels.device.execution.lower import LoweredStep
from kernels.device.execution.schedule import Budget
from kernels.device.execution.warp import warp_form
from kernels.device.memory.access import memory_form
from kernels.device.memory.atomic import atomic_form
from kernels.device.memory.copies import is_copy
from kernels.device.memory.locate import Site, split
from kernels.device.memory.placement import Argument, Buffer
from kernels.device.ptx.module import Address, Immediate, Instruction, Operand, Register, Symbol, Vector
from kernels.device.ptx.program import Program
from kernels.device.state.accesses import Kind
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, address_of
from kernels.device.state.mask import Mask
from kernels.device.state.values import Value, uniform
from kernels.device.tracing.provenance import Tags, Trace, Values, Where
from kernels.device.tracing.tagged_memory import Spots, TaggedMemory
from kernels.device.tracing.tagged_registers import TaggedRegisters
from kernels.launch import Launch
from kernels.verdict import Verdict

MOST_THREADS = 1024
_MOST_EVENTS = 250_000
_BUDGET = Budget(20_000)
_WORD = 4

Action = Callable[[Machine, Mask | None], None]


class _TooMuchError(Exception): ...


def trace(
    program: Program,
    launch: Launch,
    arguments: Sequence[Argument],
    buffers: Sequence[Buffer],
    *,
    symbols: Mapping[str, str] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    state: Mapping[str, bytes] | None = None,
) -> Trace:
    """Run a small launch and return what it did. The arguments are as in `kernels.device.run`.

    raise (Unsupported): the kernel needs a feature that the CPU device doesn't emulate
    """
    threads = launch.blocks * launch.threads
    if threads > MOST_THREADS:
        return Trace(launch, note=f"{threads:,} threads are too many to follow: at most {MOST_THREADS:,}")
    tracer = _Tracer(program, frozenset(buffer.name for buffer in buffers))
    note = ""
    try:
        execution = run(
            program,
            launch,
            arguments,
            buffers,
            Options(
                budget=_BUDGET,
                symbols=symbols or {},
                shapes=shapes or {},
                state=state or {},
                observe=False,
                wrap=tracer.wrap,
            ),
        )
    except _TooMuchError:
        note = "the kernel is too long to follow; only its beginning is shown"
    else:
        if any(finding.kind is Verdict.TIME_LIMIT for finding in execution.findings):
            note = "the kernel runs too long; only its beginning is shown"
    return tracer.result(launch, note)


class _Tracer:
    def __init__(self, program: Program, operands: frozenset[str]) -> None:
        self._program = program
        self._tags = TaggedRegisters(program)
        self._machine: Machine | None = None
        self._events = 0
        self._warp_syncs = np.zeros(0, np.int64)
        self._values = Values()
        self._memory = TaggedMemory(operands, self._values)

    def result(self, launch: Launch, note: str) -> Trace:
        memory, values = self._memory, self._values
        targets, terms = values.accumulators()
        return Trace(launch, tuple(memory.fetches), terms, targets, tuple(values.factors.rows), memory.arrays, note)

    def wrap(self, step: LoweredStep) -> LoweredStep:
        item = self._program.instructions[step.pc]
        action = self._action(item, step.pc)

        def run(machine: Machine, mask: Mask | None) -> None:
            if machine is not self._machine:
                self._machine = machine
                self._tags.forget()
                self._warp_syncs = np.zeros(machine.shape.blocks, np.int64)
            chosen = self._guarded(machine, item, mask)
            if chosen is None or chosen.count:
                action(machine, chosen)
            step.run(machine, mask)

        return replace(step, run=run)

    def _guarded(self, machine: Machine, item: Instruction, mask: Mask | None) -> Mask | None:
        if item.guard is None:
            return mask
        number = self._program.registers[item.guard.register.name]
        holds = machine.registers[number].dense(np.dtype(np.bool_))
        return machine.narrow(mask, holds != item.guard.negated)

    def _follow(self, machine: Machine, events: int, line: int | None) -> None:
        """Begin to follow a step. Without the threads that do nothing in it, it has so many events.

        If a block has one warp, its warp's barriers count as the block's, too.
        """
        self._events += events
        if self._events > _MOST_EVENTS:
            raise _TooMuchError
        threads, columns = np.divmod(np.arange(machine.shape.lanes), machine.shape.blocks)
        intervals = machine.epochs[0].astype(np.int64) + self._warp_syncs
        self._values.where = Where(machine.geometry.numbers[columns], threads, intervals[columns], line)

    # -- effects on tags ----------------------------------------------------------------------------------------------

    def _action(self, item: Instruction, pc: int) -> Action:
        if form := memory_form(item.opcode):
            site = Site(pc, item.line, form.space, form.size * form.count, Kind.WRITE if form.store else Kind.READ)
            return self._store(item, site, form.kind) if form.store else self._load(item, site)
        if item.head in {"atom", "red"} and atomic_form(item.opcode):
            return self._atomic(item, pc)
        if is_copy(item.opcode):
            return self._copy(item, pc)
        if item.opcode.startswith("shfl."):
            return self._shuffle(item)
        if item.opcode == "bar.warp.sync":
            return self._warp_sync
        targets = tuple(self._program.registers[name] for name in item.results)
        if not targets:
            return lambda machine, mask: None
        return self._computation(item, targets, self._combination(item))

    def _combination(self, item: Instruction) -> Callable[..., Tags]:
        values = self._values
        table: Mapping[str, Callable[..., Tags]] = {
            "fma": values.fused,
            "mad": values.fused,
            "mul": values.multiplied,
            "add": values.added,
            "sub": values.subtracted,
            "neg": values.negated,
        }
        if combine := table.get(item.head):
            return combine
        if item.head in {"setp", "set", "testp"}:
            return lambda *tags: np.zeros_like(tags[0])
        if item.head == "mov" and len(item.operands) == 2 and isinstance(item.operands[1], Vector):
            return lambda *tags: values.packed(tags)
        return _only

    def _computation(self, item: Instruction, targets: tuple[int, ...], combine: Callable[..., Tags]) -> Action:
        sources = tuple(number for operand in item.operands[1:] for number in self._tags.numbers(operand))
        unpacks = isinstance(item.operands[0], Vector)
        places = self._tags.numbers(item.operands[0])
        chooses = item.opcode.startswith("selp.")

        def compute(machine: Machine, mask: Mask | None) -> None:
            if not self._tags.any(sources):
                self._tags.clear(targets, machine, mask)
                return
            self._follow(machine, len(machine.active(mask)), item.line)
            tags = [self._tags.get(number, machine, mask) for number in sources]
            if chooses:
                found = np.where(self._tags.content(machine, item.operands[3], 1) != 0, tags[0], tags[1])
            else:
                found = combine(*tags)
            pieces = self._values.pieces(found, len(places)) if unpacks else [found] * len(places)
            for target, piece in zip(places, pieces, strict=True):
                self._tags.set(target, piece, machine, mask)

        return compute

    def _warp_sync(self, machine: Machine, mask: Mask | None) -> None:
        if machine.shape.threads <= WARP:
            self._warp_syncs[np.unique(machine.active(mask) % machine.shape.blocks)] += 1

    def _shuffle(self, item: Instruction) -> Action:
        form = warp_form(item.opcode)
        (target,) = self._tags.numbers(item.operands[0])
        source = self._tags.number(item.operands[1])

        def shuffle(machine: Machine, mask: Mask | None) -> None:
            if not self._tags.any((source,)) or form is None or form.combine is None:
                self._tags.clear((target,), machine, mask)
                return
            self._follow(machine, len(machine.active(mask)), item.line)
            lanes = np.arange(machine.shape.lanes, dtype=np.int32)
            grid = machine.shape.threads, machine.shape.blocks
            rest = [self._tags.content(machine, each, 32).astype(np.int32).reshape(grid) for each in item.operands[2:]]
            origins = form.combine(machine, mask, [lanes.reshape(grid), *rest])[0].reshape(-1)
            self._tags.set(target, self._tags.get(source, machine, None)[origins], machine, mask)

        return shuffle

    # -- memory -------------------------------------------------------------------------------------------------------

    def _spots(self, machine: Machine, mask: Mask | None, site: Site, operand: Operand) -> Iterator[Spots]:
        """Yield the places of the threads' accesses by variable, except accesses out of bounds."""
        address = self._address(machine, site, operand)
        if address is None or not isinstance(operand, Address):
            return
        for part in split(machine, site, address, operand.offset, mask):
            self._follow(machine, len(part.lanes), site.line)
            yield Spots(machine, part.allocation, part.lanes, part.offsets, site.size)

    def _address(self, machine: Machine, site: Site, operand: Operand) -> Value | None:
        base = operand.base if isinstance(operand, Address) else None
        if isinstance(base, Register):
            number = self._tags.number(base)
            return machine.registers[number] if number >= 0 else None
        allocation = machine.memory.by_name.get(base.name) if isinstance(base, Symbol) else None
        if allocation is None or not isinstance(base, Symbol):
            return None
        generic = site.space == "generic"
        start = address_of(allocation.space, allocation.start) if generic else allocation.start
        return uniform(start + base.offset, 64)

    def _load(self, item: Instruction, site: Site) -> Action:
        targets = self._tags.numbers(item.operands[0])
        size = site.size // len(targets)

        def load(machine: Machine, mask: Mask | None) -> None:
            found = np.zeros((len(targets), machine.shape.lanes), np.int64)
            for spots in self._spots(machine, mask, site, item.operands[1]):
                for at, tags in enumerate(found):
                    tags[spots.lanes] = self._memory.read(spots.piece(at * size, size))
            for target, tags in zip(targets, found, strict=True):
                self._tags.set(target, tags, machine, mask)

        return load

    def _store(self, item: Instruction, site: Site, kind: str) -> Action:
        operand = item.operands[1]
        parts: tuple[Operand | None, ...] = operand.items if isinstance(operand, Vector) else (operand,)
        sources = tuple(map(self._tags.number, parts))
        size = site.size // len(parts)
        halves = kind != "f64" and size > _WORD

        def store(machine: Machine, mask: Mask | None) -> None:
            tags = [self._tags.get(source, machine, mask) for source in sources]
            zeros = [self._tags.content(machine, part, size * 8) == 0 for part in parts]
            for spots in self._spots(machine, mask, site, item.operands[0]):
                for at, (tag, zero) in enumerate(zip(tags, zeros, strict=True)):
                    given, empty = tag[spots.lanes], (tag == 0)[spots.lanes] & zero[spots.lanes]
                    if not halves:
                        self._memory.write(spots.piece(at * size, size), given, item.line, empty)
                        continue
                    if not empty.all():
                        rest = spots.of(~empty).piece(at * size, size)
                        self._memory.write(rest, given[~empty], item.line, empty[~empty])
                    for offset in range(at * size, (at + 1) * size, _WORD) if empty.any() else ():
                        words = spots.of(empty).piece(offset, _WORD)
                        self._memory.write(words, given[empty], item.line, empty[empty])

        return store

    def _atomic(self, item: Instruction, pc: int) -> Action:
        form = atomic_form(item.opcode)
        assert form is not None
        site = Site(pc, item.line, form.space, form.dtype.itemsize * form.count, Kind.UPDATE)
        place = 1 if form.returns else 0
        source = self._tags.number(item.operands[place + 1])
        targets = self._tags.numbers(item.operands[0]) if form.returns else ()
        adds = form.name == "add" and form.count == 1

        def update(machine: Machine, mask: Mask | None) -> None:
            tags = self._tags.get(source, machine, mask)
            for spots in self._spots(machine, mask, site, item.operands[place]):
                if adds:
                    self._memory.add(spots, tags[spots.lanes])
                else:
                    self._memory.forget(spots)
            self._tags.clear(targets, machine, mask)

        return update

    def _copy(self, item: Instruction, pc: int) -> Action:
        """Trace an asynchronous copy. Its cells count as filled at once, because no thread may read them before it
        ends.
        """
        length = item.operands[2]
        size = length.value if isinstance(length, Immediate) else _WORD
        read = Site(pc, item.line, "global", size, Kind.READ)
        write = Site(pc, item.line, "shared", size, Kind.COPY)

        def copy(machine: Machine, mask: Mask | None) -> None:
            given, reads = np.full(machine.shape.lanes, size), mask
            if len(item.operands) > 3:
                given = self._tags.content(machine, item.operands[3], 32)
                reads = machine.narrow(mask, (given > 0).reshape(machine.shape.threads, -1))
            found = np.zeros((size // _WORD, machine.shape.lanes), np.int64)
            if reads is None or reads.count:
                for spots in self._spots(machine, reads, read, item.operands[1]):
                    for at, tags in enumerate(found):
                        tags[spots.lanes] = self._memory.read(spots.piece(at * _WORD, _WORD))
            for spots in self._spots(machine, mask, write, item.operands[0]):
                for at, tags in enumerate(found):
                    tag = np.where(at * _WORD < given, tags, 0)[spots.lanes]
                    self._memory.write(spots.piece(at * _WORD, _WORD), tag, item.line, tag == 0)

        return copy


def _only(*tags: Tags) -> Tags:
    """Return the only tag: conversions, sign changes and limits of one known value keep its tag."""
    known = sum((each != 0).astype(np.int64) for each in tags)
    return np.where(known == 1, reduce(np.bitwise_or, tags), 0)
