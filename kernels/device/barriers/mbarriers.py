"""Barriers in shared memory: `cuda::barrier` in CUDA C++, `mbarrier` in PTX.

The object holds the same facts as in hardware, in another form. These are the arrivals that a phase needs, the arrivals
still missing, and the phase's number.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.endless_waits import Awaited
from kernels.device.barriers.mbarrier_phases import LIFE_BITS, LIVES, MOST_ARRIVALS, Phase, States
from kernels.device.barriers.mbarrier_uses import BARRIER_BYTES, MbarrierUse, Verb
from kernels.device.barriers.ordering import Counts, Grid, Ordering
from kernels.device.barriers.phase_bytes import PhaseBytes
from kernels.device.memory.async_stores import AsyncStore
from kernels.device.memory.bulk import BulkCopy
from kernels.device.memory.copies import hand_over
from kernels.device.memory.locate import in_block_of, split
from kernels.device.memory.parts import access_to, note, note_part, read_part, values_of, write_part
from kernels.device.memory.tensor_copies import TensorCopy
from kernels.device.ptx.module import Reached
from kernels.device.state.accesses import Part
from kernels.device.state.element_names import barrier_name
from kernels.device.state.findings import Described
from kernels.device.state.groups import Started
from kernels.device.state.machine import Machine, TrapError, stop
from kernels.device.state.mask import Mask
from kernels.device.state.unset_values import ADDRESS, BRANCH, SIZE
from kernels.device.state.values import from_array
from kernels.facts import Facts, Incomplete, Mistake
from kernels.verdict import Example, Severity, Verdict
from kernels.wording import plural

_RANKS, _NO_WORD = 0xFFFF, -1
_VALID = "the present one of its barrier or the one before"


class _Uses:
    """What has been done with a barrier in all blocks: the lines of arrivals and copies, and the lanes that arrived."""

    def __init__(self, lanes: int) -> None:
        self.arrivals: set[int | None] = set()
        self.copies: set[int | None] = set()
        self.arrived = np.zeros(lanes, np.bool_)


class _Expectation:
    """A thread's `expect_tx` without an arrival. Its phase must then still need an arrival or bytes ordered after it.

    lanes: the thread in each of some blocks
    key: under which threads know that it is over
    open: the blocks of barriers at which nothing of the kind has come so far. For each, the bytes that threads have
        expected from then on, less those that they copied; None if the phase had all its bytes before.
    """

    def __init__(
        self, number: int, use: MbarrierUse, lanes: NDArray[np.intp], columns: list[int], owed: list[int | None]
    ) -> None:
        self.use, self.lanes, self.columns = use, lanes, columns
        self.key = "expected", number
        self.open = dict(zip(columns, owed, strict=True))

    def owe(self, columns: list[int], more: list[int]) -> None:
        """Note that threads after it expect more bytes, or bring some (negative)."""
        for column, size in zip(columns, more, strict=True):
            if (owed := self.open.get(column)) is not None:
                self.open[column] = owed + size
                if owed + size < 0:
                    del self.open[column]

    def end(self, columns: list[int]) -> None:
        for column in columns:
            self.open.pop(column, None)


def _known(lines: set[int | None]) -> tuple[int, ...]:
    return tuple(sorted(line for line in lines if line is not None))


class Mbarriers:
    """The barriers in the shared memory of a chunk of blocks.

    trusted: whether only barriers order the program's threads
    looks: the waits after whose failure a thread may do more than repeat them
    late: whether copies end only when all threads wait
    tries: how often the waits `looks` fail before other threads should go on
    """

    def __init__(
        self, machine: Machine, ordering: Ordering, *, trusted: bool, looks: frozenset[int], late: bool, tries: int
    ) -> None:
        self._machine = machine
        self._ordering = ordering
        self._trusted = trusted
        self._late = late
        self._most_tries = tries
        self._tries = {pc: np.zeros(machine.shape.lanes, np.int64) for pc in looks}
        self._under_way: deque[tuple[Part, Callable[[], None]]] = deque()
        self._bytes = PhaseBytes(machine.shape)
        self._uses: dict[tuple[str, int], _Uses] = {}
        self._words: dict[tuple[str, int], Counts] = {}
        self._lives: dict[tuple[str, int], Counts] = {}
        self._started: dict[Hashable, Started] = {}
        self._expectations: dict[Phase, list[_Expectation]] = {}
        self._numbers = itertools.count()
        self._initialised: dict[tuple[str, int], int | None] = {}

    def perform(self, use: MbarrierUse, mask: Mask | None) -> None:
        machine = self._machine
        for register, harm in ((use.place.register, ADDRESS), (use.source, SIZE if use.copy else BRANCH)):
            machine.unset.use(register, use.site.pc, mask, harm)
        grid = (machine.shape.threads, machine.shape.blocks)
        value = machine.registers[use.source]
        given = value.dense(np.dtype(f"i{value.bits // 8}")).astype(np.int64)
        sources = np.broadcast_to(given, grid).reshape(-1)
        result = np.zeros(machine.shape.lanes, np.int64)
        act = self._action(use.verb)
        for part in split(machine, use.site, machine.registers[use.place.register], use.place.displacement, mask):
            if part.allocation.space != "shared":
                self._stop(use, part.lanes, "it uses a barrier object outside shared memory")
            self._check_owners(use, part)
            if isinstance(use.copy, BulkCopy | TensorCopy) and use.copy.ranks is not None:
                self._copy_to_several(use, use.copy, use.copy.ranks, part)
                continue
            # Before the operation: what it orders comes after the barrier's beginning only if something else says so.
            if not use.unseen and (use.copy is None or part.owners is None):
                note_part(machine, part, use.site)
            act(use, part, sources[part.lanes], result)
        if isinstance(use.copy, BulkCopy | TensorCopy):
            machine.begun(use.copy, mask)
        if use.target is not None:
            done = result.reshape(grid)
            made = done.astype(np.bool_) if use.verb is Verb.WAIT else done
            machine.write(use.target, from_array(made), mask, keep=True)
            machine.unset.clear(use.target, mask)

    def _action(self, verb: Verb) -> Callable[[MbarrierUse, Part, Counts, Counts], None]:
        return {
            Verb.INIT: self._init,
            Verb.INVAL: self._inval,
            Verb.ARRIVE: self._arrive,
            Verb.ARRIVE_DROP: self._arrive,
            Verb.EXPECT: self._count_bytes,
            Verb.COMPLETE: self._count_bytes,
            Verb.WAIT: self._wait,
            Verb.COPY: self._copy,
            Verb.COPIES: self._wait_for_copies,
            Verb.COPIES_ARRIVE: self._wait_for_copies,
        }[verb]

    def left(self) -> Iterator[tuple[int, Counts]]:
        """Yield the instructions and threads of bulk copies for whose barrier no thread waited."""
        for started in self._started.values():
            yield from started.left()

    def awaited(self, use: MbarrierUse, waiting: Grid) -> Iterator[Awaited]:
        """Yield the barriers for which threads of one cluster wait."""
        machine = self._machine
        for part in split(
            machine, use.site, machine.registers[use.place.register], use.place.displacement, machine.mask(waiting)
        ):
            states = self._read(part)[0]
            for offset in np.unique(part.offsets).tolist():
                first = int(np.flatnonzero(part.offsets == offset)[0])
                name, lane = part.allocation.name, int(part.lanes[first])
                used = self._uses.get((name, offset)) or _Uses(machine.shape.lanes)
                expected, came = self._bytes.of(name, offset, lane % machine.shape.blocks)
                needed = int(states.expected[first])
                yield Awaited(
                    barrier_name(part.allocation, offset),
                    use.instruction.line,
                    use.parity,
                    Incomplete(
                        (int(states.phase[first]) & (1 << LIFE_BITS) - 1) + 1,
                        needed,
                        needed - int(states.missing[first]),
                        expected,
                        came,
                        _known(used.arrivals),
                        _known(used.copies),
                    ),
                    part.lanes[part.offsets == offset],
                    np.flatnonzero(used.arrived),
                )

    # -- operations ---------------------------------------------------------------------------------------------------

    def _init(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        bad = (sources < 1) | (sources > MOST_ARRIVALS)
        if bad.any():
            count = int(sources[bad][0])
            self._stop(
                use,
                part.lanes[bad],
                f"it makes a barrier in shared memory for {count:,} threads, but 1 to {MOST_ARRIVALS:,} are allowed",
            )
        while self.end_copies():
            pass
        self._check_invalidated(use, part)
        first = self._next_lives(part) << LIFE_BITS
        self._set(part, States(sources, sources, first))
        self._bytes.clear(part)
        for phase, lanes, _ in self._by_phase(part, first):
            columns = lanes % self._machine.shape.blocks
            self._ordering.seen(phase.barrier)[:, columns] = phase.number
            barrier = phase.name, phase.offset
            fresh = self._machine.fresh.setdefault(barrier, np.zeros(self._machine.shape.blocks, np.bool_))
            fresh[columns] = True
            self._initialised[barrier] = use.instruction.line

    def _next_lives(self, part: Part) -> Counts:
        """Return, for each thread's barrier, how often it was initialised before."""
        blocks = self._machine.shape.blocks
        columns, before = part.lanes % blocks, np.zeros(len(part.lanes), np.int64)
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            lives = self._lives.setdefault((part.allocation.name, offset), np.zeros(blocks, np.int64))
            before[here] = lives[columns[here]]
            lives[columns[here]] = (before[here] + 1) % LIVES
        return before

    def _inval(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        nothing = np.zeros((len(part.lanes), BARRIER_BYTES), np.uint8)
        write_part(self._machine, part, nothing, np.zeros(len(part.lanes), np.bool_))

    # -- asynchronous copies ------------------------------------------------------------------------------------------

    def _count_bytes(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        expects = use.verb is Verb.EXPECT
        more, missing = np.zeros(self._machine.shape.lanes, np.int64), np.zeros(self._machine.shape.lanes, np.bool_)
        more[part.lanes] = sources if expects else -sources
        missing[part.lanes] = self._bytes.missing(part)
        for phase, lanes, shift in self._by_phase(part, self._states(use, part).phase):
            self._owe(phase, lanes, shift, more)
            if expects and self._trusted:
                self._begin_expectations(use, phase, lanes, shift, np.where(missing, more, -1))
        (self._bytes.expect if expects else self._bytes.bring)(part, sources)
        self._close(part)

    def _begin_expectations(
        self, use: MbarrierUse, phase: Phase, lanes: NDArray[np.intp], shift: int, owed: Counts
    ) -> None:
        """Follow what threads expect. owed: how much, or -1 if the phase has had all its bytes before."""
        threads, columns = np.divmod(lanes, self._machine.shape.blocks)
        for thread in np.unique(threads):
            own = lanes[threads == thread]
            bytes_ = [None if each < 0 else each for each in owed[own].tolist()]
            where = (columns[threads == thread] + shift).tolist()
            made = _Expectation(next(self._numbers), use, own, where, bytes_)
            self._ordering.seen(made.key).reshape(-1)[own] = 1
            self._expectations.setdefault(phase, []).append(made)

    def _owe(self, phase: Phase, lanes: NDArray[np.intp], shift: int, more: Counts) -> None:
        for each, knowing in self._expected(phase, lanes):
            each.owe((knowing % self._machine.shape.blocks + shift).tolist(), more[knowing].tolist())
        self._forget_expectations(phase)

    def _expected(self, phase: Phase, lanes: NDArray[np.intp]) -> Iterator[tuple[_Expectation, NDArray[np.intp]]]:
        """Yield what is expected in a phase, with the threads that come after it."""
        for each in self._expectations.get(phase, ()):
            yield each, lanes[self._ordering.seen(each.key).reshape(-1)[lanes] > 0]

    def _forget_expectations(self, phase: Phase) -> None:
        """Follow only those that nothing has ended so far."""
        made = self._expectations.pop(phase, [])
        for each in made:
            if not each.open:
                self._ordering.forget(each.key)
        if left := [each for each in made if each.open]:
            self._expectations[phase] = left

    def _check_expectations(self, part: Part, phases: Counts) -> None:
        """Check that nothing expected is still open in phases that are over."""
        if not self._expectations:
            return
        for phase, lanes, shift in self._by_phase(part, phases):
            columns = set((lanes % self._machine.shape.blocks + shift).tolist())
            for each in self._expectations.get(phase, ()):
                if columns.intersection(each.open):
                    why = "{thread} expects bytes for a phase that may be over by then."
                    bad = each.lanes[np.isin(each.columns, list(columns))]
                    self._misused(each.use, bad, why, Mistake.LATE_EXPECTATION)

    def _copy(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        """Start a copy, which writes at once. Threads still may not use its bytes before the phase is over."""
        assert use.copy is not None
        states, moved = self._states(use, part), np.zeros(self._machine.shape.lanes, np.int64)
        for phase, lanes, shift in self._by_phase(part, states.phase):
            columns = lanes % self._machine.shape.blocks + shift
            self._used(phase).copies.add(use.instruction.line)
            if not isinstance(use.copy, AsyncStore):
                self._check_fence(phase, lanes, columns)
            mask = self._machine.mask(self._grid(lanes))
            moved[lanes] = use.copy.perform(self._machine, mask, lambda _, some, phase=phase: phase.ends(some))[lanes]  # type: ignore[misc]
            self._owe(phase, lanes, shift, -moved)
            self._machine.races.ends_with(phase.ends(lanes), lanes, phase, shift)
            self._ordering.bring(phase, self._grid(lanes), shift)
            if part.owners is not None:
                # It is the end of the copy that uses the other block's barrier.
                own = part.some(np.isin(part.lanes, lanes))
                note(self._machine, access_to(own, use.site, replace(phase.ends(own.lanes), proxy=False)))
            some = moved[lanes] > 0  # without bytes, there is nothing to wait for
            started = self._started.setdefault(phase.barrier, Started(self._machine.shape.blocks))
            started.begin(columns[some], phase.number + 1, use.site.pc, lanes[some])
        self._under_way.append((part, partial(self._bytes.bring, part, moved[part.lanes])))
        if not self._late:
            self.end_copies()

    def end_copies(self) -> bool:
        """Let copies end in their order until a phase is over. Return whether any was under way."""
        found = bool(self._under_way)
        while self._under_way:
            part, end = self._under_way.popleft()
            end()
            if self._close(part):
                break
        return found

    def _copy_to_several(self, use: MbarrierUse, copy: BulkCopy | TensorCopy, ranks: int, part: Part) -> None:
        """Start a copy once for each block of the cluster that it names: to its memory, reporting to its barrier."""
        machine = self._machine
        bits = values_of(machine, ranks, part.lanes) & _RANKS
        beyond = np.flatnonzero(bits >> machine.launch.cluster_blocks)
        if beyond.size:
            size = plural(machine.launch.cluster_blocks, "block")
            self._stop(use, part.lanes[beyond], f"it copies to a block of its cluster that doesn't exist, of {size}")
        for rank in range(machine.launch.cluster_blocks):
            there = in_block_of(machine, part.some(np.flatnonzero(bits >> rank & 1)), rank)
            if there.lanes.size:
                nothing = np.zeros(len(there.lanes), np.int64)
                self._copy(replace(use, copy=replace(copy, rank=rank)), there, nothing, nothing)

    def _wait_for_copies(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:
        """Let the phase end after the earlier copies of its threads. With `.noinc`, that counts as their arrival."""
        states = self._states(use, part)
        for phase, lanes, _ in self._by_phase(part, states.phase):
            hand_over(self._machine, lanes, phase.ends, phase)
            self._used(phase).copies.add(use.instruction.line)
        if self._late:
            copies = np.ones(len(part.lanes), np.int64)
            self._bytes.hold(part, copies)
            self._under_way.append((part, partial(self._bytes.hold, part, -copies)))
        if use.verb is Verb.COPIES_ARRIVE:
            self._arrive(use, part, sources, result)

    def _close(self, part: Part) -> bool:
        """Begin the next phase of barriers at which nothing is missing any more. Return whether there are any."""
        states = self._read(part)[0]
        over = (states.missing == 0) & ~self._bytes.needed(part)
        if over.any():
            self._check_expectations(part.some(over), states.phase[over])
            self._bytes.clear(part.some(over))
            after = States(states.expected[over], states.expected[over], states.phase[over] + 1)
            self._set(part.some(over), after)
        return bool(over.any())

    # -- arrivals and waits -------------------------------------------------------------------------------------------

    def _arrive(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:
        """Let threads arrive in the order of their numbers. Each gets the state that it sees as its token."""
        if use.expects:
            self._states(use, part)
            self._bytes.expect(part, sources)
            sources = np.ones_like(sources)
        order = np.argsort(self._barriers(part), kind="stable")
        part, sources = part.some(order), sources[order]
        states = self._states(use, part)
        barriers = self._barriers(part)
        first = np.flatnonzero(np.r_[True, barriers[1:] != barriers[:-1]])
        lengths = np.diff(np.r_[first, len(barriers)])
        until = np.cumsum(sources)
        before = until - sources
        before = before - np.repeat(before[first], lengths)
        total = np.add.reduceat(sources, first)
        self._check_arrivals(use, part, states, np.repeat(total, lengths), sources)
        result[part.lanes] = States(states.expected, states.missing - before, states.phase).words
        for phase, lanes, shift in self._by_phase(part, states.phase):
            self._ordering.arrive(phase, self._grid(lanes), shift, releases=use.orders)
            for each, knowing in self._expected(phase, lanes):
                each.end((knowing % self._machine.shape.blocks + shift).tolist())
            self._forget_expectations(phase)
            used = self._used(phase)
            used.arrivals.add(use.instruction.line)
            used.arrived[lanes] = True
            threads = np.zeros(self._machine.shape.threads, np.bool_)
            threads[lanes // self._machine.shape.blocks] = True
            known = self._machine.arrivals.get(use.instruction.line)
            self._machine.arrivals[use.instruction.line] = threads if known is None else known | threads
        expected, missing = states.expected[first], states.missing[first] - total
        if use.verb is Verb.ARRIVE_DROP:
            expected = expected - total
        at = part.some(first)
        done = (missing == 0) & ~self._bytes.needed(at)
        self._check_expectations(at.some(done), states.phase[first][done])
        self._bytes.clear(at.some(done))
        after = States(expected, np.where(done, expected, missing), states.phase[first] + done)
        self._set(at, after)

    def _wait(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:
        """Test whether the phase of a token or a parity is over. If so, the thread comes after the arrivals."""
        states = self._states(use, part)
        if use.parity:
            done, over = (states.phase ^ sources) & 1 == 1, states.phase - 1
        else:
            over = States.of(sources).phase
            done = states.phase > over
            if (stale := (states.phase - over) & -2 != 0).any():
                self._stop(use, part.lanes[stale], f"it waits with a token of another phase than {_VALID}")
        result[part.lanes] = done
        if (tries := self._tries.get(use.site.pc)) is not None:
            tries[part.lanes] = np.where(done, 0, tries[part.lanes] + 1)
            if not done.all():
                self._machine.failed.setdefault(use.site.pc, int(part.lanes[~done][0]))
        for phase, lanes, _ in self._by_phase(part.some(done), over[done]):
            self._ordering.wait(phase, self._grid(lanes), acquires=use.orders)
            seen = self._ordering.seen(phase.barrier).reshape(-1)
            seen[lanes] = np.maximum(seen[lanes], phase.number + 1)
            if phase.barrier in self._started:
                self._started[phase.barrier].end(lanes % self._machine.shape.blocks, phase.number + 1)

    def tries_on(self, first: int, last: int, mask: Mask | None) -> bool:
        """Whether a wait at these instructions has just failed for some of these threads, and may soon fail again."""
        lanes = self._machine.active(mask)
        tries = (tries[lanes] for pc, tries in self._tries.items() if first <= pc <= last)
        return any(bool(((each > 0) & (each < self._most_tries)).any()) for each in tries)

    def _check_fence(self, phase: Phase, lanes: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Note a barrier that no fence shows to the async proxy, which completes its phases.

        PTX says so only for memory in general. CUDA's guide has dropped this fence, so the kernel may be correct.
        """
        barrier = phase.name, phase.offset
        fresh = self._machine.fresh.get(barrier)
        if fresh is None or not (bad := lanes[fresh[columns]]).size:
            return

        def describe() -> Described:
            block, thread = self._machine.geometry.who(int(bad[0]))
            message = (
                "A bulk copy reports to this barrier, and no fence follows its initialisation. "
                "Add `fence.mbarrier_init` or `fence.proxy.async`, as CUTLASS does."
            )
            return Example(block, (thread,)), message, Facts(Mistake.MBARRIER)

        line = self._initialised.get(barrier)
        self._machine.findings.add(Verdict.DATA_RACE, line, len(bad), describe, severity=Severity.WARNING)

    # -- misuse -------------------------------------------------------------------------------------------------------

    def _check_owners(self, use: MbarrierUse, part: Part) -> None:
        """Check that threads only wait at barriers of their own block, and only make these."""
        if part.owners is None or use.verb not in {Verb.INIT, Verb.INVAL, Verb.WAIT}:
            return
        if (other := part.owners != part.lanes % self._machine.shape.blocks).any():
            self._stop(use, part.lanes[other], "it uses another block's barrier for more than an arrival")

    def _check_invalidated(self, use: MbarrierUse, part: Part) -> None:
        """Note a barrier that is initialised again while it still is one. PTX leaves that open, but GPUs do it."""
        states, valid = self._read(part)
        still = np.zeros(len(part.lanes), np.bool_)
        for words, here, columns in self._kept(part):
            still[here] = (words[columns] == states.words[here]) & (words[columns] != _NO_WORD)
        if valid is not None:
            still &= valid
        if not still.any():
            return
        again = part.some(still)

        def describe() -> Described:
            lane, name = int(again.lanes[0]), barrier_name(again.allocation, int(again.offsets[0]))
            block, thread = self._machine.geometry.who(lane)
            message = (
                f"{self._machine.geometry.lane_name(lane)} initialises `{name}` again, although it is still a barrier. "
                "PTX doesn't define what happens then. End it with `mbarrier.inval` first."
            )
            return Example.at(name, block, (thread,)), message, Facts(Mistake.STILL_BARRIER)

        self._machine.findings.add(
            Verdict.BARRIER_DIVERGENCE, use.instruction.line, len(again.lanes), describe, severity=Severity.WARNING
        )

    def _check_arrivals(self, use: MbarrierUse, part: Part, states: States, total: Counts, sources: Counts) -> None:
        if (bad := sources < 1).any():
            self._stop(use, part.lanes[bad], "it arrives at a barrier in shared memory with a count below 1")
        if (many := total > states.missing).any():
            came, missing, expected = (int(each[many][0]) for each in (total, states.missing, states.expected))
            known = f"It was initialised for {expected:,}" if missing == expected else f"It waits for {missing:,} more"
            known = known if missing else "Its phase has all arrivals, and waits only for bytes"
            arrive = "arrives" if came == 1 else "arrive"
            self._misused(use, part.lanes[many], f"{plural(came, 'thread')} {arrive} at this barrier. {known}.")
        for phase, lanes, _ in self._by_phase(part, states.phase):
            unaware = lanes[self._ordering.seen(phase.barrier).reshape(-1)[lanes] < phase.number]
            if unaware.size:
                why = "{thread} arrives at a barrier in shared memory without waiting for its last phase."
                self._misused(use, unaware, why, Mistake.EARLY_ARRIVAL)
        if not use.opens and (last := total == states.missing).any():
            self._stop(use, part.lanes[last], "its arrival completes a phase, which `.noComplete` rules out")

    def _misused(
        self, use: MbarrierUse, lanes: NDArray[np.intp], why: str, mistake: Mistake = Mistake.MBARRIER
    ) -> NoReturn:
        """Report that chance decides for which phase an arrival counts. `why` names the first thread as `{thread}`."""
        item = use.instruction
        if not self._trusted:
            reason = "Barriers in shared memory aren't emulated if atomics or volatile loads order their uses."
            raise Reached(item.opcode, item.line, reason)

        def describe() -> Described:
            block, thread = self._machine.geometry.who(int(lanes[0]))
            name = self._machine.geometry.lane_name(int(lanes[0]))
            return Example(block, (thread,)), why.format(thread=name), Facts(mistake)

        self._machine.findings.add(Verdict.BARRIER_DIVERGENCE, item.line, len(lanes), describe)
        raise TrapError

    def _stop(self, use: MbarrierUse, lanes: NDArray[np.intp], why: str, mistake: Mistake = Mistake.OTHER) -> NoReturn:
        stop(self._machine, use.instruction.line, int(lanes[0]), len(lanes), why, mistake)

    # -- states -------------------------------------------------------------------------------------------------------

    def _states(self, use: MbarrierUse, part: Part) -> States:
        """Return the barriers of the threads. Stop the kernel if one isn't a barrier."""
        states, valid = self._read(part)
        if valid is not None and not valid.all():
            unset = part.some(~valid)
            self._machine.unset.report(use.site.pc, len(unset.lanes), partial(self._not_initialised, unset))
            raise TrapError
        broken = np.zeros(len(part.lanes), np.bool_)
        for words, here, columns in self._kept(part):
            broken[here] = states.words[here] != words[columns]
        if broken.any():
            other = part.some(broken)
            name = barrier_name(other.allocation, int(other.offsets[0]))
            why = f"it uses `{name}` as a barrier, but a thread has written something else there"
            self._stop(use, other.lanes, why, Mistake.NO_BARRIER)
        return states

    def _not_initialised(self, part: Part) -> Described:
        lane, name = int(part.lanes[0]), barrier_name(part.allocation, int(part.offsets[0]))
        block, thread = self._machine.geometry.who(lane)
        message = (
            f"{self._machine.geometry.lane_name(lane)} uses `{name}` as a barrier, which no thread has initialised."
        )
        return Example.at(name, block, (thread,)), message, Facts(Mistake.NO_BARRIER)

    def _read(self, part: Part) -> tuple[States, NDArray[np.bool_] | None]:
        data, valid = read_part(self._machine, part, BARRIER_BYTES)
        return States.of(np.ascontiguousarray(data).view(np.int64)[:, 0]), valid

    def _set(self, part: Part, states: States) -> None:
        write_part(self._machine, part, np.ascontiguousarray(states.words).reshape(-1, 1).view(np.uint8))
        for words, here, columns in self._kept(part):
            words[columns] = states.words[here]

    def _kept(self, part: Part) -> Iterator[tuple[Counts, NDArray[np.bool_], NDArray[np.intp]]]:
        """Yield what barriers must hold in each block, with the threads that use them and the blocks of these."""
        columns = part.copies(self._machine.shape)[1]
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            place = part.allocation.name, offset
            if place not in self._words:
                self._words[place] = np.full(self._machine.shape.blocks, _NO_WORD, np.int64)
            yield self._words[place], here, columns[here]

    def _barriers(self, part: Part) -> Counts:
        """Return a number for each thread's barrier, different for each block."""
        numbers: Counts = part.offsets * self._machine.shape.blocks + part.copies(self._machine.shape)[1]
        return numbers

    def _by_phase(self, part: Part, phases: Counts) -> Iterator[tuple[Phase, NDArray[np.intp], int]]:
        """Yield phases with their threads, and how many columns the barrier's block comes after these threads'."""
        size = self._machine.launch.cluster_blocks
        columns = part.copies(self._machine.shape)[1]
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            for number in np.unique(phases[here]).tolist():
                now = here & (phases == number)
                if size == 1:
                    yield Phase(part.allocation.name, offset, 0, number), part.lanes[now], 0
                    continue
                for rank in np.unique(columns[now] % size).tolist():
                    own = part.some(now & (columns % size == rank))
                    shifts = own.copies(self._machine.shape)[1] - own.lanes % self._machine.shape.blocks
                    for shift in np.unique(shifts).tolist():
                        yield Phase(part.allocation.name, offset, rank, number), own.lanes[shifts == shift], shift

    def _used(self, phase: Phase) -> _Uses:
        return self._uses.setdefault((phase.name, phase.offset), _Uses(self._machine.shape.lanes))

    def _grid(self, lanes: NDArray[np.intp]) -> Grid:
        grid = np.zeros((self._machine.shape.threads, self._machine.shape.blocks), np.bool_)
        grid.reshape(-1)[lanes] = True
        return grid
