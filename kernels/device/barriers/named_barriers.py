"""The 16 barriers of a block, for a part of its threads: `bar.sync n, count` and `bar.arrive n, count`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Counts, Grid, Ordering
from kernels.device.ptx.constructs import names_itself, waiting_place
from kernels.device.ptx.module import Instruction, Reached
from kernels.device.state.findings import Described
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, TrapError, stop
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict

MOST = 16
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Arrival:
    """Threads that reach barriers with one instruction.

    numbers, counts: for each thread
    counted: whether it names a count; if not, it needs all threads of the block
    trusted: whether only barriers order the program's threads, so nothing else shows when a barrier is free again
    """

    instruction: Instruction
    pc: int
    part: Grid
    numbers: Counts
    counts: Counts
    counted: bool
    waits: bool
    trusted: bool


class NamedBarriers:
    """The state of the named barriers of a chunk of blocks.

    arrived: barrier, thread, block -> whether the thread has arrived at the current use
    waiting: the barrier at which each thread waits, and the instruction
    expected: how many threads the current use needs, 0 if none has arrived
    open_ended: whether the current use needs all threads of the block that have not exited
    uses: how many uses are over
    """

    def __init__(self, machine: Machine, ordering: Ordering) -> None:
        threads, blocks = machine.shape.threads, machine.shape.blocks
        self._machine = machine
        self._ordering = ordering
        self._warps = -(-threads // WARP)
        self._arrived = np.zeros((MOST, threads, blocks), np.bool_)
        self._waiting = np.full((threads, blocks), _NOWHERE, np.int64)
        self._pcs = np.zeros((threads, blocks), np.int64)
        self._expected = np.zeros((MOST, blocks), np.int64)
        self._open_ended = np.zeros((MOST, blocks), np.bool_)
        self._uses = np.zeros((MOST, blocks), np.int64)

    def any(self) -> bool:
        return bool((self._waiting != _NOWHERE).any())

    def places(self) -> dict[int, Grid]:
        """Return where threads wait: instruction -> threads."""
        waiting = self._waiting != _NOWHERE
        return {int(pc): waiting & (self._pcs == pc) for pc in np.unique(self._pcs[waiting])}

    def forget(self, columns: NDArray[np.intp]) -> None:
        """Forget the threads of these blocks, which have ended."""
        self._arrived[:, :, columns] = False
        self._waiting[:, columns] = _NOWHERE
        self._expected[:, columns] = 0

    # -- arrivals -----------------------------------------------------------------------------------------------------

    def check_whole(self, arrival: Arrival) -> None:
        """Check that barrier 0 is free for all threads, which come to `__syncthreads()`."""
        self._check_free(arrival, 0, arrival.part)
        if (self._arrived[0] & arrival.part.any(axis=0)).any():
            self._misused(arrival, arrival.part, "while others of its block use barrier 0 for a part of the block")

    def arrive(self, arrival: Arrival, whole: Grid) -> None:
        """Let threads arrive at the barriers that they name. whole: threads that wait at `__syncthreads()`."""
        self._check_operands(arrival)
        for number in np.unique(arrival.numbers[arrival.part]).tolist():
            part = arrival.part & (arrival.numbers == number)
            blocks = part.any(axis=0)
            self._check_free(arrival, number, part)
            if number == 0 and (whole & blocks).any():
                self._misused(arrival, part, "while others of its block wait at `__syncthreads()`, which is barrier 0")
            if (self._arrived[number] & part).any():
                self._misused(arrival, part, f"a second time before barrier {number} opens")
            self._expect(arrival, number, part, blocks)
            self._arrived[number] |= part
            if arrival.waits:
                self._waiting[part], self._pcs[part] = number, arrival.pc
            else:
                self._bring(number, part)
            present = self._present(number, None)
            if (many := blocks & (present > self._expected[number])).any():
                came, wanted = int(present[many][0]), int(self._expected[number][many][0])
                place = waiting_place(arrival.instruction)
                self._misused(arrival, part, f"{came:,} threads reach {place}, which takes {wanted:,}.", whole=True)

    def _check_operands(self, arrival: Arrival) -> None:
        part = arrival.part
        for values, good, what in (
            (arrival.numbers, (arrival.numbers >= 0) & (arrival.numbers < MOST), "only barriers 0 to 15 exist"),
            (arrival.counts, self._fits(arrival), f"the count must be a positive multiple of {WARP}"),
        ):
            bad = np.flatnonzero(part & ~good)
            if bad.size:
                value = int(values.reshape(-1)[bad[0]])
                why = f"it names {value} at `{arrival.instruction.opcode}`, and {what}"
                stop(self._machine, arrival.instruction.line, int(bad[0]), bad.size, why)

    def _fits(self, arrival: Arrival) -> Grid:
        if not arrival.counted:
            return np.ones_like(arrival.part)
        fits: Grid = (arrival.counts % WARP == 0) & (arrival.counts > 0)
        return fits

    def _check_free(self, arrival: Arrival, number: int, part: Grid) -> None:
        """Check that each arriving thread knows that the barrier's last use is over."""
        unaware = part & (self._ordering.seen(("bar", number)) < self._uses[number])
        if unaware.any():
            self._misused(arrival, unaware, f"without waiting for the last use of barrier {number}")

    def _expect(self, arrival: Arrival, number: int, part: Grid, blocks: Grid) -> None:
        """Check that the threads of a use agree on how many threads it needs."""
        counts = arrival.counts if arrival.counted else np.full_like(arrival.counts, self._warps * WARP)
        known = self._expected[number]
        most = np.where(part, counts, 0).max(axis=0)
        differs = part & ((counts != most) | ((known > 0) & (counts != known)))
        if differs.any():
            self._misused(arrival, differs, f"with a different count than other threads at barrier {number}")
        self._expected[number] = np.where(blocks, most, known)
        if not arrival.counted:
            self._open_ended[number] |= blocks

    def _bring(self, number: int, part: Grid) -> None:
        """Order what threads did before they arrived before what the waiting threads do next."""
        uses = self._uses[number]
        for use in np.unique(uses[part.any(axis=0)]).tolist():
            self._ordering.arrive(("bar", number, use), part & (uses == use))

    def _misused(self, arrival: Arrival, part: Grid, why: str, *, whole: bool = False) -> NoReturn:
        """Report a misuse in which chance decides which threads open the barrier.

        why: the reason, as the end of the thread's sentence, or as a sentence if `whole`
        """
        instruction = arrival.instruction
        lanes = np.flatnonzero(part)
        if not arrival.trusted:
            raise Reached(
                instruction.opcode,
                instruction.line,
                f"`{instruction.opcode}` is not emulated if atomics or volatile loads order its uses.",
            )

        def describe() -> Described:
            block, thread = self._machine.geometry.who(int(lanes[0]))
            name = self._machine.geometry.lane_name(int(lanes[0]))
            message = why if whole else f"{name} reaches `{instruction.opcode}` {why}."
            named = names_itself(instruction) if whole else instruction.opcode.startswith("bar.")
            return (Example(block, (thread,)), message, Facts(Mistake.NAMED_BARRIER if named else Mistake.OTHER))

        self._machine.findings.add(Verdict.BARRIER_DIVERGENCE, instruction.line, len(lanes), describe)
        raise TrapError

    # -- openings -----------------------------------------------------------------------------------------------------

    def _present(self, number: int, gone: Grid | None) -> Counts:
        """Return how many threads of each block have arrived. The last warp counts as a full one."""
        arrived = self._arrived[number]
        if gone is not None:
            arrived = arrived | (gone & self._open_ended[number])
        # The hardware counts arriving warps, and multiplies by 32.
        missing = self._warps * WARP - len(arrived)
        last = arrived[(self._warps - 1) * WARP :].any(axis=0)
        present: Counts = arrived.sum(axis=0) + missing * last
        return present

    def opened(self, gone: Grid) -> Iterator[tuple[int, Grid]]:
        """Open barriers that are complete. Yield the instructions at which threads waited, with the threads."""
        for number in range(MOST):
            expected = self._expected[number]
            if expected.any():
                complete = (expected > 0) & (self._present(number, gone) >= expected)
                if complete.any():
                    yield from self._open(number, complete, gone)

    def _open(self, number: int, blocks: Grid, gone: Grid) -> list[tuple[int, Grid]]:
        waiters = (self._waiting == number) & blocks
        found = [(int(pc), waiters & (self._pcs == pc)) for pc in np.unique(self._pcs[waiters])]
        self._tell(number, blocks, waiters, gone)
        self._uses[number, blocks] += 1
        seen = self._ordering.seen(("bar", number))
        np.copyto(seen, self._uses[number], where=waiters)
        self._arrived[number][:, blocks] = False
        self._waiting[waiters] = _NOWHERE
        self._expected[number, blocks] = 0
        self._open_ended[number, blocks] = False
        return found

    def _tell(self, number: int, blocks: Grid, waiters: Grid, gone: Grid) -> None:
        """Tell the race detection which threads the barrier orders: all of the block, or a part."""
        everyone = blocks & (waiters | (gone & self._open_ended[number])).all(axis=0)
        only_arrived = blocks & (self._arrived[number] & ~waiters).any(axis=0)
        together = blocks & ~everyone & ~only_arrived
        if everyone.any():
            self._ordering.barrier(None if (everyone | gone.all(axis=0)).all() else everyone)
            self._machine.epochs[0, everyone] += 1
        if together.any():
            self._ordering.met(np.where(waiters & together, np.int64(number), np.int64(-1)))
        if only_arrived.any():
            part = waiters & only_arrived
            self._bring(number, part)
            uses = self._uses[number]
            for use in np.unique(uses[only_arrived]).tolist():
                self._ordering.wait(("bar", number, use), part & (uses == use))
