"""Report which threads of a block wait for each other without end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.constructs import names_itself, rule, waiting_place
from kernels.device.ptx.dataflow import successors
from kernels.device.ptx.module import Immediate
from kernels.device.ptx.program import Program, is_cluster_barrier, is_tensor
from kernels.device.state.findings import Described
from kernels.device.state.machine import Machine
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict
from kernels.wording import at_line


def report_stuck(machine: Machine, program: Program, groups: list[tuple[int, NDArray[np.intp]]]) -> None:
    """Report that a block or a cluster can't continue. groups: where its threads wait, as instruction and lanes."""
    instructions = program.instructions
    # The barrier inside a branch is usually the mistake, not the barrier at which the others wait. So report it first.
    ordered = sorted(groups, key=lambda group: (-branch_depth(program, group[0]), len(group[1]), group[0]))
    pc, threads = ordered[0]
    line = instructions[pc].line
    other_pc, other_threads = ordered[-1]
    other_line = instructions[other_pc].line if other_pc != pc else None

    def describe() -> Described:
        (block, one), (there, two) = (machine.geometry.who(int(each[0])) for each in (threads, other_threads))
        what = waiting_place(instructions[pc])
        named = names_itself(instructions[pc]) or names_itself(instructions[other_pc])
        cluster = is_cluster_barrier(instructions[pc]) or is_cluster_barrier(instructions[other_pc])
        mistake = Mistake.MATRIX if is_tensor(instructions[pc]) else Mistake.OTHER
        mistake = Mistake.CLUSTER_BARRIER if cluster else Mistake.NAMED_BARRIER if named else mistake
        facts = Facts(mistake)
        name, where = machine.geometry.thread_name(one), machine.geometry.block_name(block)
        message = f"Thread {name} of block {where} waits in {what}{at_line(line)}."
        if other_pc == pc and (wanted := _wanted(program, pc)) is not None:
            return (Example(block, (one,)), f"{message} Only {len(threads):,} of {wanted:,} threads reach it.", facts)
        if other_pc == pc:
            message += " Other threads of its group never reach it."
            return Example(block, (one,)), f"{message} {rule(instructions[pc])}", facts
        name, what = machine.geometry.thread_name(two), waiting_place(instructions[other_pc])
        other = "the same block" if there == block else f"block {machine.geometry.block_name(there)}"
        message += f" Thread {name} of {other} waits in {what}{at_line(other_line)}."
        return Example(block, (one, two)), f"{message} {rule(instructions[pc])}", facts

    machine.findings.add(Verdict.BARRIER_DIVERGENCE, line, len(threads), describe, other_line=other_line)


def _wanted(program: Program, pc: int) -> int | None:
    """Return how many threads a barrier names. None if it names none, or if threads also arrive without waiting."""
    operands = program.instructions[pc].operands
    if len(operands) != 2 or any(".arrive" in item.opcode for item in program.instructions):
        return None
    count = operands[1]
    return count.value if isinstance(count, Immediate) else None


_MOST_BLOCKS = 1_000


def branch_depth(program: Program, pc: int) -> int:
    """Return how many branches decide whether control reaches an instruction; 0 in very large programs.

    A branch decides if one of its paths always leads to the instruction and another may avoid it. Branches that decide
    about such a branch count too.
    """
    blocks = program.blocks
    if len(blocks) > _MOST_BLOCKS:
        return 0
    index_of = {block.start: at for at, block in enumerate(blocks)}
    ways = [successors(program, block, index_of) for block in blocks]
    waiting = [next(at for at, block in enumerate(blocks) if block.start <= pc < block.end)]
    found: set[int] = set()
    while waiting:
        always = _always_reach(ways, waiting.pop())
        for at, after in enumerate(ways):
            reached = {always[way] for way in after}
            if len(reached) == 2 and at not in found:
                found.add(at)
                waiting.append(at)
    return len(found)


def _always_reach(ways: list[list[int]], here: int) -> list[bool]:
    """Return, for each block, whether every path from it reaches the block `here`. Loops are assumed to end."""
    reaches = [True] * len(ways)
    changed = True
    while changed:
        changed = False
        for at in range(len(ways) - 1, -1, -1):
            now = at == here or (bool(ways[at]) and all(reaches[way] for way in ways[at]))
            if now != reaches[at]:
                reaches[at] = now
                changed = True
    return reaches
