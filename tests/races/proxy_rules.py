"""The order of asynchronous operations by docs/grading.md, section "Asynchronous copies": slow, plain, and apart.

Each thread of a block has a list of events. `judge` builds "comes before" from them and names the lines that race. The
name of a memory object begins with its space, as in "shared tile".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
class Meeting:
    """Wait for all threads with the same key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Arrive:
    """Arrive at a phase. releases: or only fences before it do."""

    key: Hashable
    releases: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """See a phase complete. acquires: or only fences after it do."""

    key: Hashable
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
    key: Hashable | None = None


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


Event = Access | Meeting | Arrive | Seen | Fence | ProxyFence | Copy | Product | Ended


@dataclass(slots=True)
class _Use:
    """Reads or writes of one line. They begin after all of `starts`, and end before what follows `end`."""

    line: int
    thread: Thread
    bytes: Bytes
    writes: bool
    end: int
    starts: list[int] = field(default_factory=list)
    proxy: bool = False
    atomic: bool = False


class _Relation:
    def __init__(self, threads: Mapping[Thread, Sequence[Event]]) -> None:
        self.graph = Graph()
        self.uses: list[_Use] = []
        self._nodes: dict[Hashable, int] = {}
        self._proxy_fences: list[tuple[int, ProxyFence]] = []
        self._fences: list[int] = []
        self._arrivals: list[tuple[int, Hashable]] = []
        self._seen: list[tuple[int, Hashable]] = []
        self._products: dict[Name, list[_Use]] = {}
        for thread, events in threads.items():
            last = self.graph.node()
            for event in events:
                node = self.graph.node()
                self.graph.step(last, node)
                last = self._add(thread, event, node)
        self._add_fences()
        self.after = self.graph.after()
        self._shown: dict[tuple[int, str], int] = {}

    def before(self, a: _Use, b: _Use) -> bool:
        """Whether one use is over before the other begins, and also visible to it."""
        row = self.after[a.end]
        if b.proxy and a.writes and not a.proxy:
            row = self._shown_after(a.end, b.bytes[0].split()[0])
        return all(row >> start & 1 for start in b.starts)

    def _shown_after(self, node: int, space: str) -> int:
        """What comes after a proxy fence that comes after a node."""
        key = node, space
        if key not in self._shown:
            row = 0
            for fence, what in self._proxy_fences:
                if space in what.spaces and self.after[node] >> fence & 1:
                    row |= self.after[fence]
            self._shown[key] = row
        return self._shown[key]

    def _node(self, key: Hashable) -> int:
        if key not in self._nodes:
            self._nodes[key] = self.graph.node()
        return self._nodes[key]

    def _add(self, thread: Thread, event: Event, node: int) -> int:
        """Add an event of a thread at a node, and return the node at which the thread goes on."""
        gone_on = self.graph.node()
        self.graph.step(node, gone_on)
        match event:
            case Access(line, place, writes, atomic):
                self.uses.append(_Use(line, thread, place, writes, node, [node], atomic=atomic))
            case Copy():
                self._add_copy(thread, event, node)
            case Product():
                self._add_product(thread, event, node)
            case Fence():
                self._fences.append(node)
            case ProxyFence():
                self._proxy_fences.append((node, event))
            case _:
                self._add_order(event, node, gone_on)
        return gone_on

    def _add_order(self, event: Meeting | Arrive | Seen | Ended, node: int, gone_on: int) -> None:
        match event:
            case Meeting(key):
                self.graph.step(node, self._node(key))
                self.graph.step(self._node(key), gone_on)
            case Arrive(key, releases):
                if releases:
                    self.graph.step(node, self._node(key))
                self._arrivals.append((node, key))
            case Seen(key, acquires):
                if acquires:
                    self.graph.step(self._node(key), gone_on)
                self._seen.append((node, key))
            case Ended(names, writes):
                for name in names:
                    self.graph.step(self._node(("end", name, False)), gone_on)
                    if writes:
                        self.graph.step(self._node(("end", name, True)), gone_on)

    def _add_copy(self, thread: Thread, copy: Copy, node: int) -> None:
        """Nothing leads to the end of a copy, so what its thread did before isn't part of what ends."""
        for place, writes in ((copy.source, False), (copy.target, True)):
            end = self._node(("end", copy.name, writes))
            self.uses.append(_Use(copy.line, thread, place, writes, end, [node], proxy=True))
            if copy.key is not None:
                self.graph.step(end, self._node(copy.key))

    def _add_product(self, thread: Thread, product: Product, node: int) -> None:
        if product.name not in self._products:
            end = self._node(("end", product.name, False))
            made = [_Use(product.line, thread, part, False, end, proxy=True) for part in product.parts]
            self._products[product.name] = made
            self.uses += made
        for use in self._products[product.name]:
            use.starts.append(node)

    def _add_fences(self) -> None:
        """Let a fence before a relaxed arrival release, and a fence after a relaxed wait acquire."""
        more = True
        while more:
            more = False
            after = self.graph.after()
            for fence in self._fences:
                for node, key in self._arrivals:
                    if after[fence] >> node & 1:
                        more |= self.graph.step(fence, self._node(key))
                for node, key in self._seen:
                    if after[node] >> fence & 1:
                        more |= self.graph.step(self._node(key), fence)


def judge(threads: Mapping[Thread, Sequence[Event]]) -> dict[Pair, Race]:
    """The pairs of lines of a block that race, each with one example."""
    relation = _Relation(threads)
    found: dict[Pair, Race] = {}
    for a, b in _conflicts(relation.uses):
        pair = min(a.line, b.line), max(a.line, b.line)
        if pair not in found and not relation.before(a, b) and not relation.before(b, a):
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
