"""Turns the instructions of a program into steps that a machine can take."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.device import warp
from kernels.device.access import Place, Step, load_step, memory_form, store_step
from kernels.device.affine import Affine, add, affine_operation
from kernels.device.arithmetic import NUMPY_TYPES, Operation, operation
from kernels.device.atomic import atomic_form, atomic_step
from kernels.device.copies import commit_step, copy_step, is_copy, wait_step
from kernels.device.dataflow import block_local
from kernels.device.machine import Machine, Mask
from kernels.device.memory import LOCAL_BASE, SHARED_BASE
from kernels.device.printing import assert_step, print_step, stop
from kernels.device.observers.unset import BRANCH
from kernels.device.program import Program, is_special, is_warp_sync
from kernels.device.ptx import (
    SIZES,
    Address,
    Arguments,
    Immediate,
    Instruction,
    Malformed,
    Operand,
    Pair,
    Register,
    Symbol,
    Unsupported,
    Vector,
)
from kernels.device.values import Value, from_array, narrowed, uniform, widened

_NOTHING = re.compile(
    r"membar\.\w+|fence(\.\w+)*|prefetchu?(\.[\w:]+)*|nanosleep\.u32|pmevent(\.mask)?|griddepcontrol\.\w+"
)
_CVTA = re.compile(r"cvta(?P<to>\.to)?\.(?P<space>global|shared|local|const|param)\.u64")
_BASES = {"global": 0, "const": 0, "param": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}
_CLOCK = re.compile(r"%clock(64|_hi)?|%globaltimer(_lo|_hi)?")


@dataclass(frozen=True, slots=True)
class LoweredStep:
    """One instruction, ready to run.

    sources, results: numbers of registers, for following unset values
    follows: how those are followed: "all" (any unset source makes the results unset), "copy", "choice" or "own"
    """

    run: Step
    pc: int
    sources: tuple[int, ...]
    results: tuple[int, ...]
    follows: str


class Lowering:
    """Numbers constants, symbols and special registers behind the program's own, and makes the steps."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants: dict[int, Value] = {}
        self.specials: dict[int, str] = {}
        self.symbols: dict[int, tuple[str, int]] = {}
        self._slots: dict[object, int] = {}
        self._count = len(program.registers)
        self._local = block_local(program)
        self.steps = tuple(self._step(pc, item) for pc, item in enumerate(program.instructions))

    @property
    def count(self) -> int:
        """How many registers a machine needs."""
        return self._count

    # -- operands -----------------------------------------------------------------------------------------------------

    def _slot(self, key: object) -> int:
        if key not in self._slots:
            self._slots[key] = self._count
            self._count += 1
        return self._slots[key]

    def source(self, operand: Operand | None, bits: int) -> int:
        """The number under which a source operand is found; `bits` for constants."""
        if isinstance(operand, Register):
            if is_special(operand.name):
                number = self._slot(operand.name)
                self.specials[number] = operand.name
                return number
            return self.program.registers[operand.name]
        if isinstance(operand, Immediate):
            number = self._slot((operand.value, bits))
            self.constants[number] = uniform(operand.value, bits)
            return number
        if isinstance(operand, Symbol):
            number = self._slot((operand.name, operand.offset, "symbol"))
            self.symbols[number] = (operand.name, operand.offset)
            return number
        raise Malformed("an operand of unexpected form")

    def _target(self, operand: Operand | None) -> int | None:
        if operand is None or (isinstance(operand, Register) and operand.name == "_"):
            return None
        if isinstance(operand, Register) and not is_special(operand.name):
            return self.program.registers[operand.name]
        raise Malformed("a destination that is no register")

    def _place(self, operand: Operand) -> Place:
        if not isinstance(operand, Address):
            raise Malformed("an address is missing")
        if operand.base is None:
            return Place(self.source(Immediate(0), 64), operand.offset)
        return Place(self.source(operand.base, 64), operand.offset)

    def _width(self, number: int | None) -> int:
        return 32 if number is None else self.program.widths[number]

    def _keeps(self, instruction: Instruction, names: tuple[str, ...]) -> bool:
        return instruction.guard is not None or any(name not in self._local for name in names)

    # -- steps --------------------------------------------------------------------------------------------------------

    def _step(self, pc: int, item: Instruction) -> LoweredStep:
        try:
            step = self._unguarded(pc, item)
        except (IndexError, KeyError) as error:
            raise Malformed(f"the instruction `{item.opcode[:60]}` has operands of unexpected form") from error
        if item.guard is None:
            return step
        number = self.source(item.guard.register, 1)
        run = _guarded(step.run, number, item.guard.negated, pc)
        return LoweredStep(run, pc, step.sources, step.results, step.follows)

    def _unguarded(self, pc: int, item: Instruction) -> LoweredStep:
        opcode = item.opcode
        head = opcode.split(".", 1)[0]
        if head in {"bra", "brx", "ret", "exit", "bar", "barrier"} and not opcode.startswith("bar.warp"):
            return LoweredStep(_nothing, pc, (), (), "own")
        if head in {"ld", "ldu", "st"}:
            return self._memory(pc, item)
        if head in {"atom", "red"}:
            return self._atomic(pc, item)
        if head == "cp":
            return self._copy(pc, item)
        if head == "mov":
            return self._move(pc, item)
        if head == "cvta":
            return self._cvta(pc, item)
        if head == "call":
            return self._call(pc, item)
        if head in {"trap", "brkpt"}:
            return LoweredStep(_trap(item.line), pc, (), (), "own")
        if _NOTHING.fullmatch(opcode):
            return LoweredStep(_nothing, pc, (), (), "own")
        if is_warp_sync(item):
            return self._warp(pc, item)
        return self._arithmetic(pc, item)

    def _memory(self, pc: int, item: Instruction) -> LoweredStep:
        form = memory_form(item.opcode)
        if form is None:
            raise Unsupported(item.opcode, item.line)
        if form.store:
            place, operand = self._place(item.operands[0]), item.operands[1]
        else:
            place, operand = self._place(item.operands[1]), item.operands[0]
        parts: tuple[Operand | None, ...] = operand.items if isinstance(operand, Vector) else (operand,)
        if len(parts) != form.count:
            raise Malformed("a vector of the wrong length")
        if form.store:
            sources = tuple(self.source(part, form.size * 8) for part in parts)
            return LoweredStep(store_step(form, pc, item.line, place, sources), pc, (), (), "own")
        targets = tuple(self._target(part) for part in parts)
        names = tuple(part.name for part in parts if isinstance(part, Register))
        keep = self._keeps(item, names)
        widths = tuple(self._width(target) for target in targets)
        return LoweredStep(load_step(form, pc, item.line, place, targets, widths, keep), pc, (), (), "own")

    def _atomic(self, pc: int, item: Instruction) -> LoweredStep:
        form = atomic_form(item.opcode)
        if form is None:
            raise Unsupported(item.opcode, item.line)
        operands = list(item.operands)
        target = self._target(operands.pop(0)) if form.returns else None
        place = self._place(operands[0])
        sources = tuple(self.source(operand, form.dtype.itemsize * 8) for operand in operands[1:])
        if len(sources) != (2 if form.name == "cas" else 1):
            raise Malformed("an atomic update with the wrong number of operands")
        run = atomic_step(form, pc, item.line, place, target, sources, keep=True)
        return LoweredStep(run, pc, (), () if target is None else (target,), "all")

    def _copy(self, pc: int, item: Instruction) -> LoweredStep:
        opcode = item.opcode
        if opcode == "cp.async.commit_group":
            return LoweredStep(commit_step(), pc, (), (), "own")
        if opcode in {"cp.async.wait_group", "cp.async.wait_all"}:
            count = item.operands[0] if item.operands else None
            allowed = count.value if isinstance(count, Immediate) else None
            return LoweredStep(wait_step(allowed), pc, (), (), "own")
        size = item.operands[2] if len(item.operands) > 2 else None
        if not is_copy(opcode) or not isinstance(size, Immediate) or size.value not in {4, 8, 16}:
            raise Unsupported(opcode, item.line)
        given = self.source(item.operands[3], 32) if len(item.operands) > 3 else None
        places = self._place(item.operands[0]), self._place(item.operands[1])
        return LoweredStep(copy_step(pc, item.line, *places, size.value, given), pc, (), (), "own")

    def _move(self, pc: int, item: Instruction) -> LoweredStep:
        kind = item.opcode.removeprefix("mov.")
        if kind not in SIZES or kind == "b128":
            raise Unsupported(item.opcode, item.line)
        bits = 1 if kind == "pred" else SIZES[kind] * 8
        first, second = item.operands
        if isinstance(first, Vector):
            return self._unpack(pc, item, first, self.source(second, bits), bits)
        target = self._target(first)
        assert target is not None
        name = first.name if isinstance(first, Register) else ""
        keep = self._keeps(item, (name,))
        if isinstance(second, Vector):
            pieces = tuple(self.source(each, bits // len(second.items)) for each in second.items)
            return LoweredStep(_pack(target, pieces, bits, keep), pc, pieces, (target,), "all")
        if isinstance(second, Register) and _CLOCK.fullmatch(second.name):
            return LoweredStep(_clock(target, bits, keep), pc, (), (target,), "all")
        source = self.source(second, bits)
        return LoweredStep(_copy_register(target, source, self._width(target), keep), pc, (source,), (target,), "copy")

    def _unpack(self, pc: int, item: Instruction, vector: Vector, source: int, bits: int) -> LoweredStep:
        targets = tuple(self._target(each) for each in vector.items)
        names = tuple(each.name for each in vector.items if isinstance(each, Register))
        run = _unpacking(targets, source, bits, self._keeps(item, names))
        return LoweredStep(run, pc, (source,), tuple(each for each in targets if each is not None), "all")

    def _cvta(self, pc: int, item: Instruction) -> LoweredStep:
        match = _CVTA.fullmatch(item.opcode)
        target = self._target(item.operands[0])
        if match is None or target is None:
            raise Unsupported(item.opcode, item.line)
        source = self.source(item.operands[1], 64)
        base = _BASES[match["space"]]
        shift = uniform(-base if match["to"] else base, 64)

        def run(machine: Machine, mask: Mask | None) -> None:
            machine.write(target, add(machine.registers[source], shift), mask, keep=True)

        return LoweredStep(run, pc, (source,), (target,), "all")

    def _call(self, pc: int, item: Instruction) -> LoweredStep:
        lists = [operand.names for operand in item.operands if isinstance(operand, Arguments)]
        if item.opcode == "call.printf":
            return LoweredStep(print_step(pc, item.line, lists[1], lists[0]), pc, (), (), "own")
        return LoweredStep(assert_step(pc, item.line, lists[-1]), pc, (), (), "own")

    def _warp(self, pc: int, item: Instruction) -> LoweredStep:
        opcode = item.opcode
        if opcode == "bar.warp.sync":
            return LoweredStep(_warp_barrier, pc, (), (), "own")
        targets: list[int | None]
        first = item.operands[0]
        if isinstance(first, Pair):
            targets = [self._target(first.first), self._target(first.second)]
        else:
            targets = [self._target(first)]
        if opcode.startswith("activemask"):
            return LoweredStep(_active_mask(targets[0]), pc, (), (), "own")
        combine = warp.warp_operation(opcode)
        if combine is None:
            raise Unsupported(opcode, item.line)
        bits = 1 if opcode.startswith("vote") else 64 if opcode.endswith("b64") else 32
        sources = tuple(self.source(each, bits if at == 0 else 32) for at, each in enumerate(item.operands[1:-1]))
        run = _combined(combine, pc, item.line, tuple(targets), sources, bits, shuffles=opcode.startswith("shfl"))
        return LoweredStep(run, pc, (), (), "own")

    def _arithmetic(self, pc: int, item: Instruction) -> LoweredStep:
        first = item.operands[0] if item.operands else None
        found = operation(item.opcode, isinstance(first, Pair))
        if found is None:
            raise Unsupported(item.opcode, item.line)
        outputs = (first.first, first.second) if isinstance(first, Pair) else (first,)
        kinds = (found.result,) if isinstance(found.result, str) else found.result
        operands = item.operands[1:]
        if len(operands) != len(found.sources) or len(kinds) < len(outputs):
            raise Unsupported(item.opcode, item.line)
        targets = tuple(self._target(each) for each in outputs)
        names = tuple(each.name for each in outputs if isinstance(each, Register))
        negated = tuple(isinstance(each, Register) and each.name.startswith("!") for each in operands)
        plain = tuple(Register(each.name[1:]) if flag and isinstance(each, Register) else each
                      for each, flag in zip(operands, negated, strict=True))  # fmt: skip
        sources = tuple(
            self.source(each, _bits_of(kind)) for each, kind in zip(plain, found.sources, strict=True)
        )
        keep = self._keeps(item, names)
        run = self._computation(found, targets, sources, negated, keep, item)
        follows = "choice" if item.opcode.startswith("selp.") else "all"
        return LoweredStep(run, pc, sources, tuple(each for each in targets if each is not None), follows)

    def _computation(
        self,
        found: Operation,
        targets: tuple[int | None, ...],
        sources: tuple[int, ...],
        negated: tuple[bool, ...],
        keep: bool,
        item: Instruction,
    ) -> Step:
        dtypes = tuple(np.dtype(NUMPY_TYPES[kind]) for kind in found.sources)
        widths = tuple(self._width(target) for target in targets)
        if len(targets) == 1 and targets[0] is not None and not any(negated):
            kind = found.result if isinstance(found.result, str) else found.result[0]
            exact = all(
                _bits_of(source_kind) == self._bits_at(source)
                for source_kind, source in zip(found.sources, sources, strict=True)
            )
            same = exact and _bits_of(kind) == widths[0]
            short = affine_operation(item.opcode) if exact else None
            if same:
                return _compute(found.function, short, targets[0], sources, dtypes, keep)
        kinds = (found.result,) if isinstance(found.result, str) else found.result
        return _compute_any(found.function, targets, widths, kinds, sources, dtypes, negated, keep)

    def _bits_at(self, number: int) -> int:
        """The width of a register or constant; of symbols and special registers, 0 for unknown."""
        if number < len(self.program.widths):
            return self.program.widths[number]
        value = self.constants.get(number)
        if value is not None:
            return value.bits
        return 32 if number in self.specials else 0


def _bits_of(kind: str) -> int:
    return 1 if kind == "pred" else np.dtype(NUMPY_TYPES[kind]).itemsize * 8


# -- the steps themselves ---------------------------------------------------------------------------------------------


def _nothing(machine: Machine, mask: Mask | None) -> None:
    """What is done by the scheduler, or has no effect here."""


def _guarded(run: Step, number: int, negated: bool, pc: int) -> Step:
    def guarded(machine: Machine, mask: Mask | None) -> None:
        condition = machine.registers[number]
        if condition.lanes is None:
            if bool(condition.offset) != negated:
                run(machine, mask)
            return
        holds = condition.lanes.array
        chosen = machine.narrow(mask, ~holds if negated else holds)
        if chosen is None or chosen.count:
            run(machine, chosen)

    return guarded


def _trap(line: int | None) -> Step:
    def trap(machine: Machine, mask: Mask | None) -> None:
        lanes = machine.active(mask)
        stop(machine, line, int(lanes[0]), len(lanes), "it executes a trap instruction")

    return trap


def _compute(
    function: Callable[..., Any],
    short: Affine | None,
    target: int,
    sources: tuple[int, ...],
    dtypes: tuple[np.dtype[Any], ...],
    keep: bool,
) -> Step:
    """The usual case: one result, operands of the instruction's own width."""
    pairs = tuple(zip(sources, dtypes, strict=True))

    def compute(machine: Machine, mask: Mask | None) -> None:
        registers = machine.registers
        if short is not None:
            value = short(*[registers[source] for source in sources])
            if value is not None:
                machine.write(target, value, mask, keep=keep)
                return
        result = function(*[registers[source].dense(dtype) for source, dtype in pairs])
        machine.write(target, from_array(result), mask, keep=keep)

    return compute


def _compute_any(
    function: Callable[..., Any],
    targets: tuple[int | None, ...],
    widths: tuple[int, ...],
    kinds: tuple[str, ...],
    sources: tuple[int, ...],
    dtypes: tuple[np.dtype[Any], ...],
    negated: tuple[bool, ...],
    keep: bool,
) -> Step:
    """Several results, operands narrower than their registers, negated predicates."""

    def compute(machine: Machine, mask: Mask | None) -> None:
        arrays = []
        for source, dtype, flipped in zip(sources, dtypes, negated, strict=True):
            value = machine.registers[source]
            bits = 1 if dtype == np.bool_ else dtype.itemsize * 8
            array = narrowed(value, bits).dense(dtype) if value.bits > bits else value.dense(dtype)
            arrays.append(~array if flipped else array)
        result = function(*arrays)
        several = result if isinstance(result, tuple) else (result,)
        for target, width, kind, array in zip(targets, widths, kinds, several, strict=False):
            if target is not None:
                value = from_array(array)
                if value.bits != width:
                    fit = narrowed if value.bits > width else None
                    value = fit(value, width) if fit else widened(value, width, signed=kind[0] == "s")
                machine.write(target, value, mask, keep=keep)

    return compute


def _copy_register(target: int, source: int, width: int, keep: bool) -> Step:
    def copy(machine: Machine, mask: Mask | None) -> None:
        value = machine.registers[source]
        if value.bits != width:
            value = narrowed(value, width) if value.bits > width else widened(value, width, signed=False)
        machine.write(target, value, mask, keep=keep)

    return copy


def _clock(target: int, bits: int, keep: bool) -> Step:
    def clock(machine: Machine, mask: Mask | None) -> None:
        machine.write(target, uniform(machine.steps, bits), mask, keep=keep)

    return clock


def _pack(target: int, pieces: tuple[int, ...], bits: int, keep: bool) -> Step:
    part = bits // len(pieces)
    small, whole = np.dtype(f"i{part // 8}"), np.dtype(f"i{bits // 8}")

    def pack(machine: Machine, mask: Mask | None) -> None:
        arrays = np.broadcast_arrays(*(machine.registers[piece].dense(small) for piece in pieces))
        machine.write(target, from_array(np.stack(arrays, axis=-1).view(whole)[..., 0]), mask, keep=keep)

    return pack


def _unpacking(targets: tuple[int | None, ...], source: int, bits: int, keep: bool) -> Step:
    small, whole = np.dtype(f"i{bits // 8 // len(targets)}"), np.dtype(f"i{bits // 8}")

    def unpack(machine: Machine, mask: Mask | None) -> None:
        parts = np.ascontiguousarray(machine.registers[source].dense(whole))[..., np.newaxis].view(small)
        for number, target in enumerate(targets):
            if target is not None:
                machine.write(target, from_array(np.ascontiguousarray(parts[..., number])), mask, keep=keep)

    return unpack


def _warp_barrier(machine: Machine, mask: Mask | None) -> None:
    machine.races.warp_sync(mask)


def _active_mask(target: int | None) -> Step:
    def active(machine: Machine, mask: Mask | None) -> None:
        if target is not None:
            machine.write(target, from_array(warp.active_mask(machine, mask)), mask, keep=True)

    return active


def _combined(
    combine: warp.Combine,
    pc: int,
    line: int | None,
    targets: tuple[int | None, ...],
    sources: tuple[int, ...],
    bits: int,
    *,
    shuffles: bool,
) -> Step:
    """A warp-wide computation. A shuffle from a thread that does not take part gives an unset value."""
    first = np.dtype(np.bool_) if bits == 1 else np.dtype(f"i{bits // 8}")
    pairs = tuple((source, first if at == 0 else np.dtype(np.int32)) for at, source in enumerate(sources))

    def run(machine: Machine, mask: Mask | None) -> None:
        arrays = [machine.registers[source].dense(dtype) for source, dtype in pairs]
        results = combine(machine, mask, arrays)
        for target, array in zip(targets, results, strict=False):
            if target is not None:
                machine.write(target, from_array(array), mask, keep=True)
        origins = machine.unset.origins.get(sources[0])
        if not shuffles:
            machine.unset.use(sources[0], pc, mask, BRANCH)
        elif targets[0] is not None:
            came = None if origins is None else combine(machine, mask, [origins, *arrays[1:]])[0]
            machine.unset.from_shuffle(targets[0], pc, came, results[2], mask)

    return run
