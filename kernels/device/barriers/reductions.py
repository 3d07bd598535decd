"""`__syncthreads_count` and its kin: barriers that also combine one predicate of each thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.execution.blocks import CodeBlock
from kernels.device.execution.machine import Machine
from kernels.device.execution.mask import Mask
from kernels.device.execution.values import from_array
from kernels.device.observers.unset import BRANCH
from kernels.device.ptx.module import Register


def reduce_at_barrier(machine: Machine, block: CodeBlock, mask: Mask | None) -> None:
    """Gives the threads that pass the barrier at the end of a code block its result, if it has one."""
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
