"""Run a chunk of blocks: which threads continue where, which wait for which, and what happens in a deadlock.

All threads at one place continue together. Of several places, the first in the program continues. So threads on
different paths meet again as early as possible. Threads that read memory in a loop, for example to wait for a lock, let
the others go first.

In the reversed schedule, the last place goes first, and so do the last atomics and blocks. In a serial schedule, each
warp or each thread runs alone up to the next barrier. The first one goes first, or reversed the last one. So two
accesses that nothing orders happen in both orders.

In a late schedule, asynchronous copies also go on until all threads wait, and a wait fails several times before others
go on. So a thread that gives up after a few looks at a barrier finds that its phase isn't over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.cluster_barriers import ClusterBarriers
from kernels.device.barriers.deadlocks import report_stuck
from kernels.device.barriers.endless_waits import culprit, described, endless_wait
from kernels.device.barriers.mbarriers import Mbarriers
from kernels.device.barriers.named_barriers import Arrival, NamedBarriers
from kernels.device.barriers.ordering import Ordering
from kernels.device.execution.blocks import CodeBlock, NamedUse, ordered_by_barriers, reduce_at_barrier
from kernels.device.execution.idle_loops import looks, only_waits
from kernels.device.execution.lower import LoweredStep, Lowering
from kernels.device.execution.warp_meetings import WarpMeetings
from kernels.device.ptx.constructs import waiting_place
from kernels.device.ptx.module import Instruction, Malformed, Symbol
from kernels.device.ptx.program import ENDS
from kernels.device.state.findings import Described
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import EMPTY, EXIT, Machine
from kernels.device.state.mask import Mask
from kernels.device.state.unset_values import BRANCH
from kernels.device.state.values import INTEGER
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict
from kernels.wording import at_line

Grid = NDArray[np.bool_]
_LAST_STEPS = 2_000
_MOST_ROUNDS = 1_000
"""Rounds in which waits fail again at once, in a late schedule."""
_TRIES, _MOST_TRIES = 256, 64
"""How often a wait fails before other threads go on: summed over warps or threads, and at most."""
_MOST_TOGETHER = 32_000_000
"""A thread may exceed the budget of each until all threads of its chunk have executed so many instructions."""


class Schedule(StrEnum):
    """The order in which threads run."""

    LOCKSTEP = "lockstep"
    REVERSED = "reversed"
    WARP_SERIAL = "warp_serial"
    WARP_SERIAL_REVERSED = "warp_serial_reversed"
    THREAD_SERIAL = "thread_serial"
    THREAD_SERIAL_REVERSED = "thread_serial_reversed"
    WARP_LATE = "warp_late"
    WARP_LATE_REVERSED = "warp_late_reversed"
    THREAD_LATE = "thread_late"
    THREAD_LATE_REVERSED = "thread_late_reversed"

    @property
    def backwards(self) -> bool:
        """Whether the last blocks, warps and atomics go first."""
        return self.value.endswith("reversed")

    @property
    def group(self) -> int:
        """How many threads run alone up to the next barrier; 0 if all run together."""
        return {"warp": WARP, "thread": 1}.get(self.value.partition("_")[0], 0)

    @property
    def late(self) -> bool:
        """Whether asynchronous copies go on as long as any thread can do something else than wait."""
        return "late" in self.value


@dataclass(frozen=True, slots=True)
class Budget:
    """The most instructions that a thread may execute.

    instructions: every thread may execute so many
    alone: a thread may execute so many while few others run; 0 for no more than `instructions`
    needed: what all threads of another kernel need together for this launch; 0 if unknown
    by: the name of the other kernel
    """

    instructions: int
    alone: int = 0
    needed: int = 0
    by: str = "a plain kernel"

    def text(self, spent: int) -> str:
        """How far a thread went that spent its budget."""
        times = spent // self.needed if self.needed else 0
        if times < 2:
            return f"{spent:,} instructions, more than this size allows"
        return f"{spent:,} instructions, {times:,} times what {self.by} needs in all threads"


class BudgetSpentError(Exception):
    """A thread has executed too many instructions. `line` is where it was."""

    def __init__(self, line: int | None, lane: int, instructions: int) -> None:
        super().__init__("instruction budget spent")
        self.instructions = instructions
        self.line = line
        self.lane = lane


class EndlessWaitError(Exception):
    """Threads wait at `line` for a barrier in shared memory that can't complete. `described` says what it lacks."""

    def __init__(self, line: int | None, described: Described) -> None:
        super().__init__("a wait without end")
        self.line = line
        self.described = described


class ChunkRun:
    def __init__(
        self, lowering: Lowering, blocks: dict[int, CodeBlock], machine: Machine, schedule: Schedule, budget: Budget
    ) -> None:
        self._lowering = lowering
        self._blocks = blocks
        self._barriers = {block.end_pc: block for block in blocks.values()}
        self._machine = machine
        self._group, self._late = schedule.group, schedule.late
        self._sign = -1 if schedule.backwards else 1
        self._first = max if schedule is Schedule.REVERSED else min
        self._budget = budget.instructions
        self._most = budget.alone
        self._last_places: set[int] = set()
        self._polling: set[tuple[int, int]] = set()
        self._acts, self._seen_acts = 0, -1
        self._rounds = _MOST_ROUNDS if schedule.late else 0
        self._idle: set[int] = set()
        self._idle_loops: dict[int, Sequence[Instruction]] = {}
        self._ready: dict[tuple[int, int], Mask | None] = {}
        self._at_barrier: dict[int, Grid] = {}
        self._gone = np.zeros((machine.shape.threads, machine.shape.blocks), np.bool_)
        self._stuck = np.zeros(machine.shape.blocks, np.bool_)
        self._ordering = Ordering(machine)
        self._warps = WarpMeetings(machine, blocks, lowering.program.instructions, self._ordering)
        named = any(block.named for block in blocks.values())
        self._named = NamedBarriers(machine, self._ordering) if named else None
        self._trusted = ordered_by_barriers(lowering.program)
        clusters = any(block.cluster for block in blocks.values())
        self._clusters = ClusterBarriers(machine, self._ordering) if clusters else None
        tries = min(_MOST_TRIES, _TRIES * max(1, self._group) // machine.shape.threads) if schedule.late else 0
        self._mbarriers = Mbarriers(
            machine,
            self._ordering,
            trusted=self._trusted,
            looks=looks(lowering.program),
            late=schedule.late,
            tries=tries,
        )
        self.instructions = 0

    def run(self) -> None:
        self._make_ready(0, None)
        while True:
            while self._ready:
                order, place = self._next()
                self._go(order, place, self._ready.pop((order, place)))
            if not self._waits():
                break
            if not self._open():
                self._report_stuck()
        self._report_unfinished()
        self._machine.races.finish()

    def _report_unfinished(self) -> None:
        """Report operations of the async proxy that may outlast their block, whose shared memory they use."""
        machine = self._machine
        for pc, lanes in (*machine.groups.left(), *self._mbarriers.left()):
            if (left := lanes[~self._stuck[lanes % machine.shape.blocks]]).size:
                line = self._lowering.program.instructions[pc].line
                describe = partial(_unfinished, machine, int(left[0]))
                machine.findings.add(Verdict.DATA_RACE, line, len(left), describe, late=True)

    def _waits(self) -> bool:
        """Whether threads wait at a barrier."""
        parts = (self._named and self._named.any()) or (self._clusters and self._clusters.waiting)
        return bool(self._at_barrier or self._warps.waiting or parts)

    # -- threads that can go on ---------------------------------------------------------------------------------------

    def _make_ready(self, place: int, mask: Mask | None) -> None:
        """Let threads continue at a place; in a serial schedule, each warp or thread of each block in its order."""
        if not self._group:
            self._join(0, place, mask)
            return
        whole = np.ones(self._gone.shape, np.bool_) if mask is None else mask.array
        # The number of the group comes first in the key, so the first groups run until they wait.
        size = self._machine.launch.cluster_blocks
        starts = range(0, self._machine.shape.threads, self._group)
        for number, (rank, start) in enumerate(product(range(size), starts)):
            part = np.zeros_like(whole)
            chosen = slice(start, start + self._group), slice(rank, None, size)
            part[chosen] = whole[chosen]
            if part.any():
                self._join(self._sign * number, place, self._machine.mask(part))

    def _next(self) -> tuple[int, int]:
        """Return the first place in order, except places at which threads wait for others."""
        rested = self._ready.keys() - self._polling
        # Every path waits in a loop, perhaps for threads at a barrier that can open now.
        if not rested and self._open():
            rested = self._ready.keys() - self._polling
        if not rested:
            self._check_progress(self._ready)
            self._polling.clear()
        return self._first(rested or self._ready)

    def _check_progress(self, paths: Mapping[tuple[int, int], Mask | None]) -> None:
        """End the run if all paths wait in loops, one for a barrier in shared memory, and nothing happens any more."""
        if self._mbarriers.end_copies() or self._acts != self._seen_acts:
            self._seen_acts = self._acts
            return
        waits = [
            (wait, mask)
            for key, mask in paths.items()
            if (wait := endless_wait(self._idle_loops.get(key[1], ()))) is not None
        ]
        if len(waits) > (len(paths) - 1 if self._late else 0):
            raise self._endless(waits)

    def _endless(self, waits: Sequence[tuple[Instruction, Mask | None]]) -> EndlessWaitError:
        """Describe the barrier that can't complete, among those for which threads of one cluster wait."""
        machine = self._machine
        first, size = int(machine.active(waits[0][1])[0]), machine.launch.cluster_blocks
        own = np.arange(machine.shape.blocks) // size == first % machine.shape.blocks // size
        uses = {id(block.end): block.mbarrier for block in self._blocks.values() if block.mbarrier is not None}
        found = culprit(
            [
                each
                for wait, mask in waits
                if (part := self._whole(mask) & own).any()
                for each in self._mbarriers.awaited(uses[id(wait)], part)
            ]
        )
        others = "".join(
            f" {machine.geometry.lane_name(int(lanes[0]))} waits in {waiting_place(item)}{at_line(item.line)}."
            for pc, grid in self._at_barrier.items()
            if (lanes := np.flatnonzero(grid & own)).size
            for item in self._lowering.program.instructions[pc : pc + 1]
        )
        return EndlessWaitError(found.line, described(machine, found, others))

    def _note_wait(self, block: CodeBlock, target: int) -> None:
        """Note that threads repeat a loop that waits for others."""
        if target not in self._idle_loops:
            program = self._lowering.program
            idle = only_waits(program, target, block.end_pc)
            self._idle_loops[target] = program.instructions[target : block.end_pc + 1] if idle else ()
            if idle:
                self._idle.update(range(target, block.end_pc + 1))

    def _join(self, order: int, place: int, mask: Mask | None) -> None:
        key = order, place
        if key in self._ready:
            other = self._ready[key]
            assert mask is not None
            assert other is not None
            mask = self._machine.mask(mask.array | other.array)
        self._ready[key] = mask

    def _go(self, order: int, place: int, mask: Mask | None) -> None:
        """Run one path until it ends, waits, or another must go first."""
        machine = self._machine
        while True:
            block = self._blocks.get(place)
            if block is None:
                raise Malformed("control runs past the end of the kernel")
            if place not in self._idle:
                self._acts += 1
            length = len(block.steps) + 1
            machine.steps += length
            self.instructions += length * (machine.shape.lanes if mask is None else mask.count)
            if machine.steps > self._budget - _LAST_STEPS:
                self._watch(block, mask)
            if block.warp_sync:
                complete = self._warps.come(block, mask, self._gone)
                if complete is not None:
                    if complete.any():
                        self._join(order, place, machine.mask(complete))
                    return
            self._execute(block, mask)
            if block.end is None:
                ways: list[tuple[int, Mask | None]] = [(block.follower, mask)]
            else:
                ways = list(self._ways(block, block.end, mask))
            if len(ways) == 1 and self._goes_on(block, order, *ways[0]):
                place, mask = ways[0]
                continue
            for target, part in ways:
                self._join(order, target, part)
                if block.waits_at(target) and not self._tries_on(block, target, part):
                    self._polling.add((order, target))
                    self._note_wait(block, target)
            return

    def _goes_on(self, block: CodeBlock, order: int, target: int, mask: Mask | None) -> bool:
        """Whether threads that all go to one place may continue before others."""
        # No other path exists, so the order doesn't matter. But a barrier may be complete for which this one waits.
        if not self._ready:
            if block.waits_at(target) and not self._tries_on(block, target, mask):
                if self._waits():
                    return False
                self._note_wait(block, target)
                self._check_progress({(order, target): mask})
            return True
        here = order, target
        return not block.waits_at(target) and here not in self._ready and self._first(here, *self._ready) == here

    def _tries_on(self, block: CodeBlock, target: int, mask: Mask | None) -> bool:
        """Whether threads repeat a wait before others go on, which may let it succeed."""
        tries_on = self._rounds > 0 and self._mbarriers.tries_on(target, block.end_pc, mask)
        self._rounds -= tries_on
        return tries_on

    def _watch(self, block: CodeBlock, mask: Mask | None) -> None:
        """Near the end of the budget, note where control loops, to name the loop by its first line."""
        self._last_places.update(range(block.first, block.end_pc + 1))
        if self._machine.steps > self._budget:
            if self._budget < self._most and self.instructions < _MOST_TOGETHER:
                self._budget = min(self._most, self._budget + 2 * _LAST_STEPS)
                self._last_places.clear()
                return
            last = [self._lowering.program.instructions[pc] for pc in sorted(self._last_places)]
            if (wait := endless_wait(last)) is not None and not self._late:
                raise self._endless([(wait, mask)])
            lines = [item.line for item in last if item.line is not None]
            raise BudgetSpentError(min(lines, default=None), int(self._machine.active(mask)[0]), self._budget)

    def _execute(self, block: CodeBlock, mask: Mask | None) -> None:
        machine = self._machine
        unset = machine.unset
        for stretch in block.stretches:
            if stretch.quick is None or unset.origins or not stretch.quick(machine, mask):
                self._step_by_step(stretch.steps, mask)

    def _step_by_step(self, steps: Sequence[LoweredStep], mask: Mask | None) -> None:
        machine = self._machine
        unset = machine.unset
        for step in steps:
            if not unset.origins:
                step.run(machine, mask)
                for number in step.spent:
                    machine.registers[number] = EMPTY
                continue
            # The instruction may change its own guard.
            guarded = self._guarded(step.pc, mask)
            step.run(machine, mask)
            if step.follows != "own" and (guarded is None or guarded.count):
                self._follow(step, guarded)

    def _guarded(self, pc: int, mask: Mask | None) -> Mask | None:
        """Return the threads that an instruction's guard lets through."""
        machine = self._machine
        guard = self._lowering.program.instructions[pc].guard
        if guard is None:
            return mask
        number = self._lowering.program.registers[guard.register.name]
        machine.unset.use(number, pc, mask, BRANCH)
        return machine.narrow(mask, machine.registers[number].dense(np.dtype(np.bool_)) != guard.negated)

    def _follow(self, step: LoweredStep, mask: Mask | None) -> None:
        machine = self._machine
        if step.follows == "choice":
            one, two, condition = step.sources
            if condition not in machine.unset.origins:
                holds = machine.registers[condition].dense(np.dtype(np.bool_))
                machine.unset.choose(step.results[0], holds, (one, two), mask)
                return
        if step.follows in {"and", "or"} and not machine.unset.origins.keys().isdisjoint(step.sources):
            values = [each.dense(INTEGER[each.bits]) for each in (machine.registers[one] for one in step.sources)]
            decides = [value == (~value.dtype.type(0) if step.follows == "or" else 0) for value in values]
            machine.unset.combine(step.results[0], step.sources, decides, mask)
            return
        machine.unset.propagate(step.sources, step.results, step.pc, mask, copies=step.follows == "copy")

    # -- paths --------------------------------------------------------------------------------------------------------

    def _ways(self, block: CodeBlock, end: Instruction, mask: Mask | None) -> Iterator[tuple[int, Mask | None]]:
        """Split the threads of a block by the decision of its last instruction."""
        machine = self._machine
        taken: Mask | None = mask
        if end.guard is not None:
            number = self._lowering.program.registers[end.guard.register.name]
            machine.unset.use(number, block.end_pc, mask, BRANCH)
            condition = machine.registers[number]
            if condition.lanes is None:
                if bool(condition.offset) == end.guard.negated:
                    yield block.follower, mask
                    return
            else:
                holds = condition.lanes.array
                taken = machine.narrow(mask, ~holds if end.guard.negated else holds)
                if taken is not None and not taken.count:
                    yield block.follower, mask
                    return
                if taken is not None and taken.count != (machine.shape.lanes if mask is None else mask.count):
                    yield block.follower, machine.narrow(mask, ~taken.array)
        yield from self._taken(block, end, taken)

    def _taken(self, block: CodeBlock, end: Instruction, mask: Mask | None) -> Iterator[tuple[int, Mask | None]]:
        head = end.head
        if head == "bra":
            target = end.operands[0]
            if not isinstance(target, Symbol) or target.name not in self._lowering.program.targets:
                raise Malformed("a branch to nowhere")
            yield self._lowering.program.targets[target.name], mask
        elif head == "brx":
            yield from self._indexed(block, end, mask)
        elif head in ENDS:
            self._gone |= self._whole(mask)
            if self._machine.launch.cluster_blocks > 1:
                self._ordering.arrive(EXIT, self._whole(mask))
        elif block.mbarrier is not None:
            self._mbarriers.perform(block.mbarrier, mask)
            yield block.follower, mask
        elif block.cluster is not None:
            assert self._clusters is not None
            if block.cluster.waits:
                self._clusters.wait(block.cluster, self._whole(mask))
            else:
                self._clusters.arrive(block.cluster, self._whole(mask))
                yield block.follower, mask
        elif block.named is None:
            if self._named is not None:
                self._named.check_whole(self._arrival(block, end, NamedUse(-1, -1, True), mask))
            self._wait(self._at_barrier, block.end_pc, mask)
        else:
            yield from self._arrive(block, end, block.named, mask)

    def _arrive(
        self, block: CodeBlock, end: Instruction, use: NamedUse, mask: Mask | None
    ) -> Iterator[tuple[int, Mask | None]]:
        """Let threads arrive at a barrier for a part of the block. Threads that only arrive continue."""
        assert self._named is not None
        for register in (use.number, use.count):
            if register >= 0:
                self._machine.unset.use(register, block.end_pc, mask, BRANCH)
        whole = self._whole_barriers()
        self._named.arrive(self._arrival(block, end, use, mask), whole)
        for pc, part in self._named.opened(self._gone):
            self._make_ready(pc + 1, self._machine.mask(part))
        if not use.waits:
            yield block.follower, mask

    def _arrival(self, block: CodeBlock, end: Instruction, use: NamedUse, mask: Mask | None) -> Arrival:
        part = self._whole(mask)
        numbers, counts = (
            np.broadcast_to(
                np.zeros((1, 1), np.int64)
                if register < 0
                else self._machine.registers[register].dense(np.dtype(np.int32)).astype(np.int64),
                part.shape,
            )
            for register in (use.number, use.count)
        )
        return Arrival(end, block.end_pc, part, numbers, counts, use.count >= 0, use.waits, self._trusted)

    def _whole_barriers(self) -> Grid:
        waiting = np.zeros(self._gone.shape, np.bool_)
        for part in self._at_barrier.values():
            waiting |= part
        return waiting

    def _indexed(self, block: CodeBlock, end: Instruction, mask: Mask | None) -> Iterator[tuple[int, Mask | None]]:
        program = self._lowering.program
        table = end.operands[1]
        if not isinstance(table, Symbol) or table.name not in program.tables:
            raise Malformed("a branch without its table")
        number = block.operand
        self._machine.unset.use(number, block.end_pc, mask, BRANCH)
        index = self._machine.registers[number].dense(np.dtype(np.int32))
        for entry, label in enumerate(program.tables[table.name]):
            part = self._machine.narrow(mask, index == entry)
            if part is None or part.count:
                yield program.targets[label], part

    def _whole(self, mask: Mask | None) -> Grid:
        return np.ones(self._gone.shape, np.bool_) if mask is None else mask.array

    def _wait(self, waiting: dict[int, Grid], pc: int, mask: Mask | None) -> None:
        whole = self._whole(mask)
        waiting[pc] = waiting[pc] | whole if pc in waiting else whole.copy()

    # -- barriers -----------------------------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Open barriers that all threads of a block, or of a warp, have reached. Return whether there were any."""
        if self._release_warps():
            return True
        if self._named is not None and (parts := list(self._named.opened(self._gone))):
            for pc, part in parts:
                self._make_ready(pc + 1, self._machine.mask(part))
            return True
        if self._clusters is not None and (parts := list(self._clusters.opened(self._gone))):
            for pc, part in parts:
                self._make_ready(pc + 1, self._machine.mask(part))
            return True
        ways, opened = self._complete()
        if not ways:
            return False
        # Tell the observers that these blocks have passed a barrier.
        everyone = bool(opened.all()) or bool((opened | self._gone.all(axis=0)).all())
        self._ordering.barrier(None if everyone else opened)
        self._machine.epochs[0, opened] += 1
        for pc, mask in ways:
            reduce_at_barrier(self._machine, self._barriers[pc], mask)
            self._make_ready(pc + 1, mask)
        return True

    def _complete(self) -> tuple[list[tuple[int, Mask | None]], NDArray[np.bool_]]:
        """Take the threads that wait for nobody any more from their barriers. Return them, and their blocks."""
        for pc, waiting in self._at_barrier.items():
            if waiting.all():  # the usual case, for which the steps below take much longer
                del self._at_barrier[pc]
                return [(pc, None)], np.ones(self._machine.shape.blocks, np.bool_)
        alive = ~self._gone
        opened = np.zeros(self._machine.shape.blocks, np.bool_)
        ways: list[tuple[int, Mask | None]] = []
        for pc, waiting in list(self._at_barrier.items()):
            complete = (waiting == alive).all(axis=0) & waiting.any(axis=0)
            if complete.any():
                opened |= complete
                ways.append((pc, self._machine.mask(waiting & complete)))
                self._keep_waiting(pc, waiting & ~complete)
        return ways, opened

    def _keep_waiting(self, pc: int, left: Grid) -> None:
        if left.any():
            self._at_barrier[pc] = left
        else:
            del self._at_barrier[pc]

    def _release_warps(self) -> bool:
        """Let warps continue whose threads wait at different `__syncwarp` but together make up the warp."""
        released = self._warps.released(self._gone)
        for place, complete in released.items():
            part = self._machine.mask(complete)
            block = self._blocks[place]
            self._execute(block, part)
            self._make_ready(block.follower, part)
        return bool(released)

    def _report_stuck(self) -> None:
        """Report threads of a block that wait at different places for each other, so none can continue."""
        named = self._named.places() if self._named is not None else {}
        clusters = self._clusters.waiting if self._clusters is not None else {}
        places = {**self._at_barrier, **self._warps.waiting, **named, **clusters}
        waiting = np.logical_or.reduce(list(places.values()))
        # The blocks of a cluster may wait for each other, so they are stuck together.
        size = self._machine.launch.cluster_blocks
        stuck = np.repeat(waiting.any(axis=0).reshape(-1, size).any(axis=1), size)
        for number in np.flatnonzero(stuck[::size]):
            own = np.arange(len(stuck)) // size == number
            here = [(pc, np.flatnonzero(grid & own)) for pc, grid in sorted(places.items())]
            report_stuck(self._machine, self._lowering.program, [(pc, lanes) for pc, lanes in here if len(lanes)])
        # A block with stuck threads is over. Other blocks continue and may show other mistakes.
        columns = np.flatnonzero(stuck)
        self._gone[:, columns] = True
        self._stuck[columns] = True
        for barriers in (self._named, self._clusters):
            if barriers is not None:
                barriers.forget(columns)
        for waiters in (self._at_barrier, self._warps.waiting):
            for pc in list(waiters):
                waiters[pc][:, columns] = False
                if not waiters[pc].any():
                    del waiters[pc]


def _unfinished(machine: Machine, lane: int) -> Described:
    block, thread = machine.geometry.who(lane)
    name = machine.geometry.lane_name(lane)
    message = f"{name} starts an asynchronous operation, and nothing waits for it before the block ends."
    return Example(block, (thread,)), message, Facts(Mistake.UNFINISHED)
