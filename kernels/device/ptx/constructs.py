"""The CUDA C++ construct behind a PTX instruction, if it is known."""

from __future__ import annotations

import re

from kernels.device.ptx.module import Immediate, Instruction
from kernels.device.ptx.program import is_barrier, is_cluster_barrier, is_product, is_tensor, is_warp_sync

_SHUFFLES = {"up": "__shfl_up_sync", "down": "__shfl_down_sync", "bfly": "__shfl_xor_sync", "idx": "__shfl_sync"}
_VOTES = {"all": "__all_sync", "any": "__any_sync", "uni": "__uni_sync", "ballot": "__ballot_sync"}
_WMMA = {"load": "load_matrix_sync()", "mma": "mma_sync()", "store": "store_matrix_sync()"}
_REDUCTIONS = {"popc": "__syncthreads_count", "and": "__syncthreads_and", "or": "__syncthreads_or"}


def waiting_place(instruction: Instruction) -> str:
    """Return the call at which threads wait for others: `` `__syncthreads()` ``."""
    parts = instruction.opcode.split(".")
    if is_barrier(instruction):
        return _barrier(instruction)
    if instruction.opcode == "bar.warp.sync":
        return "`__syncwarp()`"
    if parts[0] == "shfl":
        return f"`{_SHUFFLES.get(parts[2], '__shfl_sync')}()`"
    if parts[0] == "vote":
        return f"`{_VOTES.get(parts[2], '__all_sync')}()`"
    if parts[0] == "match":
        return f"`__match_{parts[1]}_sync()`"
    if parts[0] == "elect":
        return "`elect.sync`"
    if parts[0] == "wmma":
        return f"`wmma::{_WMMA[parts[1]]}`"
    if is_tensor(instruction):
        return f"`{parts[0]}`"
    if parts[0] == "redux":
        return f"`__reduce_{parts[2]}_sync()`"
    return f"`{instruction.opcode}`"


def names_itself(instruction: Instruction) -> bool:
    """Whether an instruction is a barrier without a function in CUDA C++, so that its place is its PTX."""
    plain = instruction.opcode.startswith("bar.") and ".red." not in instruction.opcode
    return plain and is_barrier(instruction) and instruction.operands != (Immediate(0),)


def _barrier(instruction: Instruction) -> str:
    reduction = re.search(r"\.red\.(\w+)", instruction.opcode)
    if reduction:
        return f"`{_REDUCTIONS.get(reduction[1], '__syncthreads_count')}()`"
    if instruction.operands == (Immediate(0),):
        return "`__syncthreads()`"
    if all(isinstance(operand, Immediate) for operand in instruction.operands):
        numbers = (str(operand.value) for operand in instruction.operands if isinstance(operand, Immediate))
        return f"`{instruction.opcode} {', '.join(numbers)}`"
    return f"`{instruction.opcode}`"


def rule(instruction: Instruction) -> str:
    """State which threads must reach the call at which threads wait."""
    if is_cluster_barrier(instruction):
        return "All threads of a cluster that haven't returned must arrive at its barrier."
    if is_product(instruction):
        return f"All 128 threads of four warps must reach the same {waiting_place(instruction)}."
    if is_tensor(instruction):
        return f"All 32 threads of a warp must reach {waiting_place(instruction)}."
    if is_warp_sync(instruction):
        return f"All threads of the warp that the mask names must reach {waiting_place(instruction)}."
    if len(instruction.operands) == 2:
        return "The barrier opens only when its number of threads has arrived."
    return "All threads of a block must reach the same barrier."
