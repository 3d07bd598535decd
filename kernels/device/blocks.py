"""Basic blocks with their steps: the pieces that a chunk of threads runs one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.device.lower import LoweredStep, Lowering
from kernels.device.program import is_barrier, is_warp_sync
from kernels.device.ptx import Immediate, Instruction, Malformed, Register, Unsupported

_BARRIER = re.compile(
    r"(?:bar|barrier(?:\.cta)?)\.(?:sync|red\.(?P<reduction>popc(?=\.u32)|and(?=\.pred)|or(?=\.pred))\.\w+)(?:\.aligned)?"
)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A basic block with its steps.

    end: the last instruction where it decides what comes next, else None
    operand: the register that the deciding or warp-wide instruction looks at: index, predicate or members; or -1
    result: the register that a reducing barrier sets, or -1
    polls: whether it looks at memory that other threads may change meanwhile, as a thread does that waits for them
    """

    first: int
    steps: tuple[LoweredStep, ...]
    end: Instruction | None
    end_pc: int
    follower: int
    warp_sync: bool
    operand: int
    result: int
    polls: bool


_POLLS = re.compile(r"atom\.|ld\.(volatile|relaxed|acquire|mmio)\b")


def code_blocks(lowering: Lowering) -> dict[int, CodeBlock]:
    """The blocks by the number of their first instruction."""
    found: dict[int, CodeBlock] = {}
    program = lowering.program
    for block in program.blocks:
        last = program.instructions[block.end - 1]
        decides = _decides(last)
        end = block.end - 1 if decides else block.end
        first = program.instructions[block.start]
        warp_sync = is_warp_sync(first) and not first.opcode.startswith("activemask")
        operand, result = _operands(lowering, first if warp_sync else last)
        found[block.start] = CodeBlock(
            block.start,
            lowering.steps[block.start : end],
            last if decides else None,
            block.end - 1,
            block.end,
            warp_sync,
            operand,
            result,
            any(_POLLS.match(each.opcode) for each in program.instructions[block.start : block.end]),
        )
    return found


def _operands(lowering: Lowering, instruction: Instruction) -> tuple[int, int]:
    """The numbers of the registers that the scheduler itself reads and writes."""
    head = instruction.opcode.split(".", 1)[0]
    if is_warp_sync(instruction):
        return lowering.source(instruction.operands[-1], 32), -1
    if head == "brx":
        return lowering.source(instruction.operands[0], 32), -1
    if is_barrier(instruction):
        return _barrier_operands(lowering, instruction)
    return -1, -1


def _decides(instruction: Instruction) -> bool:
    head = instruction.opcode.split(".", 1)[0]
    return head in {"bra", "brx", "ret", "exit"} or is_barrier(instruction)


def _barrier_operands(lowering: Lowering, instruction: Instruction) -> tuple[int, int]:
    """The predicate and the result of a reducing barrier.

    Barriers with a number from a register, or for a part of the block only, are not known.
    """
    found = _BARRIER.fullmatch(instruction.opcode)
    wanted = found and (3 if found["reduction"] else 1)
    number = instruction.operands[-2 if wanted == 3 else 0] if len(instruction.operands) == wanted else None
    if found is None or not isinstance(number, Immediate):
        raise Unsupported(instruction.opcode, instruction.line)
    if wanted == 1:
        return -1, -1
    last = instruction.operands[-1]
    plain = Register(last.name.removeprefix("!")) if isinstance(last, Register) else last
    result = lowering.target(instruction.operands[0], 32 if found["reduction"] == "popc" else 1)
    if result is None:
        raise Malformed("a barrier without its result")
    return lowering.source(plain, 1), result
