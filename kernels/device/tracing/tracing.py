"""A run in which each value is followed: which thread loads which element, and which products are summed.

It is meant for small launches, because it looks at every step of every thread. The run itself is an ordinary one:
before each step, the tracer looks at the tags of its inputs. Values that it can't follow have no tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

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
from kernels.device.ptx.program import Program, results
from kernels.device.state.accesses import Kind
from kernels.device.state.geometry import WARP, Coordinates
from kernels.device.state.machine import Machine, address_of
from kernels.device.state.mask import Mask
from kernels.device.state.values import Value, uniform
from kernels.device.tracing.provenance import Factor, Packed, Sums, Tag, Term, Trace
from kernels.device.tracing.tagged_memory import Spot, TaggedMemory
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
        self._terms = 0
        self._where: tuple[Machine, int, int | None] | None = None
        self._warp_syncs: dict[Coordinates, int] = {}
        self._sums = Sums(self._term)
        self._memory = TaggedMemory(operands, self._sums, self._interval)

    def result(self, launch: Launch, note: str) -> Trace:
        memory = self._memory
        return Trace(launch, tuple(memory.fetches), tuple(self._sums.accumulators()), memory.arrays, note)

    def wrap(self, step: LoweredStep) -> LoweredStep:
        item = self._program.instructions[step.pc]
        action = self._action(item, step.pc)

        def run(machine: Machine, mask: Mask | None) -> None:
            if machine is not self._machine:
                self._machine = machine
                self._tags.forget()
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

    # -- positions ----------------------------------------------------------------------------------------------------

    def _interval(self, machine: Machine, lane: int) -> int:
        """Return the barriers that the thread's block has passed. If a block has one warp, its warp's barriers count
        too.
        """
        column = lane % machine.shape.blocks
        synced = self._warp_syncs.get(machine.geometry.block(column), 0)
        return int(machine.epochs[0, column]) + synced

    def _term(self, factors: tuple[Factor, ...]) -> Term:
        assert self._where is not None
        machine, lane, line = self._where
        block, thread = machine.geometry.who(lane)
        self._terms += 1
        negative = sum(factor.negative for factor in factors) % 2 == 1
        return Term(self._terms, block, thread, self._interval(machine, lane), line, factors, negative)

    def _each(self, machine: Machine, mask: Mask | None, line: int | None) -> Iterator[int]:
        """Yield the threads that take part, and count each as an event."""
        for lane in machine.active(mask).tolist():
            self._spend()
            self._where = machine, lane, line
            yield lane

    def _spend(self) -> None:
        self._events += 1
        if self._events > _MOST_EVENTS:
            raise _TooMuchError

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
        targets = tuple(self._program.registers[name] for name in results(item))
        if not targets:
            return lambda machine, mask: None
        combine = self._combination(item)
        return self._computation(item, targets, combine)

    def _combination(self, item: Instruction) -> Callable[[list[Tag | None]], Tag | None]:
        sums = self._sums
        table: Mapping[str, Callable[..., Tag | None]] = {
            "fma": sums.fused,
            "mad": sums.fused,
            "mul": sums.multiplied,
            "add": sums.added,
            "sub": sums.subtracted,
            "neg": sums.negated,
        }
        if combine := table.get(item.head):
            return lambda tags: combine(*tags)
        if item.head in {"setp", "set", "testp"}:
            return lambda tags: None
        if item.head == "mov" and len(item.operands) == 2 and isinstance(item.operands[1], Vector):
            return lambda tags: None if any(isinstance(tag, Packed) for tag in tags) else Packed(
                tuple(tag for tag in tags if not isinstance(tag, Packed))
            )  # fmt: skip
        return _only

    def _computation(
        self, item: Instruction, targets: tuple[int, ...], combine: Callable[[list[Tag | None]], Tag | None]
    ) -> Action:
        sources = tuple(number for operand in item.operands[1:] for number in self._tags.numbers(operand))
        unpacks = isinstance(item.operands[0], Vector)
        places = self._tags.numbers(item.operands[0])
        chooses = item.opcode.startswith("selp.")

        def compute(machine: Machine, mask: Mask | None) -> None:
            if not self._tags.any(sources):
                self._tags.clear(targets, machine, mask)
                return
            condition = self._tags.content(machine, item.operands[3], 1) if chooses else None
            for lane in self._each(machine, mask, item.line):
                tags = [self._tags.get(number, lane) for number in sources]
                if condition is not None:
                    tag = tags[0 if condition[lane] else 1]
                else:
                    tag = combine(tags) if any(tag is not None for tag in tags) else None
                pieces = tag.pieces if isinstance(tag, Packed) else ()
                for at, target in enumerate(places):
                    if unpacks:
                        self._tags.set(target, lane, pieces[at] if len(pieces) == len(places) else None)
                    else:
                        self._tags.set(target, lane, tag)

        return compute

    def _warp_sync(self, machine: Machine, mask: Mask | None) -> None:
        if machine.shape.threads > WARP:
            return
        for column in {lane % machine.shape.blocks for lane in machine.active(mask).tolist()}:
            block = machine.geometry.block(column)
            self._warp_syncs[block] = self._warp_syncs.get(block, 0) + 1

    def _shuffle(self, item: Instruction) -> Action:
        form = warp_form(item.opcode)
        (target,) = self._tags.numbers(item.operands[0])
        source = self._tags.number(item.operands[1])

        def shuffle(machine: Machine, mask: Mask | None) -> None:
            if not self._tags.any((source,)) or form is None or form.combine is None:
                self._tags.clear((target,), machine, mask)
                return
            lanes = np.arange(machine.shape.lanes, dtype=np.int32)
            grid = machine.shape.threads, machine.shape.blocks
            rest = [self._tags.content(machine, each, 32).astype(np.int32).reshape(grid) for each in item.operands[2:]]
            origins = form.combine(machine, mask, [lanes.reshape(grid), *rest])[0].reshape(-1)
            active = list(self._each(machine, mask, item.line))
            moved = [self._tags.get(source, int(origins[lane])) for lane in active]
            for lane, tag in zip(active, moved, strict=True):
                self._tags.set(target, lane, tag)

        return shuffle

    # -- memory -------------------------------------------------------------------------------------------------------

    def _spots(self, machine: Machine, mask: Mask | None, site: Site, operand: Operand) -> Iterator[Spot]:
        """Yield the position of each thread's access, except accesses out of bounds."""
        address = self._address(machine, site, operand)
        if address is None or not isinstance(operand, Address):
            return
        for part in split(machine, site, address, operand.offset, mask):
            for lane, offset in zip(part.lanes.tolist(), part.offsets.tolist(), strict=True):
                self._spend()
                self._where = machine, lane, site.line
                yield Spot(part.allocation, offset, site.size, lane)

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
            self._tags.clear(targets, machine, mask)
            for spot in self._spots(machine, mask, site, item.operands[1]):
                for at, target in enumerate(targets):
                    self._tags.set(target, spot.lane, self._memory.read(machine, spot.piece(at * size, size)))

        return load

    def _store(self, item: Instruction, site: Site, kind: str) -> Action:
        operand = item.operands[1]
        parts: tuple[Operand | None, ...] = operand.items if isinstance(operand, Vector) else (operand,)
        sources = tuple(map(self._tags.number, parts))
        size = site.size // len(parts)

        def store(machine: Machine, mask: Mask | None) -> None:
            contents = [self._tags.content(machine, part, size * 8) for part in parts]
            for spot in self._spots(machine, mask, site, item.operands[0]):
                for at, source in enumerate(sources):
                    tag = self._tags.get(source, spot.lane)
                    zero = tag is None and not contents[at][spot.lane]
                    whole = _WORD if zero and kind != "f64" and size > _WORD else size
                    for offset in range(at * size, (at + 1) * size, whole):
                        self._memory.write(machine, spot.piece(offset, whole), tag, item.line, zero=zero)

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
            for spot in self._spots(machine, mask, site, item.operands[place]):
                tag = self._tags.get(source, spot.lane)
                if adds and tag is not None:
                    self._memory.add(machine, spot, tag)
                elif not adds:
                    self._memory.forget(machine, spot)
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
            given = np.full(machine.shape.lanes, size)
            if len(item.operands) > 3:
                given = self._tags.content(machine, item.operands[3], 32)
                mask_of = machine.narrow(mask, (given > 0).reshape(machine.shape.threads, -1))
            else:
                mask_of = mask
            origins = {}
            if mask_of is None or mask_of.count:
                origins = {spot.lane: spot for spot in self._spots(machine, mask_of, read, item.operands[1])}
            for spot in self._spots(machine, mask, write, item.operands[0]):
                for offset in range(0, size, _WORD):
                    origin = origins.get(spot.lane) if offset < given[spot.lane] else None
                    tag = self._memory.read(machine, origin.piece(offset, _WORD)) if origin else None
                    self._memory.write(machine, spot.piece(offset, _WORD), tag, item.line, zero=tag is None)

        return copy


def _only(tags: list[Tag | None]) -> Tag | None:
    """Return the only tag: conversions, sign changes and limits of one known value keep its tag."""
    known = [tag for tag in tags if tag is not None]
    return known[0] if len(known) == 1 else None
