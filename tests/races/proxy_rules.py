"""The order of asynchronous operations by docs/grading.md, section "Asynchronous copies": slow, plain, and apart.

Each thread of a block has a list of events. `judge` builds "comes before" from them and names the lines that race. The
name of a memory object begins with its space, as in "shared tile".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from tests.races.oracle import Graph, Pair, Race
from tests.races.trace import Bytes, Thread

Name = Hashable  # of an asynchronous operation


@dataclass(frozen=True, slots=True)
class Access:
    """An ordinary access, or an atomic one to a barrier."""

    line: int
    bytes: Bytes
    writes: bool
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """Initialise a barrier, or end its life."""

    line: int
    bytes: Bytes


@dataclass(frozen=True, slots=True)
class BeginFence:
    """`fence.mbarrier_init`, which lets a later arrival release the barriers that were initialised before it."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Wait for all threads with the same key."""

    key: Hashable


Phase = tuple[Hashable, int]
"""The life of a barrier, and the number of the phase.

Who sees a phase complete comes after the arrivals at it, and after copies that report to it or to an earlier one.
"""


@dataclass(frozen=True, slots=True)
class Arrive:
    """Arrive at a phase. releases: or only fences before it do."""

    key: Phase
    releases: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """See a phase complete. acquires: or only fences after it do."""

    key: Phase
    acquires: bool = True


@dataclass(frozen=True, slots=True)
class Fence:
    """An ordinary fence for the block."""


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """A fence between threads and the async proxy for memory of these spaces."""

    spaces: frozenset[str]


@dataclass(frozen=True, slots=True)
class Copy:
    """Start a copy by the async proxy. key: of the phase for which it ends, or None."""

    line: int
    name: Name
    source: Bytes
    target: Bytes
    key: Phase | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """Start a product. All threads with its name read these parts together."""

    line: int
    name: Name
    parts: tuple[Bytes, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """Know that all reads of these operations are over, and perhaps their writes."""

    names: tuple[Name, ...]
    writes: bool = True


Event = Access | Begin | BeginFence | Meeting | Arrive | Seen | Fence | ProxyFence | Copy | Product | Ended


@dataclass(slots=True)
class _Use:
    """Reads or writes of one line. They begin after all of `starts`, and end before what follows `end`.

    shown: for the beginning of a barrier, a node before what it is also known to
    """

    line: int
    thread: Thread
    bytes: Bytes
    writes: bool
    end: int
    starts: list[int] = field(default_factory=list)
    proxy: bool = False
    atomic: bool = False
    shown: int | None = None


class _Relation:
    def __init__(self, threads: Mapping[Thread, Sequence[Event]]) -> None:
        self.graph = Graph()
        self.uses: list[_Use] = []
        self._nodes: dict[Hashable, int] = {}
        self._phases: dict[Phase, int] = {}
        self._copied: dict[Phase, int] = {}
        self._shows: dict[str, int] = defaultdict(int)
        self._fences: list[int] = []
        self._begin_fences: list[int] = []
        self._arrivals: list[tuple[int, Phase]] = []
        self._seen: list[tuple[int, Phase]] = []
        self._products: dict[Name, list[_Use]] = {}
        for thread, events in threads.items():
            last = self.graph.node()
            for event in events:
                node = self.graph.node()
                self.graph.step(last, node)
                last = self._add(thread, event, node)
        for (life, number), node in self._copied.items():
            for (other, later), phase in self._phases.items():
                if life == other and number <= later:
                    self.graph.step(node, phase)
        self._add_fences()
        self._after, self._before = self.graph.after(), self.graph.before()

    def in_order(self, a: _Use, b: _Use) -> bool:
        """Whether one use is over before the other begins, and also visible to it."""
        after = self._after[a.end] if a.shown is None else self._after[a.end] | self._after[a.shown]
        if not all(after >> start & 1 for start in b.starts):
            return False
        if not b.proxy or a.proxy or not a.writes:
            return True
        fences = after & self._shows[b.bytes[0].split()[0]]
        return all(fences & self._before[start] for start in b.starts)

    def _node(self, key: Hashable) -> int:
        if key not in self._nodes:
            self._nodes[key] = self.graph.node()
        return self._nodes[key]

    def _phase(self, key: Phase) -> int:
        if key not in self._phases:
            self._phases[key] = self.graph.node()
        return self._phases[key]

    def _add(self, thread: Thread, event: Event, node: int) -> int:
        """Add an event of a thread at a node, and return the node at which the thread goes on."""
        match event:
            case Access(line, place, writes, atomic):
                self.uses.append(_Use(line, thread, place, writes, node, [node], atomic=atomic))
            case Begin(line, place):
                self.uses.append(_Use(line, thread, place, True, node, [node], shown=self.graph.node()))
            case BeginFence():
                self._begin_fences.append(node)
            case Copy():
                self._add_copy(thread, event, node)
            case Product():
                self._add_product(thread, event, node)
            case Fence():
                self._fences.append(node)
            case ProxyFence(spaces):
                for space in spaces:
                    self._shows[space] |= 1 << node
            case Arrive(key, releases):
                if releases:
                    self.graph.step(node, self._phase(key))
                self._arrivals.append((node, key))
            case _:
                return self._add_wait(event, node)
        return node

    def _add_wait(self, event: Meeting | Seen | Ended, node: int) -> int:
        gone_on = self.graph.node()
        self.graph.step(node, gone_on)
        match event:
            case Meeting(key):
                self.graph.step(node, self._node(key))
                self.graph.step(self._node(key), gone_on)
            case Seen(key, acquires):
                if acquires:
                    self.graph.step(self._phase(key), gone_on)
                self._seen.append((node, key))
            case Ended(names, writes):
                for name in names:
                    self.graph.step(self._node(("end", name, False)), gone_on)
                    if writes:
                        self.graph.step(self._node(("end", name, True)), gone_on)
        return gone_on

    def _add_copy(self, thread: Thread, copy: Copy, node: int) -> None:
        """Nothing leads to the end of a copy, so what its thread did before isn't part of what ends."""
        for place, writes in ((copy.source, False), (copy.target, True)):
            end = self._node(("end", copy.name, writes))
            self.uses.append(_Use(copy.line, thread, place, writes, end, [node], proxy=True))
            if copy.key is not None:
                if copy.key not in self._copied:
                    self._copied[copy.key] = self.graph.node()
                self.graph.step(end, self._copied[copy.key])

    def _add_product(self, thread: Thread, event: Product, node: int) -> None:
        if event.name not in self._products:
            end = self._node(("end", event.name, False))
            made = [_Use(event.line, thread, part, False, end, proxy=True) for part in event.parts]
            self._products[event.name] = made
            self.uses += made
        for use in self._products[event.name]:
            use.starts.append(node)

    def _add_fences(self) -> None:
        """Let a fence before a relaxed arrival release, and a fence after a relaxed wait acquire.

        From the wait of one thread to the fence of another, a barrier must lead that needs no such fence itself.
        """
        met = self.graph.after()
        for fence in self._fences:
            for node, key in self._seen:
                if met[node] >> fence & 1:
                    self.graph.step(self._phase(key), fence)
        more = True
        while more:
            more = False
            after = self.graph.after()
            for use, fence in product(self.uses, self._begin_fences):
                if use.shown is not None and after[use.end] >> fence & 1:
                    for node, key in self._arrivals:
                        if after[fence] >> node & 1:
                            more |= self.graph.step(use.shown, self._phase(key))
            for fence, (node, key) in product(self._fences, self._arrivals):
                if after[fence] >> node & 1:
                    more |= self.graph.step(fence, self._phase(key))


def judge(threads: Mapping[Thread, Sequence[Event]]) -> dict[Pair, Race]:
    """The pairs of lines of a block that race, each with one example."""
    relation = _Relation(threads)
    found: dict[Pair, Race] = {}
    for a, b in _conflicts(relation.uses):
        pair = min(a.line, b.line), max(a.line, b.line)
        if pair not in found and not relation.in_order(a, b) and not relation.in_order(b, a):
            found[pair] = Race((a.thread, b.thread), (a.bytes, b.bytes))
    return found


def _conflicts(uses: Sequence[_Use]) -> Iterator[tuple[_Use, _Use]]:
    """Uses of the same word, of which one writes. Of words that the same uses touch, one stands for all."""
    by_word: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, use in enumerate(uses):
        memory, first, count = use.bytes
        for word in range(first, first + count):
            by_word[memory, word].append(number)
    for numbers in dict.fromkeys(map(tuple, by_word.values())):
        together = [uses[number] for number in numbers]
        for at, a in enumerate(together):
            yield from ((a, b) for b in together[:at] if (a.writes or b.writes) and not (a.atomic and b.atomic))
