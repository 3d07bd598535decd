"""Says which threads of a block wait for each other in vain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.machine import Machine
from kernels.device.nesting import branch_depth
from kernels.device.program import Program, is_barrier
from kernels.device.ptx import Instruction
from kernels.verdict import Example, Verdict


def report_stuck(
    machine: Machine,
    program: Program,
    column: int,
    groups: list[tuple[int, NDArray[np.intp]]],
) -> None:
    """A block of the chunk cannot go on; `groups`: where its threads wait, as instruction and thread numbers."""
    instructions = program.instructions
    # The barrier that stands in a branch is the one to look at, not the one where the others rightly wait.
    ordered = sorted(groups, key=lambda group: (-branch_depth(program, group[0]), len(group[1]), group[0]))
    pc, threads = ordered[0]
    line = instructions[pc].line
    other_pc, other_threads = ordered[-1]
    other_line = instructions[other_pc].line if other_pc != pc else None

    def describe() -> tuple[Example, str]:
        block = machine.geometry.block(column)
        one, two = (machine.geometry.thread(int(each[0])) for each in (threads, other_threads))
        what = _waiting_at(instructions[pc])
        name, where = machine.thread_name(one), machine.block_name(block)
        message = f"thread {name} of block {where} waits at {what}, line {line}"
        if other_pc == pc:
            return Example(block, (one,)), f"{message}; threads that it waits for never come there"
        name, what = machine.thread_name(two), _waiting_at(instructions[other_pc])
        message += f", while thread {name} of the same block waits at {what}, line {other_line}"
        return Example(block, (one, two)), f"{message}: all threads of a block must reach the same barrier"

    machine.findings.add(Verdict.BARRIER_DIVERGENCE, line, len(threads), describe, other_line=other_line)


def _waiting_at(instruction: Instruction) -> str:
    return "`__syncthreads()`" if is_barrier(instruction) else f"`{instruction.opcode}`"
