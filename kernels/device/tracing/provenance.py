"""Where values come from: elements of global memory, products of them, and sums of products.

A tracing run attaches one of these tags to the value in a register or a memory cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernels.launch import Launch

Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Element:
    """The 4-byte element number `index` of a variable in global memory."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Factor:
    """The value of an element, read from a cell of shared memory or directly from global memory.

    element: None for another value: a padding zero, or a computed value
    cell: "" if it comes directly from global memory
    fetch: the number of the fetch that filled the cell, -1 without a fetch
    negative: whether its sign has changed since
    """

    element: Element | None
    cell: str = ""
    fetch: int = -1
    negative: bool = False

    @property
    def is_padding(self) -> bool:
        """Whether it is a zero that a thread stored into the cell."""
        return self.element is None and self.fetch >= 0


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A summand that a thread of a block adds: a product, or a single value.

    interval: barriers that the block has passed
    negative: whether it is subtracted
    """

    number: int
    block: Coordinates
    thread: Coordinates
    interval: int
    line: int | None
    factors: tuple[Factor, ...]
    negative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The sums in `parents` plus one optional term."""

    parents: tuple[Sum, ...]
    term: Term | None


@dataclass(frozen=True, slots=True)
class Packed:
    """Several values packed into one register."""

    pieces: tuple[Factor | Term | Sum | None, ...]


@dataclass(frozen=True, slots=True)
class TracedFetch:
    """A thread stores an element of global memory, or a zero (`element` None), into a cell of shared memory."""

    number: int
    block: Coordinates
    thread: Coordinates
    interval: int
    line: int | None
    element: Element | None
    array: str
    cell: str


@dataclass(frozen=True, slots=True)
class TracedSum:
    """The terms of one accumulator. `target` is the element in which it is stored, if any."""

    target: Element | None
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that a small run did.

    arrays: extents of the shared arrays that were filled
    note: why the trace is incomplete; "" if it is complete
    """

    launch: Launch
    fetches: tuple[TracedFetch, ...] = ()
    sums: tuple[TracedSum, ...] = ()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    note: str = ""


Single = Factor | Term | Sum
Tag = Single | Packed


class Sums:
    """Builds sums, and finally lists which terms each element consists of.

    make: returns a new term of the given factors
    """

    def __init__(self, make: Callable[[tuple[Factor, ...]], Term]) -> None:
        self._make = make
        self._made: list[Sum] = []
        self._stored: list[tuple[Element, Sum]] = []

    def of(self, tag: Tag | None) -> Sum | None:
        """Return the value as a sum; None if it is unknown, or a zero."""
        if tag is None or isinstance(tag, Sum):
            return tag
        if isinstance(tag, Packed) or (isinstance(tag, Factor) and tag.is_padding):
            return None
        return self._new((), self._make((tag,)) if isinstance(tag, Factor) else tag)

    def added(self, *tags: Tag | None) -> Sum | None:
        terms = [tag for tag in tags if isinstance(tag, Term)]
        term = terms[0] if len(terms) == 1 else None
        sums = [self.of(tag) for tag in tags if term is None or tag is not term]
        parents = tuple(each for each in sums if each is not None)
        if term is None and len(parents) < 2:
            return parents[0] if parents else None
        return self._new(parents, term)

    def subtracted(self, one: Tag | None, two: Tag | None) -> Sum | None:
        """Return `one - two`. The sign of a whole sum that is subtracted isn't followed."""
        return self.added(one, self.negated(two))

    @staticmethod
    def negated(tag: Tag | None) -> Tag | None:
        """Return the value with the opposite sign, if it can be followed."""
        return replace(tag, negative=not tag.negative) if isinstance(tag, Factor | Term) else tag

    def multiplied(self, one: Tag | None, two: Tag | None) -> Single | None:
        """Return the product. With an unknown factor, or a sum as a factor, the value counts as scaled."""
        known = [tag for tag in (one, two) if isinstance(tag, Single)]
        if len(known) == 2 and isinstance(known[0], Factor) and isinstance(known[1], Factor):
            return self._make((known[0], known[1]))
        return next((tag for tag in known if not isinstance(tag, Factor)), known[0] if known else None)

    def fused(self, one: Tag | None, two: Tag | None, rest: Tag | None) -> Sum | None:
        """`one * two + rest`."""
        return self.added(self.multiplied(one, two), rest)

    def store(self, element: Element, value: Sum) -> None:
        """Note that a sum is stored into an element of global memory."""
        self._stored.append((element, value))

    def _new(self, parents: tuple[Sum, ...], term: Term | None) -> Sum:
        self._made.append(Sum(parents, term))
        return self._made[-1]

    def accumulators(self) -> Iterator[TracedSum]:
        """Yield each element that got a sum, with its terms. Then yield the sums that were stored nowhere."""
        seen: set[int] = set()
        for element, last in reversed(self._stored):
            if terms := _terms(last, seen):
                yield TracedSum(element, terms)
        for last in reversed(self._made):
            if terms := _terms(last, seen):
                yield TracedSum(None, terms)


def _terms(last: Sum, seen: set[int]) -> tuple[Term, ...]:
    """Return the terms of a sum, without the parts in `seen`."""
    found: dict[int, Term] = {}
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting.extend(node.parents)
        if node.term is not None:
            found[node.term.number] = node.term
    return tuple(found[number] for number in sorted(found))
