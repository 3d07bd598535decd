"""One flat program, its basic blocks, and the kinds of its instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernels.device.ptx.module import Bounds, Instruction, Variable
from kernels.facts import Operation

_BARRIERS = re.compile(r"(bar|barrier)(\.cta)?\.(sync|arrive|red)\b")
_WARP_SYNCS = re.compile(r"bar\.warp\.sync|shfl\.sync|vote\.sync|match\.\w+\.sync|redux\.sync|elect\.sync|activemask")
_TENSORS = frozenset({"wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"})
_WGMMA_ORDER = ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")
_WAYS = frozenset({"bra", "brx", "ret", "exit"})
ENDS = {"ret", "exit", "trap", "brkpt", "call.assert"}


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions [start, end) that run one after the other. Only the last one may jump or wait."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A kernel that is ready to run.

    registers: register name -> number
    widths: the width in bits of each register, by number
    targets: label -> index of the instruction after it
    parameters: the kernel's own parameters, in order
    variables: everything with an address, by name
    functions: the addresses of functions that are used as values, by name
    callees: the possible callees' addresses of each call through a pointer, by its table's name
    """

    name: str
    instructions: tuple[Instruction, ...]
    registers: Mapping[str, int]
    widths: tuple[int, ...]
    targets: Mapping[str, int]
    tables: Mapping[str, tuple[str, ...]]
    blocks: tuple[Block, ...]
    parameters: tuple[Variable, ...]
    bounds: Bounds
    variables: Mapping[str, Variable]
    functions: Mapping[str, int]
    callees: Mapping[str, tuple[int, ...]]

    @property
    def static_shared(self) -> int:
        return sum(v.size for v in self.variables.values() if v.space == "shared" and not v.external)


def is_barrier(instruction: Instruction) -> bool:
    """Whether the threads of a block meet at one of its barriers here."""
    return bool(_BARRIERS.match(instruction.opcode))


def is_mbarrier(instruction: Instruction) -> bool:
    """Whether the instruction uses a barrier in shared memory."""
    opcode = instruction.opcode
    if opcode.startswith(("cp.async.bulk.", "cp.reduce.async.bulk.", "st.async.", "red.async.")):
        return ".mbarrier::" in opcode
    return opcode.startswith(("mbarrier.", "cp.async.mbarrier.")) and not opcode.startswith("mbarrier.pending")


def is_cluster_barrier(instruction: Instruction) -> bool:
    """Whether threads arrive at the barrier of their cluster here, or wait at it."""
    return instruction.opcode.startswith("barrier.cluster.")


def operation_of(instruction: Instruction) -> Operation | None:
    """The operation that an instruction starts, if it goes on while the thread does."""
    opcode = instruction.opcode
    if opcode.startswith(("cp.async.bulk", "cp.reduce.async.bulk")):
        return Operation.BULK_LOAD if is_mbarrier(instruction) else Operation.BULK_STORE
    if opcode.startswith(("st.async", "red.async")):
        return Operation.REMOTE_STORE
    if opcode.startswith("cp.async"):
        return Operation.COPY
    return Operation.PRODUCT if is_product(instruction) else None


def relaxed_arrivals(program: Program) -> tuple[int, ...]:
    """Return the lines where threads arrive at a barrier of a cluster, or in shared memory, which orders nothing."""
    arrivals = [
        item
        for item in program.instructions
        if item.opcode.startswith(("barrier.cluster.arrive.", "mbarrier.arrive")) and ".relaxed" in item.opcode
    ]
    return tuple(sorted({item.line for item in arrivals if item.line is not None}))


def copy_waits(program: Program) -> tuple[int, ...]:
    """Return the lines where threads wait for their copies by `cp.async`."""
    waits = (item for item in program.instructions if item.opcode in {"cp.async.wait_group", "cp.async.wait_all"})
    return tuple(sorted({item.line for item in waits if item.line is not None}))


def is_warp_sync(instruction: Instruction) -> bool:
    """Whether the named lanes of a warp meet here."""
    return bool(_WARP_SYNCS.match(instruction.opcode)) or is_tensor(instruction)


def is_tensor(instruction: Instruction) -> bool:
    """Whether all lanes of a warp work on a matrix together here."""
    return instruction.head in _TENSORS and not instruction.opcode.startswith(_WGMMA_ORDER)


def is_product(instruction: Instruction) -> bool:
    """Whether four warps multiply together here."""
    return instruction.head == "wgmma" and is_tensor(instruction)


def is_jump(instruction: Instruction) -> bool:
    """Whether control may jump here."""
    return instruction.head in {"bra", "brx", *ENDS} or instruction.opcode in ENDS


def is_scheduled(instruction: Instruction) -> bool:
    """Whether the scheduler does the instruction's work: a jump, or a barrier of a block or a cluster."""
    waits = is_barrier(instruction) or is_mbarrier(instruction) or is_cluster_barrier(instruction)
    return instruction.head in _WAYS or waits


def basic_blocks(instructions: list[Instruction], targets: Mapping[str, int]) -> tuple[Block, ...]:
    """Cut the program at places where control may arrive, jump or wait.

    A warp-wide operation starts a new block, so that threads can wait before it for the others.
    """
    starts = {0, *targets.values()}
    for index, instruction in enumerate(instructions):
        if is_jump(instruction) or is_scheduled(instruction):
            starts.add(index + 1)
        elif is_warp_sync(instruction):
            starts.update((index, index + 1))
    ordered = sorted(start for start in starts if start < len(instructions))
    ends = [*ordered[1:], len(instructions)]
    return tuple(Block(start, end) for start, end in zip(ordered, ends, strict=True))
