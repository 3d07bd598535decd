"""The data races of a launch as findings: one for each pair of lines."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import partial

from kernels.device.observers.lifetimes import Outlived
from kernels.device.state.accesses import Kind
from kernels.device.state.findings import Described, Findings
from kernels.device.state.geometry import WARP, Geometry
from kernels.device.state.machine import Machine
from kernels.facts import Access, AccessKind, Element, Facts, Mistake, Operation
from kernels.verdict import Example, Severity, Verdict
from kernels.wording import at_line, lines_named


@dataclass(frozen=True, slots=True)
class Party:
    """One of two accesses that race: its block and thread by number, its kind and its line.

    value: for an atomic that sets a value, the value
    operation: the operation of the thread that makes it; None if the thread makes it itself
    by_warp: whether all threads of its warp make it together
    call: if its line is in a helper function, the kernel's line that calls it
    waited: whether its thread waits for the copy before the other access
    initialises: whether it initialises a barrier in shared memory
    """

    block: int
    thread: int
    kind: Kind
    line: int | None
    value: str = ""
    operation: Operation | None = None
    by_warp: bool = False
    call: int | None = None
    waited: bool = False
    initialises: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses to one element that nothing orders. `earlier` came first in this run.

    together: both are one execution of one instruction
    atomic: both are atomics, so only their order is open
    calls: the kernel's lines that call the helper functions with the accesses, of all such races
    owner: the block whose shared memory it is, by number, in a launch with clusters
    unshown: the accesses are in order, but the later one is a transfer to which no fence has shown the earlier write
    """

    earlier: Party
    later: Party
    element: Element
    count: int
    severity: Severity
    together: bool
    atomic: bool = False
    unshown: bool = False
    owner: int | None = None
    calls: frozenset[int] = frozenset()

    @property
    def apart(self) -> bool:
        return self.earlier.block != self.later.block

    @property
    def of_two(self) -> bool:
        """Whether two threads make the accesses, not one and its asynchronous operation."""
        return (self.earlier.block, self.earlier.thread) != (self.later.block, self.later.thread)

    @property
    def near(self) -> bool:
        one, other = self.earlier, self.later
        return not self.apart and one.thread // WARP == other.thread // WARP


class RaceReport:
    """Collects the races of one launch. It prefers examples with threads of two warps, which show more.

    relaxed: the lines of relaxed arrivals, which may be the cause of races in a cluster
    waits: the lines of waits for copies by `cp.async`
    """

    def __init__(self, relaxed: tuple[int, ...], waits: tuple[int, ...]) -> None:
        self._relaxed = relaxed
        self._waits = waits
        self._races: dict[tuple[frozenset[int | None], Severity, bool, bool], Race] = {}
        self._outlived: dict[tuple[int | None, bool], Outlived] = {}

    def add(self, race: Race) -> None:
        """Count a race, and keep the best example."""
        key = frozenset({race.earlier.line, race.later.line}), race.severity, race.atomic, race.unshown
        known = self._races.get(key)
        calls = frozenset(party.call for party in (race.earlier, race.later) if party.call is not None)
        if known is None:
            self._races[key] = replace(race, calls=calls)
        else:
            best = race if known.near and not race.near else known
            self._races[key] = replace(best, count=known.count + race.count, calls=known.calls | calls)

    def outlive(self, line: int | None, found: Outlived) -> None:
        """Count accesses of a line to memory of a block that may not exist then. Keep the first example."""
        known = self._outlived.get((line, found.begun))
        count = found.count + (0 if known is None else known.count)
        self._outlived[line, found.begun] = replace(known or found, count=count)

    def __bool__(self) -> bool:
        return bool(self._races or self._outlived)

    def write(self, machine: Machine, findings: Findings) -> None:
        errors = [race for race in self._races.values() if race.severity is Severity.ERROR]
        named = {party.line for race in errors for party in (race.earlier, race.later)}
        for (line, _), found in self._outlived.items():
            # A race of the line has the same repair, and says more.
            if line not in named:
                findings.add(
                    Verdict.DATA_RACE, line, found.count, partial(_outlived, machine, line, found, self._relaxed)
                )
        block_barrier = machine.shape.threads <= WARP or not all(race.near for race in self._races.values())
        for race in self._races.values():
            findings.add(
                Verdict.ORDER_DEPENDENT if race.atomic else Verdict.DATA_RACE,
                race.later.line,
                race.count,
                partial(_described, machine, race, self._relaxed, self._waits, block_barrier=block_barrier),
                other_line=race.earlier.line,
                calls=race.calls,
                severity=race.severity,
            )


def _outlived(machine: Machine, line: int | None, found: Outlived, relaxed: tuple[int, ...]) -> Described:
    geometry = machine.geometry
    block, thread = geometry.numbered(found.block), geometry.thread(found.thread)
    owner = geometry.block_name(geometry.numbered(found.owner))
    end = (
        f"Block {owner} may have returned by then, and its shared memory may be gone."
        if found.begun
        else f"Nothing shows that block {owner} has started by then, so its shared memory may not be there."
    )
    message = (
        f"Thread {geometry.thread_name(thread)} of block {geometry.block_name(block)} {found.kind.value}"
        f" `{found.element}` of block {owner}{at_line(line)}. {end}{_of_relaxed(relaxed)}"
    )
    access = Access(geometry.named_thread(thread), _KINDS[found.kind], line, geometry.named_block(block))
    facts = Facts(Mistake.CLUSTER_LIFETIME, accesses=(access,), relaxed_arrivals=relaxed)
    return Example.at(found.element, block, (thread,)), message, facts


def _who(party: Party, thread: str) -> str:
    """The subject of a sentence: the thread, or its operation. Only a copy is something that the thread does itself."""
    if party.operation is None or party.kind is Kind.COPY:
        return thread
    noun = party.operation.noun
    of = thread[0].lower() + thread[1:]
    return f"`wgmma` of {of}" if party.operation is Operation.PRODUCT else f"The {noun} of {of}"


def _together(race: Race) -> str:
    """Why two executions of one instruction race, if that isn't plain."""
    if race.earlier.operation is Operation.BULK_LOAD:
        return " One thread is enough to start it."
    if race.earlier.kind is race.later.kind is Kind.UPDATE and _in_cluster(race):
        return " The scope of each doesn't include the other thread."
    return ""


def _of_relaxed(lines: tuple[int, ...]) -> str:
    """The sentence on relaxed arrivals that would order accesses otherwise."""
    if not lines:
        return ""
    several = "arrivals" if lines[1:] else "arrival"
    return f" The {several} at {lines_named(lines)} {'are' if lines[1:] else 'is'} relaxed, which orders nothing."


def _described(
    machine: Machine, race: Race, relaxed: tuple[int, ...], waits: tuple[int, ...], *, block_barrier: bool
) -> Described:
    """Return the example, its sentences and their facts.

    relaxed, waits: the lines of relaxed arrivals, and of waits for copies
    block_barrier: whether a race of the launch needs `__syncthreads()`, because `__syncwarp()` is not enough
    """
    geometry = machine.geometry
    one, other = race.earlier, race.later
    first, second = geometry.thread(one.thread), geometry.thread(other.thread)
    block = geometry.numbered(other.block)
    example = Example.at(race.element, block, (second, first))
    names = geometry.thread_name(first), geometry.thread_name(second)
    where = f" of block {geometry.block_name(geometry.numbered(one.block))}"
    there = f" of block {geometry.block_name(block)}" if race.apart else ""
    end = _any_order(race) if race.atomic else ""
    one_warp = _of_one_warp(race, block_barrier=block_barrier)
    element = f"`{race.element}`{_of_owner(geometry, race)}"
    mistake = _mistake(race)
    relaxed = relaxed if mistake is Mistake.CLUSTER_RACE else ()
    accesses = _accesses(geometry, race)
    lines = _arrivals_of_others(machine, race)
    facts = Facts(
        mistake,
        accesses=accesses,
        together=race.together,
        one_warp=one_warp,
        relaxed_arrivals=relaxed,
        others_arrive=lines,
        copy_waits=waits if one.kind is Kind.COPY else (),
        waited=one.waited,
    )
    if race.together:
        threads = f"Thread {names[0]}{where} and thread {names[1]}{there}"
        message = (
            f"{threads} both {_verb(race, one, plural=True)} {element}{at_line(one.line)}.{end or _together(race)}"
        )
        return example, message, facts
    message = (
        f"{_who(one, f'Thread {names[0]}{where}')} {_verb(race, one)} {element}{at_line(one.line)}."
        f" {_who(other, f'Thread {names[1]}{there}' if race.of_two else 'The same thread')} {_verb(race, other)} it"
        f"{at_line(other.line)}"
        f"{f'.{end}' if race.atomic else _missing(race, block_barrier=block_barrier)}{_of_relaxed(relaxed)}"
    )
    if lines:
        message += f" Thread {names[0]} doesn't arrive itself, and nothing orders it before the arrivals of others"
        message += f" at {lines_named(lines)}."
    return example, message, facts


def _arrivals_of_others(machine: Machine, race: Race) -> tuple[int, ...]:
    """Return where other threads arrive, if a thread that reads a stage before it is filled again never does."""
    if _mistake(race) is not Mistake.EARLY_TRANSFER or race.apart or race.earlier.kind is not Kind.READ:
        return ()
    found = []
    for line, threads in machine.arrivals.items():
        if threads[race.earlier.thread]:
            return ()
        # The thread that fills the stage arrives at another barrier.
        if line is not None and threads.sum() > threads[race.later.thread]:
            found.append(line)
    return tuple(sorted(found))


def _mistake(race: Race) -> Mistake:
    one, other = race.earlier, race.later
    if race.unshown:
        return Mistake.PROXY_FENCE
    if one.operation:
        return Mistake.TRANSFER
    if _in_cluster(race):
        return Mistake.CLUSTER_RACE
    if other.operation:
        return Mistake.EARLY_TRANSFER
    if other.initialises:
        return Mistake.INITIALISATION
    stores = one.by_warp and other.by_warp and one.kind is other.kind is Kind.WRITE
    return Mistake.STORED_MATRIX if stores else Mistake.OTHER


def _in_cluster(race: Race) -> bool:
    """Whether threads of two blocks use the shared memory of one."""
    return race.apart and race.owner is not None


def _of_owner(geometry: Geometry, race: Race) -> str:
    """` of block (1,0)`, if the memory may be of another block than the threads."""
    if race.owner is None or {race.earlier.block, race.later.block} == {race.owner}:
        return ""
    return f" of block {geometry.block_name(geometry.numbered(race.owner))}"


def _accesses(geometry: Geometry, race: Race) -> tuple[Access, ...]:
    return tuple(
        Access(
            geometry.named_thread(geometry.thread(party.thread)),
            AccessKind.SET if party.value else _KINDS[party.kind],
            party.line,
            geometry.named_block(geometry.numbered(party.block)) if race.apart else (),
            party.operation,
        )
        for party in (race.earlier, race.later)
    )


def _verb(race: Race, party: Party, *, plural: bool = False) -> str:
    verb = _PLURAL[party.kind] if plural else party.kind.value
    if party.value:
        return "atomically write" if plural else "atomically writes"
    return f"atomically {verb}" if race.atomic and party.kind is Kind.READ else verb


def _any_order(race: Race) -> str:
    """Return the sentences on what the order of two atomics decides."""
    values = race.earlier.value, race.later.value
    if all(values) and values[0] != values[1]:
        return f" The values are {values[0]} and {values[1]}, and nothing decides which one stays."
    return " Nothing decides which comes first."


def stored_text(bits: int, size: int) -> str:
    """Return a stored value as text. Its type is unknown: bits of a float of usual size are shown as that float."""
    raw = (bits & (1 << 8 * size) - 1).to_bytes(size, "little")
    number = int.from_bytes(raw, "little", signed=True)
    if size in {4, 8}:
        value = struct.unpack("<f" if size == 4 else "<d", raw)[0]
        if 1e-6 < abs(value) < 1e12:
            return f"{value:.9g}" if size == 4 else f"{value:.17g}"
    return f"{number:,}"


_KINDS = {
    Kind.READ: AccessKind.READ,
    Kind.WRITE: AccessKind.WRITE,
    Kind.UPDATE: AccessKind.UPDATE,
    Kind.COPY: AccessKind.COPY,
}
_PLURAL = {
    Kind.READ: "read",
    Kind.WRITE: "write",
    Kind.UPDATE: "atomically update",
    Kind.COPY: "copy asynchronously to",
}


def _of_one_warp(race: Race, *, block_barrier: bool) -> bool:
    """Whether `__syncwarp()` would order the accesses."""
    under_way = race.earlier.kind is Kind.COPY or race.earlier.operation or race.later.operation
    return race.near and not (block_barrier or under_way or race.atomic or race.together)


def _named(party: Party) -> str:
    """An operation after a verb: `the bulk copy`."""
    assert party.operation is not None
    return party.operation.noun if party.operation.noun.startswith("`") else f"the {party.operation.noun}"


def _missing(race: Race, *, block_barrier: bool) -> str:
    """Return the end of the sentences: what would order the two accesses."""
    if race.unshown:
        what = "come before" if race.later.kind.writes else "miss"
        return f". Without `fence.proxy.async` between them, {_named(race.later)} may {what} the write."
    if race.earlier.operation and not race.of_two:
        return f". Between them, the thread doesn't wait for {_named(race.earlier)}."
    if race.earlier.operation and (not race.apart or _in_cluster(race)):
        return f". Between them, nothing waits for {_named(race.earlier)}."
    if _in_cluster(race):
        return ", with no barrier of the cluster between them."
    if race.later.operation and not race.apart:
        return ", with no barrier between them."
    if race.apart:
        return ". Blocks run in any order, and `__syncthreads()` works only inside a block."
    if race.earlier.kind is Kind.COPY:
        if race.earlier.waited:
            return ". The wait for the copy is there, but `__syncthreads()` is missing after it."
        return ". A wait that ends the copy and then `__syncthreads()` are missing between them."
    barrier = "__syncwarp()" if _of_one_warp(race, block_barrier=block_barrier) else "__syncthreads()"
    return f", with no `{barrier}` between them."
