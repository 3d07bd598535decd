"""Data races by the definition in docs/grading.md, section "Data races": slow, plain, and apart from the CPU device.

`judge` takes what every thread did and gives each pair of lines that race. It builds the relation "comes before" step
by step, closes it over all pairs of operations, and looks at every two accesses of each byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.races.trace import (
    BLOCK,
    DEVICE,
    Access,
    Arrival,
    Atomic,
    BlockBarrier,
    Bytes,
    ClusterArrival,
    ClusterWait,
    Copy,
    CopyWait,
    Fence,
    NamedBarrier,
    Operation,
    PhaseSeen,
    Place,
    Scope,
    Thread,
    Trace,
    WarpBarrier,
)

Pair = tuple[int, int]  # two lines, the smaller one first


@dataclass(frozen=True, slots=True)
class Race:
    """One example for a pair of lines."""

    threads: tuple[Thread, Thread]
    bytes: tuple[Bytes, Bytes]


# -- the relation ------------------------------------------------------------------------------------------------------


class Graph:
    """Steps between operations; rows of bits say what can be reached from where."""

    def __init__(self) -> None:
        self._next: list[set[int]] = []

    def node(self) -> int:
        self._next.append(set())
        return len(self._next) - 1

    def step(self, first: int, then: int) -> bool:
        """Let `first` come before `then`; say whether that step is new."""
        known = then in self._next[first]
        self._next[first].add(then)
        return not known

    def after(self) -> list[int]:
        """For each node the set of nodes that a chain of steps leads to."""
        rows = [0] * len(self._next)
        for node in reversed(self._sorted()):
            row = 0
            for then in self._next[node]:
                row |= rows[then] | 1 << then
            rows[node] = row
        return rows

    def before(self) -> list[int]:
        """For each node the set of nodes from which a chain of steps leads to it."""
        rows = [0] * len(self._next)
        for node in self._sorted():
            for then in self._next[node]:
                rows[then] |= rows[node] | 1 << node
        return rows

    def _sorted(self) -> list[int]:
        waiting = [0] * len(self._next)
        for nexts in self._next:
            for then in nexts:
                waiting[then] += 1
        ready = [node for node, count in enumerate(waiting) if not count]
        for node in ready:
            for then in self._next[node]:
                waiting[then] -= 1
                if not waiting[then]:
                    ready.append(then)
        if len(ready) < len(self._next):
            raise ValueError("the trace is impossible: an operation comes before itself")
        return ready


@dataclass(frozen=True, slots=True)
class _Use:
    """One access as it enters the comparison.

    node: where it stands in the relation
    actor: its thread; a copy under way is an actor of its own
    shadow: for a volatile access, a node that is after what it sees without a fence
    """

    node: int
    thread: Thread
    actor: object
    access: Access | Atomic
    shadow: int | None = None


@dataclass(frozen=True, slots=True)
class _AtomicNode:
    """An atomic in the relation.

    released: what a fence before it released, for atomics of its block and of the device
    acquired: what it has seen, for fences after it, from its block and from the device
    """

    node: int
    thread: Thread
    atomic: Atomic
    released: Mapping[Scope, int]
    acquired: Mapping[Scope, int]


class _Relation:
    """All operations of a trace with what comes before what."""

    def __init__(self, trace: Trace) -> None:
        self.graph = Graph()
        self.uses: list[_Use] = []
        self.atomics: dict[Place, _AtomicNode] = {}
        self._fences: list[tuple[int, Scope]] = []
        self._joins: dict[object, int] = {}
        self._relaxed: list[tuple[int, int]] = []
        self.starts: dict[Thread, int] = {}
        self._trace = trace
        for thread in trace.threads:
            self._add_thread(thread)
        self._add_returned()
        self.sees = list(self._seen())
        for x, y in self.sees:
            if x.thread[0] == y.thread[0]:
                self.graph.step(x.released[BLOCK], y.acquired[BLOCK])
            elif x.atomic.scope == y.atomic.scope == DEVICE:
                self.graph.step(x.released[DEVICE], y.acquired[DEVICE])
        self._add_fences()
        self.after = self.graph.after()
        self.before = self.graph.before()
        self._after_seen: dict[int, dict[Bytes, int]] = defaultdict(lambda: defaultdict(int))
        self.after_looked: dict[int, int] = defaultdict(int)
        for x, y in self.sees:
            self._after_seen[x.node][y.atomic.bytes] |= self.after[y.node]
            self.after_looked[x.node] |= self.after[y.node]

    def after_seen(self, node: int, byte: int) -> int:
        """What comes after an atomic that sees this one: on that one's bytes, it also comes after this one."""
        row = 0
        for (_, first, size), after in self._after_seen.get(node, {}).items():
            row |= after if first <= byte < first + size else 0
        return row

    def end(self, thread: Thread) -> int:
        """Where a thread returns."""
        return self._joins["end", thread]

    # Program order, barriers, arrivals and copies.

    def _add_thread(self, thread: Thread) -> None:
        last = self.starts[thread] = self.graph.node()
        copies: dict[int, int] = {}
        for index, operation in enumerate(self._trace.threads[thread]):
            node = self.graph.node()
            self.graph.step(last, node)
            last = node
            match operation:
                case Access(volatile=volatile):
                    shadow = self.graph.node() if volatile else None
                    self.uses.append(_Use(node, thread, thread, operation, shadow))
                case Atomic():
                    last = self._add_atomic((thread, index), operation, node)
                case Fence(scope):
                    self._fences.append((node, scope))
                case Copy(line, written, source, name):
                    self.uses.append(_Use(node, thread, thread, Access(line, source, writes=False)))
                    copies[name] = self.graph.node()
                    self.graph.step(node, copies[name])
                    write = Access(line, written, writes=True)
                    self.uses.append(_Use(copies[name], thread, (thread, name), write))
                case CopyWait(names):
                    for name in names:
                        self.graph.step(copies[name], node)
                case _:
                    last = self._add_meeting(thread, operation, node)
        self._joins["end", thread] = last

    def _add_meeting(self, thread: Thread, operation: Operation, node: int) -> int:
        """Who arrives comes before the meeting, who waits goes on after it."""
        block, warp = thread[0], thread[1] // 32
        arrives = waits = True
        match operation:
            case BlockBarrier(use):
                meeting: object = "block", block, use
            case NamedBarrier(number, use, waits):
                meeting = "named", block, number, use
            case WarpBarrier(mask, use):
                meeting = "warp", block, warp, mask, use
            case Arrival(barrier, phase):
                meeting, waits = ("phase", barrier, phase), False
            case PhaseSeen(barrier, phase):
                meeting, arrives = ("phase", barrier, phase), False
            case ClusterArrival(use, arrives):
                meeting, waits = ("cluster", use), False
            case ClusterWait(use):
                meeting, arrives = ("cluster", use), False
        if meeting not in self._joins:
            self._joins[meeting] = self.graph.node()
        join = self._joins[meeting]
        if arrives:
            self.graph.step(node, join)
        elif isinstance(operation, ClusterArrival):
            self._relaxed.append((node, join))
        gone_on = self.graph.node()
        self.graph.step(node, gone_on)
        if waits:
            self.graph.step(join, gone_on)
        return gone_on

    def _add_returned(self) -> None:
        """A thread that has returned counts as waiting at every later barrier of its block."""
        for thread, operations in self._trace.threads.items():
            joined = {operation.use for operation in operations if isinstance(operation, BlockBarrier)}
            for meeting, join in self._joins.items():
                match meeting:
                    case ("block", block, use) if block == thread[0] and use not in joined:
                        self.graph.step(self._joins["end", thread], join)

    # Fences and atomics.

    def _add_atomic(self, place: Place, atomic: Atomic, entry: int) -> int:
        """Add an atomic with the fences that it may carry: one at `entry`, one where the thread goes on."""
        released: dict[Scope, int] = {BLOCK: self.graph.node(), DEVICE: self.graph.node()}
        acquired: dict[Scope, int] = {BLOCK: self.graph.node(), DEVICE: self.graph.node()}
        node, gone_on = self.graph.node(), self.graph.node()
        self.graph.step(entry, node)
        self.graph.step(node, gone_on)
        for scope in _scopes(atomic.scope):
            if atomic.releases:
                self.graph.step(entry, released[scope])
            if atomic.acquires:
                self.graph.step(acquired[scope], gone_on)
        self.atomics[place] = _AtomicNode(node, place[0], atomic, released, acquired)
        self.uses.append(_Use(node, place[0], place[0], atomic))
        return gone_on

    def _seen(self) -> Iterator[tuple[_AtomicNode, _AtomicNode]]:
        """Every atomic with every later one that sees it, and uses what it finds. A load leaves nothing to be seen."""
        for location, order in self._trace.effects.items():
            earlier: list[_AtomicNode] = []
            for place in order:
                y = self.atomics.get(place)
                if y is None:
                    earlier.clear()  # a plain store lies between
                elif y.atomic.bytes[:2] == location[:2]:  # the address: atomics of two widths race as it is
                    yield from ((x, y) for x in earlier if x.atomic.writes and y.atomic.reads and y.atomic.looks)
                    if not y.atomic.reads:
                        earlier.clear()  # it takes the place of what was there, as a plain store does
                    earlier.append(y)

    def _add_fences(self) -> None:
        """Lead what fences release to what comes after fences, until nothing more follows from it."""
        atomic_at = {each.node: each for each in self.atomics.values()}
        fence_at = dict(self._fences)
        shadow_at = {use.node: use.shadow for use in self.uses if use.shadow is not None}
        atomics, fences, volatiles = _row(atomic_at), _row(fence_at), _row(shadow_at)
        more = True
        while more:
            more = False
            after = self.graph.after()
            for fence, scope in self._fences:
                for arrival, join in self._relaxed:
                    if scope == DEVICE and after[fence] >> arrival & 1:
                        more |= self.graph.step(fence, join)
                for x in _members(after[fence] & atomics):
                    for within in _scopes(scope):
                        more |= self.graph.step(fence, atomic_at[x].released[within])
            for y, each in atomic_at.items():
                for fence in _members(after[y] & fences):
                    for within in _scopes(fence_at[fence]):
                        more |= self.graph.step(each.acquired[within], fence)
                for volatile in _members(after[y] & volatiles):
                    for within in _scopes(DEVICE):
                        more |= self.graph.step(each.acquired[within], shadow_at[volatile])


def _scopes(scope: Scope) -> tuple[Scope, ...]:
    """Where something of that scope counts: between threads of a block, or also between blocks."""
    return (BLOCK,) if scope == BLOCK else (BLOCK, DEVICE)


def _row(nodes: Iterable[int]) -> int:
    row = 0
    for node in nodes:
        row |= 1 << node
    return row


def _members(row: int) -> Iterator[int]:
    while row:
        lowest = row & -row
        yield lowest.bit_length() - 1
        row ^= lowest


# -- the races ---------------------------------------------------------------------------------------------------------


def relation(trace: Trace) -> _Relation:
    """What comes before what."""
    return _Relation(trace)


def judge(trace: Trace) -> dict[Pair, Race]:
    """All pairs of lines that race, each with one example."""
    return judge_both(trace)[0]


def judge_both(trace: Trace) -> tuple[dict[Pair, Race], dict[Pair, Race]]:
    """The pairs that race, and the pairs that set different values atomically in no fixed order."""
    relation = _Relation(trace)
    return _races(relation), _open_stores(relation)


def _races(relation: _Relation) -> dict[Pair, Race]:
    races: dict[Pair, Race] = {}
    for a, b, byte in _conflicts(relation):
        pair = (min(a.access.line, b.access.line), max(a.access.line, b.access.line))
        if pair not in races and not _both_atomic(a, b) and not _ordered(relation, a, b, byte):
            races[pair] = Race((a.thread, b.thread), (a.access.bytes, b.access.bytes))
    return races


def _open_stores(relation: _Relation) -> dict[Pair, Race]:
    found: dict[Pair, Race] = {}
    by_place: dict[tuple[str, int], list[_Use]] = defaultdict(list)
    for use in relation.uses:
        if isinstance(use.access, Atomic) and use.access.sets is not None:
            by_place[use.access.bytes[:2]].append(use)
    for uses in by_place.values():
        if len({use.access.sets for use in uses if isinstance(use.access, Atomic)}) < 2:
            continue
        first = _in_turn(relation, uses)
        for number, a in enumerate(uses):
            for other in range(number):
                b = uses[other]
                assert isinstance(a.access, Atomic)
                assert isinstance(b.access, Atomic)
                pair = (min(a.access.line, b.access.line), max(a.access.line, b.access.line))
                apart = a.actor != b.actor and a.access.sets != b.access.sets and _both_atomic(a, b)
                if apart and pair not in found and not first[number] >> other & 1 and not first[other] >> number & 1:
                    found[pair] = Race((a.thread, b.thread), (a.access.bytes, b.access.bytes))
    return found


def _in_turn(relation: _Relation, uses: list[_Use]) -> list[int]:
    """For each of the stores to a place, those that come after it in every run.

    A store comes after another one if its thread has used the value of that one, or if one in between does.
    """
    rows = []
    for use in uses:
        after = relation.after[use.node] | relation.after_looked[use.node]
        rows.append(_row(number for number, other in enumerate(uses) if after >> other.node & 1))
    for through in range(len(uses)):
        for number, row in enumerate(rows):
            if row >> through & 1:
                rows[number] |= rows[through]
    return rows


def _conflicts(relation: _Relation) -> Iterator[tuple[_Use, _Use, int]]:
    """Two accesses of the same byte, one of them a write, by different actors, that no chain of steps orders.

    Of bytes that the same accesses touch, one stands for all.
    """
    use_at = {use.node: use for use in relation.uses}
    by_byte: dict[tuple[str, int], int] = defaultdict(int)
    by_actor: dict[object, int] = defaultdict(int)
    for use in relation.uses:
        by_actor[use.actor] |= 1 << use.node
        memory, first, size = use.access.bytes
        for byte in range(first, first + size):
            by_byte[memory, byte] |= 1 << use.node
    writes = _row(use.node for use in relation.uses if use.access.writes)
    for row, byte in {row: byte for (_, byte), row in by_byte.items()}.items():
        for node in _members(row & writes):
            use = use_at[node]
            ordered = relation.after[node] | relation.before[node] | by_actor[use.actor]
            ordered |= writes & ((1 << node) - 1)  # the pair came from the other write's side
            yield from ((use, use_at[other], byte) for other in _members(row & ~ordered))


def _ordered(relation: _Relation, a: _Use, b: _Use, byte: int) -> bool:
    """Whether one of the two rules orders them that hold for these two accesses of a byte alone."""
    after = relation.after
    return any(
        (then.shadow is not None and after[first.node] >> then.shadow & 1)
        or relation.after_seen(first.node, byte) >> then.node & 1
        for first, then in ((a, b), (b, a))
    )


def _both_atomic(a: _Use, b: _Use) -> bool:
    x, y = a.access, b.access
    if not (isinstance(x, Atomic) and isinstance(y, Atomic)):
        return False
    return x.bytes == y.bytes and (x.scope == y.scope == DEVICE or a.thread[0] == b.thread[0])
