"""Turn the instructions of a program into steps of a machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from kernels.device.arithmetic import NUMPY_TYPES, Operation, operation
from kernels.device.barriers.mbarrier_phases import missing_arrivals
from kernels.device.execution import steps, warp
from kernels.device.execution.affine import add, affine_operation
from kernels.device.execution.printing import assert_step, print_step
from kernels.device.memory.access import FloatLoad, Form, Step, load_step, memory_form, scope_of
from kernels.device.memory.atomic import atomic_form, atomic_step
from kernels.device.memory.bulk import COMMIT as COMMIT_BULK
from kernels.device.memory.bulk import bulk_copy, bulk_form, bulk_step, bulk_wait, bulk_wait_step, commit_bulk
from kernels.device.memory.clusters import ADDRESS, IN_SPACE, in_space_step, map_step, rank_step
from kernels.device.memory.copies import commit_copies, copy_step, is_copy, wait_step
from kernels.device.memory.proxy_fences import proxy_fence_step
from kernels.device.memory.store import store_step
from kernels.device.memory.tensor_copies import tensor_copy, tensor_form
from kernels.device.ptx.constructs import waiting_place
from kernels.device.ptx.dataflow import block_local
from kernels.device.ptx.module import (
    SIZES,
    Arguments,
    Immediate,
    Instruction,
    Malformed,
    Operand,
    Pair,
    Refusal,
    Register,
    Symbol,
    Unsupported,
    Vector,
    is_special,
)
from kernels.device.ptx.program import Program, is_scheduled, is_tensor, is_warp_sync
from kernels.device.ptx.speculation import chosen_loads
from kernels.device.state.accesses import Strength
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import CLOCK, Operands, Place, special_bits
from kernels.device.state.space import LOCAL_BASE, SHARED_BASE
from kernels.device.state.values import uniform, widened
from kernels.device.tensor.lowering import tensor_step
from kernels.device.tensor.registers import product_registers, watched_step
from kernels.device.tensor.wgmma import (  # fmt: skip
    COMMIT,
    FENCE,
    WAIT,
    commit_products,
    fence_registers,
    product_step,
    wait_for_products,
)
from kernels.facts import Mistake

_NOTHING = re.compile(
    r"""fence\.proxy\.(?!async)[\w.:]*
    | prefetchu?(\.[\w:]+)*
    | cp\.async\.bulk\.prefetch\.(tensor\.[1-5]d\.)?L2\.global(\.tile)?
    | nanosleep\.u32 | pmevent(\.mask)? | griddepcontrol\.\w+ | setmaxnreg[\w.]*""",
    re.VERBOSE,
)
"""Instructions without an effect on values or order."""

_FENCE = re.compile(r"(?:membar|fence(?:\.(?P<order>sc|acq_rel|acquire|release))?)\.(?P<scope>cta|cluster|gl|gpu|sys)")
_CVTA = re.compile(r"cvta(?P<to>\.to)?\.(?P<space>global|shared|local|const|param)(?:::cta|::cluster)?\.u64")
_BASES = {"global": 0, "const": 0, "param": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}
MOST_GROUPS = 1 << 16
_GRID_CHECK = 8
"""A `grid_group` reads the address of the grid's barrier at most this many instructions before its trap."""


@dataclass(frozen=True, slots=True)
class LoweredStep:
    """One instruction, ready to run.

    sources, results: numbers of registers, for following unset values
    follows: how unset values pass: "all" (any unset source makes the results unset), "copy", "choice", "and", "or" or
        "own"; "refused" ends the run
    spent: the sources that only this block reads, and no step after this one
    quick: what it does to all threads if nothing is left to check, for a stretch of such steps
    """

    run: Step
    pc: int
    sources: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    follows: str = "own"
    spent: tuple[int, ...] = ()
    quick: FloatLoad | steps.Sum | None = None

    def instead(self, run: Step) -> LoweredStep:
        """Return the step with another function."""
        return self if run is self.run else replace(self, run=run, quick=None)


def _refused(pc: int, item: Instruction, reason: Unsupported) -> LoweredStep:
    """An instruction that isn't emulated. It may be in a branch that no thread takes, so only its run fails."""
    refusal = Refusal(reason.instruction, str(reason))
    run = steps.refusal_step(refusal, item.line if reason.line is None else reason.line)
    return LoweredStep(run, pc, follows="refused")


class Lowering(Operands):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._local = block_local(program)
        self._products = product_registers(program)
        self.choices = chosen_loads(program)
        self._read = frozenset(name for item in program.instructions for name in item.reads)
        self.steps = tuple(self._step(pc, item) for pc, item in enumerate(program.instructions))

    def _keeps(self, instruction: Instruction, names: tuple[str, ...]) -> bool:
        return instruction.guard is not None or any(name not in self._local for name in names)

    def _step(self, pc: int, item: Instruction) -> LoweredStep:
        try:
            return self._guarded(pc, item)
        except (IndexError, KeyError) as error:
            unexpected = Malformed(f"the instruction `{item.opcode[:60]}` has operands of unexpected form")
            unexpected.line = item.line
            raise unexpected from error
        except (Malformed, Unsupported) as error:
            error.line = item.line if error.line is None else error.line
            raise

    def _guarded(self, pc: int, item: Instruction) -> LoweredStep:
        try:
            step = self._unguarded(pc, item)
            if self._products:
                step = step.instead(watched_step(step.run, pc, item, self._products))
        except Unsupported as reason:
            step = _refused(pc, item, reason)
        return self._if_guarded(item, step)

    def refused(self, pc: int, reason: Unsupported) -> LoweredStep:
        """The step of an instruction that the scheduler doesn't know."""
        item = self.program.instructions[pc]
        return self._if_guarded(item, _refused(pc, item, reason))

    def _if_guarded(self, item: Instruction, step: LoweredStep) -> LoweredStep:
        if item.guard is None:
            return step
        number = self._register(item.guard.register.name, 1, wider=False)
        return step.instead(steps.guarded(step.run, number, item.guard.negated))

    def _unguarded(self, pc: int, item: Instruction) -> LoweredStep:
        if is_scheduled(item) or _NOTHING.fullmatch(item.opcode):
            return LoweredStep(steps.nothing, pc)
        if item.head == "wgmma":
            return self._wgmma(pc, item)
        if is_tensor(item):
            run = tensor_step(self, item, waiting_place(item), partial(self._piece, pc, item))
            return LoweredStep(run, pc)
        if is_warp_sync(item):
            return self._warp(pc, item)
        reader = self._READERS.get(item.head)
        return reader(self, pc, item) if reader is not None else self._arithmetic(pc, item)

    def _wgmma(self, pc: int, item: Instruction) -> LoweredStep:
        rows = len(self._products)
        if item.opcode == FENCE:
            return LoweredStep(fence_registers(rows), pc)
        if item.opcode == COMMIT:
            return LoweredStep(commit_products, pc)
        if item.opcode == WAIT and (allowed := groups_left(item)) is not None:
            return LoweredStep(wait_for_products(allowed, rows), pc)
        return LoweredStep(product_step(self, pc, item, self._products), pc)

    def _piece(self, pc: int, item: Instruction, form: Form, place: Place, words: tuple[int, ...]) -> Step:
        """Return the step that loads or stores a piece of a matrix."""
        if form.store:
            return store_step(form, pc, item.line, place, words)
        return load_step(form, pc, item.line, place, words, (32,) * len(words), keep=False)

    def _fence(self, pc: int, item: Instruction) -> LoweredStep:
        if (run := proxy_fence_step(item.opcode)) is not None:
            return LoweredStep(run, pc)
        fence = _FENCE.fullmatch(item.opcode)
        if fence is None:
            raise Unsupported(item.opcode, item.line)
        sides = {"acquire": (True, False), "release": (False, True)}.get(fence["order"], (True, True))
        return LoweredStep(steps.fence_step(scope_of(fence["scope"]), *sides), pc)

    def _memory(self, pc: int, item: Instruction) -> LoweredStep:
        form = memory_form(item.opcode)
        if form is None:
            raise Unsupported(item.opcode, item.line)
        if form.store:
            place, operand = self.place(item.operands[0]), item.operands[1]
        else:
            place, operand = self.place(item.operands[1]), item.operands[0]
        parts = _elements(operand)
        if len(parts) != form.count or len(item.operands) != 2:
            raise Malformed("a vector of the wrong length")
        bits, whole = form.size * 8, form.kind[0] != "f"
        if form.store:
            sources = tuple(self.source(part, bits, wider=whole) for part in parts)
            return LoweredStep(store_step(form, pc, item.line, place, sources), pc)
        targets = tuple(self.target(part, bits, wider=whole) for part in parts)
        names = tuple(part.name for part in parts if isinstance(part, Register))
        keep = self._keeps(item, names)
        widths = tuple(self._width(target) for target in targets)
        chosen = None
        if (choice := self.choices.get(pc)) is not None:
            guard = choice.guard
            chosen = self._register(guard.register.name, 1, wider=False), guard.negated
        run = load_step(form, pc, item.line, place, targets, widths, keep, chosen)
        quick = None
        plain = chosen is None and form.strength is Strength.PLAIN and not form.by_warp
        if plain and form.kind == "f32" and targets[0] is not None and form.count == 1:
            quick = FloatLoad(pc, place.register, targets[0])
        return LoweredStep(run, pc, quick=quick)

    def _atomic(self, pc: int, item: Instruction) -> LoweredStep:
        form = atomic_form(item.opcode)
        if form is None:
            raise Unsupported(item.opcode, item.line)
        operands = list(item.operands)
        bits = form.dtype.itemsize * 8
        targets: tuple[int | None, ...] = (None,) * form.count
        if form.returns:
            targets = tuple(self._old_value(element, bits) for element in _elements(operands.pop(0)))
        place = self.place(operands[0])
        sources = tuple(self.source(element, bits) for operand in operands[1:] for element in _elements(operand))
        if len(sources) != (2 if form.name == "cas" else form.count) or len(targets) != form.count:
            raise Malformed("an atomic update with the wrong number of operands")
        run = atomic_step(form, pc, item.line, place, targets, sources)
        return LoweredStep(run, pc, (), (), "all")  # the step itself marks old values that are unset

    def _old_value(self, operand: Operand | None, bits: int) -> int | None:
        """Return the register of an atomic's old value; None if no instruction reads it."""
        used = isinstance(operand, Register) and operand.name in self._read
        return self.target(operand, bits) if used else None

    def _copy(self, pc: int, item: Instruction) -> LoweredStep:
        opcode = item.opcode
        if opcode.startswith(("cp.async.bulk", "cp.reduce.async.bulk")):
            return self._bulk(pc, item)
        if opcode == "cp.async.commit_group":
            return LoweredStep(commit_copies, pc)
        if opcode in {"cp.async.wait_group", "cp.async.wait_all"}:
            return LoweredStep(wait_step(groups_left(item)), pc)
        size = item.operands[2] if len(item.operands) > 2 else None
        if not is_copy(opcode) or not isinstance(size, Immediate) or size.value not in {4, 8, 16}:
            raise Unsupported(opcode, item.line)
        given = self.source(item.operands[3], 32) if len(item.operands) > 3 else None
        places = self.place(item.operands[0]), self.place(item.operands[1])
        return LoweredStep(copy_step(pc, item.line, *places, size.value, given), pc)

    def _bulk(self, pc: int, item: Instruction) -> LoweredStep:
        if item.opcode == COMMIT_BULK:
            return LoweredStep(commit_bulk, pc)
        if (kinds := bulk_wait(item.opcode)) is not None and (allowed := groups_left(item)) is not None:
            return LoweredStep(bulk_wait_step(kinds, allowed), pc)
        if (tensor := tensor_form(item.opcode)) is not None and not tensor.load and len(item.operands) == 3:
            return LoweredStep(bulk_step(tensor_copy(self, pc, item, tensor)), pc)
        form = bulk_form(item.opcode)
        if form is None or form.barrier or len(item.operands) != 3:
            raise Unsupported(item.opcode, item.line)
        return LoweredStep(bulk_step(bulk_copy(self, pc, item, form)), pc)

    def _move(self, pc: int, item: Instruction) -> LoweredStep:
        kind = item.opcode.removeprefix("mov.")
        if kind not in SIZES or kind == "b128":
            raise Unsupported(item.opcode, item.line)
        bits = 1 if kind == "pred" else SIZES[kind] * 8
        if len(item.operands) != 2:
            raise Malformed("a move of unexpected form")
        first, second = item.operands
        if isinstance(first, Vector):
            return self._unpack(pc, item, first, self.source(second, bits), bits)
        target = self.target(first, bits)
        if target is None:
            raise Malformed("a move of unexpected form")
        name = first.name if isinstance(first, Register) else ""
        keep = self._keeps(item, (name,))
        if isinstance(second, Vector):
            part = _piece_bits(bits, second)
            pieces = tuple(self.source(item, part) for item in second.items)
            return LoweredStep(steps.pack_step(target, pieces, bits, keep), pc, pieces, (target,), "all")
        if isinstance(second, Register) and CLOCK.fullmatch(second.name):
            return LoweredStep(steps.clock_step(target, bits, keep), pc, (), (target,), "all")
        source = self._moved(second, bits)
        return LoweredStep(steps.copy_step(target, source, self._width(target), keep), pc, (source,), (target,), "copy")

    def _moved(self, operand: Operand, bits: int) -> int:
        """Return a move's source. It may also be an address, or a special register of another width."""
        if isinstance(operand, Symbol) and operand.name != "WARP_SZ":
            return self._address(operand)
        if isinstance(operand, Register) and is_special(operand.name):
            bits = special_bits(operand.name)
        return self.source(operand, bits)

    def _unpack(self, pc: int, item: Instruction, vector: Vector, source: int, bits: int) -> LoweredStep:
        part = _piece_bits(bits, vector)
        targets = tuple(self.target(item, part) for item in vector.items)
        names = tuple(item.name for item in vector.items if isinstance(item, Register))
        run = steps.unpack_step(targets, source, bits, self._keeps(item, names))
        return LoweredStep(run, pc, (source,), tuple(target for target in targets if target is not None), "all")

    def _cvta(self, pc: int, item: Instruction) -> LoweredStep:
        match = _CVTA.fullmatch(item.opcode)
        target = self.target(item.operands[0], 64)
        if match is None or target is None:
            raise Unsupported(item.opcode, item.line)
        source = self._moved(item.operands[1], 64)
        base = _BASES[match["space"]]
        shift = uniform(-base if match["to"] else base, 64)

        def run(machine: Machine, mask: Mask | None) -> None:
            value = machine.registers[source]
            value = value if value.bits == 64 else widened(value, 64, signed=False)
            machine.write(target, add(value, shift), mask, keep=True)

        return LoweredStep(run, pc, (source,), (target,), "all")

    def _in_cluster(self, pc: int, item: Instruction) -> LoweredStep:
        """An instruction on an address in the shared memory of blocks of a cluster."""
        match = ADDRESS.fullmatch(item.opcode)
        if match is None:
            raise Unsupported(item.opcode, item.line)
        bits, generic = int(match["bits"]), match["space"] is None
        source = self._moved(item.operands[1], bits)
        if match["verb"] == "mapa":
            target, rank = self.target(item.operands[0], bits), self.source(item.operands[2], 32)
            run = map_step(item.line, target, source, rank, bits, generic=generic)
            sources: tuple[int, ...] = source, rank
        else:
            target, sources = self.target(item.operands[0], 32), (source,)
            run = rank_step(item.line, target, source, generic=generic)
        return LoweredStep(run, pc, sources, () if target is None else (target,), "all")

    def _in_space(self, pc: int, item: Instruction) -> LoweredStep:
        match, target = IN_SPACE.fullmatch(item.opcode), self.target(item.operands[0], 1)
        if match is None or target is None:
            raise Unsupported(item.opcode, item.line)
        source = self.source(item.operands[1], 64)
        return LoweredStep(in_space_step(match["space"], target, source), pc, (source,), (target,), "all")

    def _refusal(self, pc: int, item: Instruction) -> LoweredStep:
        refusal = item.operands[0]
        if not isinstance(refusal, Refusal):
            return self._trap(pc, item)
        return LoweredStep(steps.refusal_step(refusal, item.line), pc)

    def _trap(self, pc: int, item: Instruction) -> LoweredStep:
        why, mistake = "it executes a trap instruction", Mistake.TRAP
        if self._asks_for_grid(pc):
            why = "it calls `sync()` of a grid, but the launch isn't cooperative. Blocks can't wait for each other"
            mistake = Mistake.OTHER
        return LoweredStep(steps.trap_step(item.line, why, mistake), pc)

    def _asks_for_grid(self, pc: int) -> bool:
        """Whether a trap belongs to a `grid_group` that finds no memory for the grid's barrier."""
        # The library reads the address of that memory from a special register just before the trap.
        before = self.program.instructions[max(0, pc - _GRID_CHECK) : pc]
        return any(
            isinstance(operand, Register) and operand.name.startswith("%envreg")
            for item in before
            for operand in item.operands
        )

    def _call(self, pc: int, item: Instruction) -> LoweredStep:
        lists = [operand.names for operand in item.operands if isinstance(operand, Arguments)]
        for name in (name for names in lists for name in names):
            variable = self.program.variables.get(name)
            if variable is None or variable.space != "param" or variable.size not in {4, 8}:
                raise Malformed("a call with an operand that isn't a parameter")
        if item.opcode == "call.printf":
            if len(lists[1]) != 2:
                raise Malformed("a call of printf of unexpected form")
            return LoweredStep(print_step(pc, item.line, lists[1], lists[0]), pc)
        return LoweredStep(assert_step(pc, item.line, lists[-1]), pc)

    def _callee(self, pc: int, item: Instruction) -> LoweredStep:
        target, table = self.target(item.operands[0], 32), item.operands[2]
        if target is None or not isinstance(table, Symbol):
            raise Malformed("a call of unexpected form")
        known = frozenset(self.program.functions.values())
        callees = self.program.callees[table.name]
        source = self.source(item.operands[1], 64)
        run = steps.callee_step(pc, item.line, target, source, callees, known)
        return LoweredStep(run, pc, (), (target,), "own")

    def _pending_count(self, pc: int, item: Instruction) -> LoweredStep:
        if item.opcode != "mbarrier.pending_count.b64":
            raise Unsupported(item.opcode, item.line)
        target, source = self.target(item.operands[0], 32), self.source(item.operands[1], 64)
        if target is None:
            raise Malformed("a count without its result")
        token = (np.dtype(np.int64),)
        run = steps.compute_step(missing_arrivals, None, target, (source,), token, keep=True)
        return LoweredStep(run, pc, (source,), (target,), "all")

    def _warp(self, pc: int, item: Instruction) -> LoweredStep:
        opcode = item.opcode
        if opcode == "elect.sync":
            return self._elect(pc, item)
        form = warp.warp_form(opcode)
        if form is None:
            raise Unsupported(opcode, item.line)
        if len(item.operands) != len(form.sources) + len(form.results[:1]):
            raise Malformed("a warp-wide instruction with the wrong number of operands")
        first = item.operands[0]
        outputs = (first.first, first.second) if isinstance(first, Pair) else (first,)
        if not form.results:
            return LoweredStep(steps.nothing, pc)
        if len(outputs) > len(form.results):
            raise Malformed("a warp-wide instruction with the wrong number of results")
        targets = tuple(self.target(each, bits) for each, bits in zip(outputs, form.results, strict=False))
        if form.combine is None:
            return LoweredStep(steps.active_mask_step(targets[0]), pc)
        sources = tuple(self.source(each, bits) for each, bits in zip(item.operands[1:], form.sources, strict=True))
        run = steps.warp_step(
            form.combine, pc, item.line, targets, sources[:-1], form.sources[0], shuffles=opcode.startswith("shfl")
        )
        return LoweredStep(run, pc)

    def _elect(self, pc: int, item: Instruction) -> LoweredStep:
        first = item.operands[0]
        if not isinstance(first, Pair):
            raise Malformed("an election without its results")
        targets = self.target(first.first, 32), self.target(first.second, 1)
        members = self.source(item.operands[1], 32)
        return LoweredStep(steps.elect_step(targets, members), pc)

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
        # PTX lets a conversion use registers that are wider than its types.
        wider = item.opcode.startswith("cvt.")
        targets = tuple(
            self.target(each, _bits_of(kind), wider=wider) for each, kind in zip(outputs, kinds, strict=False)
        )
        names = tuple(output.name for output in outputs if isinstance(output, Register))
        negated = tuple(
            kind == "pred" and isinstance(each, Register) and each.name.startswith("!")
            for each, kind in zip(operands, found.sources, strict=True)
        )
        plain = tuple(Register(each.name[1:]) if flag and isinstance(each, Register) else each
                      for each, flag in zip(operands, negated, strict=True))  # fmt: skip
        sources = tuple(
            self.source(each, _bits_of(kind), wider=wider) for each, kind in zip(plain, found.sources, strict=True)
        )
        keep = self._keeps(item, names)
        run = self._computation(found, targets, sources, negated, keep, item)
        results = tuple(target for target in targets if target is not None)
        # The compiler turns a branch into a selection or a logical operation. Then an unset value may decide nothing.
        follows = "choice" if item.opcode.startswith("selp.") else "all"
        verb = item.head
        if verb in {"and", "or"} and results and not any(negated) and not set(results) & set(sources):
            follows = verb
        quick = None if found.exactly is None or not results else steps.Sum(found.exactly, results[0], sources)
        return LoweredStep(run, pc, sources, results, follows, quick=quick)

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
                return steps.compute_step(found.function, short, targets[0], sources, dtypes, keep)
        kinds = (found.result,) if isinstance(found.result, str) else found.result
        return steps.compute_any_step(found.function, targets, widths, kinds, sources, dtypes, negated, keep)

    _READERS: ClassVar[Mapping[str, Callable[[Lowering, int, Instruction], LoweredStep]]] = {
        **dict.fromkeys(("ld", "ldu", "st"), _memory),
        **dict.fromkeys(("atom", "red"), _atomic),
        "cp": _copy,
        "mov": _move,
        **dict.fromkeys(("mapa", "getctarank"), _in_cluster),
        "isspacep": _in_space,
        "cvta": _cvta,
        "mbarrier": _pending_count,
        "call": _call,
        "callee": _callee,
        "refuse": _refusal,
        **dict.fromkeys(("trap", "brkpt"), _trap),
        **dict.fromkeys(("membar", "fence"), _fence),
    }
    """The reader of each instruction by the first part of its opcode; all others compute in registers."""


def _elements(operand: Operand) -> tuple[Operand | None, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _bits_of(kind: str) -> int:
    return 1 if kind == "pred" else np.dtype(NUMPY_TYPES[kind]).itemsize * 8


def _piece_bits(bits: int, vector: Vector) -> int:
    part, rest = divmod(bits, len(vector.items))
    if rest or part not in {8, 16, 32} or len(vector.items) < 2:
        raise Malformed("a vector that does not fill its register")
    return part


def groups_left(item: Instruction) -> int | None:
    """Return how many groups of copies may still be under way; None waits for every copy."""
    if item.opcode == "cp.async.wait_all":
        return None
    count = item.operands[0] if len(item.operands) == 1 else None
    if not isinstance(count, Immediate) or count.value < 0:
        raise Malformed("a wait for copies without a number")
    return min(count.value, MOST_GROUPS)
