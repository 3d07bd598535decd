"""Which of several barriers in shared memory can't complete, when all threads wait for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.module import Instruction
from kernels.device.state.findings import Described
from kernels.device.state.machine import Machine
from kernels.facts import Element, Facts, Incomplete, Mistake
from kernels.verdict import Example
from kernels.wording import lines_named, plural


@dataclass(frozen=True, slots=True)
class Awaited:
    """A barrier for which threads wait.

    line: of the wait
    parity: whether the wait names a parity instead of a token
    lanes: of the threads that wait
    arrived: the lanes that ever arrived at it
    """

    element: Element
    line: int | None
    parity: bool
    phase: Incomplete
    lanes: NDArray[np.intp]
    arrived: NDArray[np.intp]


def endless_wait(last: Sequence[Instruction]) -> Instruction | None:
    """Return the wait of a loop that only waits, from the instructions that it repeats."""
    used = [item for item in last if item.opcode.startswith("mbarrier.")]
    only_waits = all("_wait" in item.opcode for item in used)
    return used[0] if used and only_waits else None


def culprit(waits: Sequence[Awaited]) -> Awaited:
    """Return the barrier that can't complete. The others usually wait for the threads that wait for this one."""

    def follows(wait: Awaited) -> bool:
        late = np.setdiff1d(wait.arrived, wait.lanes)
        return any(np.isin(late, other.lanes).any() for other in waits if other.element != wait.element)

    def order(wait: Awaited) -> tuple[bool, bool, bool]:
        phase = wait.phase
        only_bytes = phase.bytes != phase.expected_bytes and phase.arrivals == phase.expected_arrivals
        return not only_bytes, follows(wait), phase.arrivals == 0

    return min(waits, key=order)


def described(machine: Machine, wait: Awaited, others: str) -> Described:
    """Say what the barrier lacks, and where it could come from. others: where further threads wait, as sentences."""
    lane = int(wait.lanes[0])
    block, thread = machine.geometry.who(lane)
    message = f"{machine.geometry.lane_name(lane)} waits for `{wait.element}` without end. {_lack(wait)}"
    facts = Facts(Mistake.MBARRIER, incomplete=wait.phase)
    return Example.at(wait.element, block, (thread,)), f"{message}{_places(wait.phase)}{others}", facts


def _lack(wait: Awaited) -> str:
    phase = wait.phase
    if phase.bytes != phase.expected_bytes:
        came = f"{phase.bytes:,}" if phase.bytes else "none"
        return f"Its phase expects {plural(phase.expected_bytes, 'byte')}, but {came} arrived."
    if phase.arrivals:
        return f"Its phase needs {plural(phase.expected_arrivals, 'arrival')}, but only {phase.arrivals:,} came."
    over = f"This barrier has completed {plural(phase.number - 1, 'phase')}."
    parity = f", which has parity {(phase.number - 1) % 2}" if wait.parity else ""
    return f"{over} No thread has arrived in the next one{parity}."


def _places(phase: Incomplete) -> str:
    arrivals, copies = lines_named(phase.arrival_lines), lines_named(phase.copy_lines)
    if arrivals and copies:
        return f" Threads arrive at {arrivals}, and copies report to it from {copies}."
    if copies:
        return f" Copies report to it from {copies}."
    return f" Threads arrive at {arrivals}." if arrivals else ""
