"""Basic blocks with their steps, which a chunk of threads runs one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.cluster_barriers import ClusterUse, cluster_use
from kernels.device.barriers.mbarrier_uses import MbarrierUse, mbarrier_use
from kernels.device.execution.lower import LoweredStep, Lowering
from kernels.device.execution.stretches import Stretch, stretches
from kernels.device.ptx.dataflow import block_local
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Register, Unsupported
from kernels.device.ptx.program import (
    Block,
    Program,
    is_barrier,
    is_cluster_barrier,
    is_mbarrier,
    is_scheduled,
    is_tensor,
    is_warp_sync,
)
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.unset_values import BRANCH
from kernels.device.state.values import from_array

_BARRIER = re.compile(
    r"(?:bar|barrier)(?:\.cta)?\."
    r"(?:(?P<verb>sync|arrive)|red\.(?P<reduction>popc(?=[.\w]*\.u32)|(?:and|or)(?=[.\w]*\.pred)))"
    r"(?:\.aligned)?(?:\.u32|\.pred)?"
)


@dataclass(frozen=True, slots=True)
class NamedUse:
    """A barrier for a part of the block, or with a number other than 0.

    number, count: the registers that hold them; -1 for all threads of the block
    """

    number: int
    count: int
    waits: bool


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A basic block with its steps.

    stretches: the steps as they are run
    end: the last instruction, if it decides the next block; otherwise None
    operand: the input register of the deciding or warp-wide instruction: index, predicate or members; or -1
    result: the register that a reducing barrier sets, or -1
    last_poll: the last instruction that reads memory which other threads may change, to wait for them; or -1
    named: the barrier at the end that is not one for all threads at one place; otherwise None
    mbarrier: the instruction at the end, if it uses a barrier in shared memory
    cluster: the instruction at the end, if it uses the barrier of the cluster
    """

    first: int
    steps: tuple[LoweredStep, ...]
    stretches: tuple[Stretch, ...]
    end: Instruction | None
    end_pc: int
    follower: int
    warp_sync: bool
    operand: int
    result: int
    last_poll: int
    named: NamedUse | None
    mbarrier: MbarrierUse | None
    cluster: ClusterUse | None

    def waits_at(self, target: int) -> bool:
        """Whether threads that go from here to `target` repeat a loop that waits for other threads."""
        return target <= self.first and target <= self.last_poll


_LOOKS = re.compile(r"atom\.|ld\.(volatile|relaxed|acquire|mmio)\b")
_POLLS = re.compile(rf"{_LOOKS.pattern}|mbarrier\.(test|try)_wait\b")


def ordered_by_barriers(program: Program) -> bool:
    """Whether only barriers order the program's threads, because none waits by reading memory."""
    return not any(_LOOKS.match(item.opcode) for item in program.instructions)


def code_blocks(lowering: Lowering) -> dict[int, CodeBlock]:
    found: dict[int, CodeBlock] = {}
    program = lowering.program
    last_poll = -1
    for block in program.blocks:
        for pc in range(block.start, block.end):
            last_poll = pc if _POLLS.match(program.instructions[pc].opcode) else last_poll
        try:
            found[block.start] = _code_block(lowering, block, last_poll)
        except Unsupported as reason:
            found[block.start] = _refused_block(lowering, block, last_poll, reason)
    return found


def _code_block(lowering: Lowering, block: Block, last_poll: int) -> CodeBlock:
    first, last = (lowering.program.instructions[pc] for pc in (block.start, block.end - 1))
    decides = is_scheduled(last)
    warp_sync = is_warp_sync(first) and not first.opcode.startswith("activemask")
    warp_sync = warp_sync and lowering.steps[block.start].follows != "refused"
    operand, result = _operands(lowering, first if warp_sync else last)
    steps = _steps(lowering, block, block.end - 1 if decides else block.end)
    return CodeBlock(
        block.start,
        steps,
        stretches(steps),
        last if decides else None,
        block.end - 1,
        block.end,
        warp_sync,
        operand,
        result,
        last_poll,
        _named(lowering, last) if is_barrier(last) else None,
        mbarrier_use(lowering, block.end - 1, last) if is_mbarrier(last) else None,
        cluster_use(block.end - 1, last) if is_cluster_barrier(last) else None,
    )


def _refused_block(lowering: Lowering, block: Block, last_poll: int, reason: Unsupported) -> CodeBlock:
    """A block whose last instruction is a barrier that isn't emulated."""
    at = block.end - 1
    steps = (*_steps(lowering, block, at), lowering.refused(at, reason))
    parts = stretches(steps)
    return CodeBlock(block.start, steps, parts, None, at, block.end, False, -1, -1, last_poll, None, None, None)


def _steps(lowering: Lowering, block: Block, end: int) -> tuple[LoweredStep, ...]:
    """Return the steps in order. Loads that the compiler moved ahead of a selection are delayed to it."""
    program, choices = lowering.program, lowering.choices
    order = sorted(range(block.start, end), key=lambda pc: choices[pc].pc - 0.5 if pc in choices else pc)
    local = block_local(program)
    later = {name for item in program.instructions[end : block.end] for name in item.reads}
    made: list[LoweredStep] = []
    for pc in reversed(order):
        step, item = lowering.steps[pc], program.instructions[pc]
        names = set(item.reads)
        last = {program.registers[name] for name in (names & local) - later - set(item.results)}
        made.append(replace(step, spent=tuple(last.intersection(step.sources))))
        later |= names
    return tuple(reversed(made))


def _operands(lowering: Lowering, instruction: Instruction) -> tuple[int, int]:
    """Return the numbers of the registers that the scheduler itself reads and writes."""
    if is_tensor(instruction):
        return lowering.source(Immediate(-1), 32), -1
    if is_warp_sync(instruction):
        return lowering.source(instruction.operands[-1], 32), -1
    if instruction.head == "brx":
        return lowering.source(instruction.operands[0], 32), -1
    if is_barrier(instruction):
        return _barrier_operands(lowering, instruction)
    return -1, -1


def _barrier_operands(lowering: Lowering, instruction: Instruction) -> tuple[int, int]:
    match = _BARRIER.fullmatch(instruction.opcode)
    if match is None:
        raise Unsupported(instruction.opcode, instruction.line)
    if match["reduction"] is None:
        return -1, -1
    if len(instruction.operands) != 3 or not isinstance(instruction.operands[1], Immediate):
        reason = f"`{instruction.opcode}` is emulated for all threads of a block only."
        raise Unsupported(instruction.opcode, instruction.line, reason)
    last = instruction.operands[-1]
    plain = Register(last.name.removeprefix("!")) if isinstance(last, Register) else last
    result = lowering.target(instruction.operands[0], 32 if match["reduction"] == "popc" else 1)
    if result is None:
        raise Malformed("a barrier without its result")
    return lowering.source(plain, 1), result


def _named(lowering: Lowering, instruction: Instruction) -> NamedUse | None:
    """Return the number and the count of a barrier, unless it is `__syncthreads()`."""
    match = _BARRIER.fullmatch(instruction.opcode)
    operands = instruction.operands
    if match is None or match["reduction"] or (operands == (Immediate(0),) and match["verb"] == "sync"):
        return None
    waits = match["verb"] == "sync"
    if not (1 if waits else 2) <= len(operands) <= 2:
        raise Malformed("a barrier with the wrong number of operands")
    number, count = lowering.source(operands[0], 32), -1
    if len(operands) == 2:
        count = lowering.source(operands[1], 32)
    return NamedUse(number, count, waits)


def reduce_at_barrier(machine: Machine, block: CodeBlock, mask: Mask | None) -> None:
    """Set the result of the barrier at the end of a code block, in the threads that pass it.

    `__syncthreads_count` and similar barriers also combine one predicate of each thread.
    """
    instruction = block.end
    if instruction is None or block.result < 0:
        return
    grid = (machine.shape.threads, machine.shape.blocks)
    last = instruction.operands[-1]
    negated = isinstance(last, Register) and last.name.startswith("!")
    machine.unset.use(block.operand, block.end_pc, mask, BRANCH)
    holds = np.broadcast_to(machine.registers[block.operand].dense(np.dtype(np.bool_)) != negated, grid)
    present = np.ones(grid, np.bool_) if mask is None else mask.array
    if ".popc" in instruction.opcode:
        result: NDArray[Any] = (holds & present).sum(axis=0, keepdims=True, dtype=np.int32)
    elif ".and" in instruction.opcode:
        result = np.logical_and.reduce(holds | ~present, axis=0, keepdims=True)
    else:
        result = np.logical_or.reduce(holds & present, axis=0, keepdims=True)
    value = from_array(result.astype(np.bool_) if ".popc" not in instruction.opcode else result)
    machine.write(block.result, value, mask, keep=True)
