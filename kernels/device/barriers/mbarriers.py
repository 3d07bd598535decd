"""Barriers in shared memory: `cuda::barrier` in CUDA C++, `mbarrier` in PTX.

The object holds the same facts as in hardware, in another form. These are the arrivals that a phase needs, the arrivals
still missing, and the phase's number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Counts, Grid, Ordering
from kernels.device.memory.async_stores import AsyncForm, AsyncStore, async_form
from kernels.device.memory.bulk import BulkCopy, BulkForm, Copy, bulk_copy, bulk_form
from kernels.device.memory.copies import hand_over
from kernels.device.memory.locate import Site, in_block_of, split
from kernels.device.memory.parts import access_to, note, note_part, read_part, values_of, write_part
from kernels.device.memory.tensor_copies import TensorCopy, TensorForm, tensor_copy, tensor_form
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Operand, Reached, Unsupported, Vector
from kernels.device.state.accesses import BEGIN, Kind, Part, Strength, Transfer
from kernels.device.state.findings import Described
from kernels.device.state.groups import Started
from kernels.device.state.machine import Machine, TrapError, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Operands, Place
from kernels.device.state.space import CLUSTER, kind_of
from kernels.device.state.unset_values import ADDRESS, BRANCH, SIZE
from kernels.device.state.values import from_array
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Severity, Verdict
from kernels.wording import plural

_SIZE = 8
_RANKS = 0xFFFF
_VALID = "the present one of its `cuda::barrier` or the one before"
# PTX allows 2**20 - 1 arrivals. It keeps the layout of the 64 bits secret, so any layout will do.
_BITS = 20
_MOST = (1 << _BITS) - 1
_LIFE = 16
"""The phases of a barrier's life have numbers of so many bits. The bits above count how often it was initialised."""
_LIVES = 1 << 63 - 2 * _BITS - _LIFE
_OPCODE = re.compile(
    r"mbarrier\.(?P<verb>init|inval|(?P<arrive>arrive|arrive_drop)(?P<expects>\.expect_tx)?|expect_tx|complete_tx"
    r"|(?P<wait>test_wait|try_wait)(?P<parity>\.parity)?)(?P<opens>\.noComplete)?"
    r"(?:\.(?P<order>acquire|release|relaxed))?(?:\.cta|\.cluster)?(?:\.(?P<shared>shared(?:::cta|::cluster)?))?\.b64"
)
_COPIES = re.compile(r"cp\.async\.mbarrier\.arrive(?P<counts>\.noinc)?(?P<shared>\.shared(?:::cta)?)?\.b64")


class Verb(Enum):
    """What an instruction does with a barrier. COPIES: lets a phase wait for copies, without an arrival."""

    INIT = "init"
    INVAL = "inval"
    ARRIVE = "arrive"
    ARRIVE_DROP = "arrive_drop"
    EXPECT = "expect_tx"
    COMPLETE = "complete_tx"
    WAIT = "wait"
    COPY = "copy"
    COPIES = "copies"
    COPIES_ARRIVE = "copies_arrive"

    @property
    def access(self) -> tuple[Kind, Strength]:
        if self in {Verb.INIT, Verb.INVAL}:
            return Kind.WRITE, Strength.PLAIN
        return Kind.READ if self is Verb.WAIT else Kind.UPDATE, Strength.CLUSTER


@dataclass(frozen=True, slots=True)
class MbarrierUse:
    """One instruction on a barrier in shared memory.

    parity: whether a wait names a parity instead of a token
    expects: whether an arrival first adds to the bytes that the phase needs; its input is then this number
    opens: whether its arrivals may complete the phase
    orders: whether it orders other accesses of its threads; not with `.relaxed`
    target: the register for its result, or None
    source: the register with its input: a count, a token or a parity
    """

    instruction: Instruction
    site: Site
    verb: Verb
    place: Place
    source: int
    target: int | None = None
    parity: bool = False
    opens: bool = True
    expects: bool = False
    orders: bool = True
    copy: Copy | None = None


def mbarrier_use(operands: Operands, pc: int, item: Instruction) -> MbarrierUse:
    if (form := bulk_form(item.opcode) or tensor_form(item.opcode)) is not None:
        return _copy_use(operands, pc, item, form)
    if (stored := async_form(item.opcode)) is not None:
        return _store_use(operands, pc, item, stored)
    if (match := _COPIES.fullmatch(item.opcode)) is not None:
        place, one = operands.place(item.operands[0]), operands.source(Immediate(1), 32)
        site = Site(pc, item.line, "shared" if match["shared"] else "generic", _SIZE, *Verb.COPIES.access)
        return MbarrierUse(item, site, Verb.COPIES_ARRIVE if match["counts"] else Verb.COPIES, place, one)
    match = _OPCODE.fullmatch(item.opcode)
    if match is None:
        raise Unsupported(item.opcode, item.line)
    waits, parity, expects = (bool(match[name]) for name in ("wait", "parity", "expects"))
    verb = Verb.WAIT if waits else Verb(match["arrive"] or match["verb"])
    if bool(match["opens"]) > (bool(match["arrive"]) and not expects):
        raise Malformed("a barrier in shared memory of unexpected form")
    left = list(item.operands)
    target = operands.target(left.pop(0), 1 if waits else 64) if waits or match["arrive"] else None
    place = operands.place(left.pop(0))
    space = kind_of(match["shared"]) if match["shared"] else "generic"
    site = Site(pc, item.line, space, _SIZE, *verb.access, change=BEGIN if verb is Verb.INIT else "")
    source: Operand = left[0] if left else Immediate(1)
    needed = waits or expects or verb in {Verb.INIT, Verb.EXPECT, Verb.COMPLETE}
    if len(left) > 1 + (match["wait"] == "try_wait") or (not left and needed):
        raise Malformed("a barrier in shared memory with the wrong number of operands")
    register = operands.source(source, 64 if waits and not parity else 32)
    return MbarrierUse(
        item,
        site,
        verb,
        place,
        register,
        target,
        parity,
        opens=not match["opens"],
        expects=expects,
        orders=match["order"] != "relaxed",
    )


def _copy_use(operands: Operands, pc: int, item: Instruction, form: BulkForm | TensorForm) -> MbarrierUse:
    """A bulk copy, perhaps with a tensor map, that reports its bytes to a barrier."""
    if len(item.operands) != 4 + form.several:
        raise Malformed("a bulk copy with the wrong number of operands")
    if isinstance(form, BulkForm):
        return _use_of_copy(operands, item, bulk_copy(operands, pc, item, form), 3)
    return _use_of_copy(operands, item, tensor_copy(operands, pc, item, form), 3)


def _store_use(operands: Operands, pc: int, item: Instruction, form: AsyncForm) -> MbarrierUse:
    """A store or an update in another block's memory that reports its bytes to a barrier there."""
    if len(item.operands) != 3:
        raise Malformed("an asynchronous store with the wrong number of operands")
    given = item.operands[1]
    elements = given.items if isinstance(given, Vector) else (given,)
    if len(elements) != form.count:
        raise Malformed("a vector of the wrong length")
    sources = tuple(operands.source(element, form.size * 8) for element in elements)
    copy = AsyncStore(pc, item.line, form, operands.place(item.operands[0]), sources)
    return _use_of_copy(operands, item, copy, 2)


def _use_of_copy(operands: Operands, item: Instruction, copy: Copy, at: int) -> MbarrierUse:
    """The use of a barrier, perhaps another block's, by a copy. at: the barrier's place among the operands."""
    site = Site(copy.pc, item.line, CLUSTER, _SIZE, *Verb.COPY.access)
    place, nothing = operands.place(item.operands[at]), operands.source(Immediate(0), 32)
    return MbarrierUse(item, site, Verb.COPY, place, nothing, copy=copy)


@dataclass(frozen=True, slots=True)
class _States:
    """The states of barriers that the listed threads of a part see."""

    expected: Counts
    missing: Counts
    phase: Counts

    @staticmethod
    def of(words: Counts) -> _States:
        return _States(words & _MOST, words >> _BITS & _MOST, words >> 2 * _BITS)

    @property
    def words(self) -> Counts:
        joined: Counts = self.expected | self.missing << _BITS | self.phase << 2 * _BITS
        return joined


def missing_arrivals(tokens: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the `mbarrier.pending_count` of tokens: the arrivals that the phase still missed."""
    missing: NDArray[np.int32] = _States.of(tokens).missing.astype(np.int32)
    return missing


def endless_wait(last: Sequence[Instruction]) -> Instruction | None:
    """Return the wait of a loop that only waits, from the instructions that it repeats."""
    used = [item for item in last if item.opcode.startswith("mbarrier.")]
    only_waits = all("_wait" in item.opcode for item in used)
    return used[0] if used and only_waits else None


def missing_bytes(machine: Machine, lane: int, use: MbarrierUse) -> int:
    """Return the bytes that the barrier needs for which a thread waits; below 0, too many came."""
    one = np.zeros((machine.shape.threads, machine.shape.blocks), np.bool_)
    one.reshape(-1)[lane] = True
    address = machine.registers[use.place.register]
    for part in split(machine, use.site, address, use.place.displacement, machine.mask(one)):
        missing = machine.awaited.get((part.allocation.name, int(part.offsets[0])))
        return 0 if missing is None else int(missing[lane % machine.shape.blocks])
    return 0


@dataclass(frozen=True, slots=True)
class _Phase:
    """A phase of a barrier, by its variable and byte offset, and its block's rank in the cluster.

    number: counts on from life to life
    """

    name: str
    offset: int
    rank: int
    number: int

    @property
    def barrier(self) -> Hashable:
        """A key for the barrier's life. Another life has another key, so its phases order nothing of this one."""
        return "mbarrier", self.name, self.offset, self.rank, self.number >> _LIFE

    def ends(self, lanes: NDArray[np.intp]) -> Transfer:
        """What ends the operations of threads for which the phase waits."""
        return Transfer(self.barrier, np.full(len(lanes), self.number + 1))


class Mbarriers:
    """The barriers in the shared memory of a chunk of blocks.

    trusted: whether only barriers order the program's threads
    """

    def __init__(self, machine: Machine, ordering: Ordering, *, trusted: bool) -> None:
        self._machine = machine
        self._ordering = ordering
        self._trusted = trusted
        self._lives: dict[tuple[str, int], Counts] = {}
        self._started: dict[Hashable, Started] = {}
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
                self._stop(use, part.lanes, "it uses a `cuda::barrier` outside shared memory")
            self._check_owners(use, part)
            if isinstance(use.copy, BulkCopy | TensorCopy) and use.copy.ranks is not None:
                self._copy_to_several(use, use.copy, use.copy.ranks, part)
                continue
            # Before the operation: what it orders comes after the barrier's beginning only if something else says so.
            if use.copy is None or part.owners is None:
                note_part(machine, part, use.site)
            act(use, part, sources[part.lanes], result)
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

    # -- operations ---------------------------------------------------------------------------------------------------

    def _init(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        bad = (sources < 1) | (sources > _MOST)
        if bad.any():
            count = int(sources[bad][0])
            self._stop(
                use,
                part.lanes[bad],
                f"it makes a `cuda::barrier` for {count:,} threads, but 1 to {_MOST:,} are allowed",
            )
        first = self._next_lives(part) << _LIFE
        self._set(part, _States(sources, sources, first))
        for phase, lanes, _ in self._by_phase(part, first):
            columns = lanes % self._machine.shape.blocks
            self._ordering.seen(phase.barrier)[:, columns] = phase.number
            self._missing_bytes(phase.name, phase.offset)[columns] = 0
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
            lives[columns[here]] = (before[here] + 1) % _LIVES
        return before

    def _inval(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        nothing = np.zeros((len(part.lanes), _SIZE), np.uint8)
        write_part(self._machine, part, nothing, np.zeros(len(part.lanes), np.bool_))

    # -- bytes of asynchronous copies ---------------------------------------------------------------------------------

    def _missing_bytes(self, name: str, offset: int) -> Counts:
        """Return, for each block, the bytes that the phase of a barrier still needs; below 0, they came early."""
        awaited = self._machine.awaited
        if (name, offset) not in awaited:
            awaited[name, offset] = np.zeros(self._machine.shape.blocks, np.int64)
        return awaited[name, offset]

    def _add_bytes(self, part: Part, more: Counts) -> None:
        columns = part.copies(self._machine.shape)[1]
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            np.add.at(self._missing_bytes(part.allocation.name, offset), columns[here], more[here])

    def _needs_bytes(self, part: Part) -> NDArray[np.bool_]:
        """Whether the phase of each thread's barrier isn't over because of bytes."""
        columns = part.copies(self._machine.shape)[1]
        found = np.zeros(len(part.lanes), np.bool_)
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            found[here] = self._missing_bytes(part.allocation.name, offset)[columns[here]] != 0
        return found

    def _count_bytes(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        self._states(use, part)
        self._add_bytes(part, sources if use.verb is Verb.EXPECT else -sources)
        self._close(part)

    def _copy(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:  # noqa: ARG002
        """Start a copy, whose bytes arrive at once. Threads still may not use them before the phase is over."""
        assert use.copy is not None
        states, moved = self._states(use, part), np.zeros(self._machine.shape.lanes, np.int64)
        for phase, lanes, shift in self._by_phase(part, states.phase):
            columns = lanes % self._machine.shape.blocks + shift
            if not isinstance(use.copy, AsyncStore):
                self._check_fence(phase, lanes, columns)
            mask = self._machine.mask(self._grid(lanes))
            moved[lanes] = use.copy.perform(self._machine, mask, lambda _, some, phase=phase: phase.ends(some))[lanes]  # type: ignore[misc]
            self._machine.races.ends_with(phase.ends(lanes), lanes, phase, shift)
            self._ordering.bring(phase, self._grid(lanes), shift)
            if part.owners is not None:
                # It is the end of the copy that uses the other block's barrier.
                own = part.some(np.isin(part.lanes, lanes))
                note(self._machine, access_to(own, use.site, replace(phase.ends(own.lanes), proxy=False)))
            some = moved[lanes] > 0  # without bytes, there is nothing to wait for
            started = self._started.setdefault(phase.barrier, Started(self._machine.shape.blocks))
            started.begin(columns[some], phase.number + 1, use.site.pc, lanes[some])
        self._add_bytes(part, -moved[part.lanes])
        self._close(part)

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
        if use.verb is Verb.COPIES_ARRIVE:
            self._arrive(use, part, sources, result)

    def _close(self, part: Part) -> None:
        """Begin the next phase of barriers at which nothing is missing any more."""
        states = self._read(part)[0]
        over = (states.missing == 0) & ~self._needs_bytes(part)
        if over.any():
            after = _States(states.expected[over], states.expected[over], states.phase[over] + 1)
            self._set(part.some(over), after)

    # -- arrivals and waits -------------------------------------------------------------------------------------------

    def _arrive(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:
        """Let threads arrive in the order of their numbers. Each gets the state that it sees as its token."""
        if use.expects:
            self._states(use, part)
            self._add_bytes(part, sources)
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
        result[part.lanes] = _States(states.expected, states.missing - before, states.phase).words
        for phase, lanes, shift in self._by_phase(part, states.phase):
            self._ordering.arrive(phase, self._grid(lanes), shift, releases=use.orders)
        expected, missing = states.expected[first], states.missing[first] - total
        if use.verb is Verb.ARRIVE_DROP:
            expected = expected - total
        at = part.some(first)
        done = (missing == 0) & ~self._needs_bytes(at)
        after = _States(expected, np.where(done, expected, missing), states.phase[first] + done)
        self._set(at, after)

    def _wait(self, use: MbarrierUse, part: Part, sources: Counts, result: Counts) -> None:
        """Test whether the phase of a token or a parity is over. If so, the thread comes after the arrivals."""
        states = self._states(use, part)
        if use.parity:
            done, over = (states.phase ^ sources) & 1 == 1, states.phase - 1
        else:
            over = _States.of(sources).phase
            done = states.phase > over
            if (stale := (states.phase - over) & -2 != 0).any():
                self._stop(use, part.lanes[stale], f"it waits with a token of another phase than {_VALID}")
        result[part.lanes] = done
        for phase, lanes, _ in self._by_phase(part.some(done), over[done]):
            self._ordering.wait(phase, self._grid(lanes), acquires=use.orders)
            seen = self._ordering.seen(phase.barrier).reshape(-1)
            seen[lanes] = np.maximum(seen[lanes], phase.number + 1)
            if phase.barrier in self._started:
                self._started[phase.barrier].end(lanes % self._machine.shape.blocks, phase.number + 1)

    def _check_fence(self, phase: _Phase, lanes: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
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
            self._stop(use, part.lanes[other], "it uses a `cuda::barrier` of another block for more than an arrival")

    def _check_arrivals(self, use: MbarrierUse, part: Part, states: _States, total: Counts, sources: Counts) -> None:
        if (bad := sources < 1).any():
            self._stop(use, part.lanes[bad], "it arrives at a `cuda::barrier` with a count below 1")
        if (many := total > states.missing).any():
            came, missing, expected = (int(each[many][0]) for each in (total, states.missing, states.expected))
            known = f"It was initialised for {expected:,}" if missing == expected else f"It waits for {missing:,} more"
            self._misused(use, part.lanes[many], f"{plural(came, 'thread')} arrive at this `cuda::barrier`. {known}.")
        for phase, lanes, _ in self._by_phase(part, states.phase):
            unaware = lanes[self._ordering.seen(phase.barrier).reshape(-1)[lanes] < phase.number]
            if unaware.size:
                why = "{thread} arrives at a `cuda::barrier` without waiting for its last phase."
                self._misused(use, unaware, why, Mistake.EARLY_ARRIVAL)
        if not use.opens and (last := total == states.missing).any():
            self._stop(use, part.lanes[last], "its arrival completes a phase, which `.noComplete` rules out")

    def _misused(
        self, use: MbarrierUse, lanes: NDArray[np.intp], why: str, mistake: Mistake = Mistake.MBARRIER
    ) -> NoReturn:
        """Report that chance decides for which phase an arrival counts. `why` names the first thread as `{thread}`."""
        item = use.instruction
        if not self._trusted:
            reason = "A `cuda::barrier` is not emulated if atomics or volatile loads order its uses."
            raise Reached(item.opcode, item.line, reason)

        def describe() -> Described:
            block, thread = self._machine.geometry.who(int(lanes[0]))
            name = self._machine.geometry.lane_name(int(lanes[0]))
            return Example(block, (thread,)), why.format(thread=name), Facts(mistake)

        self._machine.findings.add(Verdict.BARRIER_DIVERGENCE, item.line, len(lanes), describe)
        raise TrapError

    def _stop(self, use: MbarrierUse, lanes: NDArray[np.intp], why: str) -> NoReturn:
        stop(self._machine, use.instruction.line, int(lanes[0]), len(lanes), why)

    # -- states -------------------------------------------------------------------------------------------------------

    def _states(self, use: MbarrierUse, part: Part) -> _States:
        """Return the barriers of the threads. Stop the kernel if one isn't a barrier."""
        states, valid = self._read(part)
        if valid is not None and not valid.all():
            bad = np.flatnonzero(~valid)
            element = part.allocation, int(part.offsets[bad[0]]), int(part.lanes[bad[0]])
            self._machine.unset.report_memory(use.site.pc, element, len(bad))
            raise TrapError
        nobody = (states.missing == 0) & (states.expected > 0) & ~self._needs_bytes(part)
        broken = (states.missing > states.expected) | (states.phase < 0) | nobody
        if broken.any():
            self._stop(use, part.lanes[broken], "it uses a `cuda::barrier` that has been overwritten")
        return states

    def _read(self, part: Part) -> tuple[_States, NDArray[np.bool_] | None]:
        data, valid = read_part(self._machine, part, _SIZE)
        return _States.of(np.ascontiguousarray(data).view(np.int64)[:, 0]), valid

    def _set(self, part: Part, states: _States) -> None:
        write_part(self._machine, part, np.ascontiguousarray(states.words).reshape(-1, 1).view(np.uint8))

    def _barriers(self, part: Part) -> Counts:
        """Return a number for each thread's barrier, different for each block."""
        numbers: Counts = part.offsets * self._machine.shape.blocks + part.copies(self._machine.shape)[1]
        return numbers

    def _by_phase(self, part: Part, phases: Counts) -> Iterator[tuple[_Phase, NDArray[np.intp], int]]:
        """Yield phases with their threads, and how many columns the barrier's block comes after these threads'."""
        size = self._machine.launch.cluster_blocks
        columns = part.copies(self._machine.shape)[1]
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            for number in np.unique(phases[here]).tolist():
                now = here & (phases == number)
                if size == 1:
                    yield _Phase(part.allocation.name, offset, 0, number), part.lanes[now], 0
                    continue
                for rank in np.unique(columns[now] % size).tolist():
                    own = part.some(now & (columns % size == rank))
                    shifts = own.copies(self._machine.shape)[1] - own.lanes % self._machine.shape.blocks
                    for shift in np.unique(shifts).tolist():
                        yield _Phase(part.allocation.name, offset, rank, number), own.lanes[shifts == shift], shift

    def _grid(self, lanes: NDArray[np.intp]) -> Grid:
        grid = np.zeros((self._machine.shape.threads, self._machine.shape.blocks), np.bool_)
        grid.reshape(-1)[lanes] = True
        return grid
