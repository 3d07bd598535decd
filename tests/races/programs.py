"""Small programs: statements that are written as CUDA C++ (`text.py`) and followed thread by thread (`following.py`).

Expressions are strings that mean the same in C++ and in Python. They may name `t` (thread), `b` (block), `g` (thread of
the grid), the variables of loops around them, and variables that an atomic or an observed load has set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tests.races.trace import DEVICE, Scope

WARP = 32

Style = Literal["plain", "generic", "ptx", "volatile"]
Order = Literal["relaxed", "acquire", "release", "acq_rel"]
AtomicKind = Literal["add", "swap", "load", "store"]


@dataclass(frozen=True, slots=True)
class Array:
    """An array in shared memory, or in the buffer M where `offset` is not None."""

    name: str
    size: int
    offset: int | None = None

    @property
    def shared(self) -> bool:
        return self.offset is None


@dataclass(slots=True, eq=False)
class Access:
    """A load or store of `width` bytes at `index`, which counts in `width` bytes.

    style: ordinary C++ (also through a generic pointer), PTX, or volatile C++
    value: what is stored; without it any number, or "token": a number that nothing else stores
    observed: the variable that a load sets; its value is known after the run
    """

    array: Array
    index: str
    width: int
    writes: bool
    style: Style = "plain"
    value: str = ""
    observed: str = ""
    line: int = 0


@dataclass(slots=True, eq=False)
class Atomic:
    """`atomicAdd(..., 1)`, `atomicExch` or an atomic store of a token, or an atomic load.

    observed: the variable for the value that it found, or empty
    value: for a store or an exchange, what it sets instead of the token
    """

    array: Array
    index: str
    width: int = 4
    does: AtomicKind = "add"
    scope: Scope = DEVICE
    order: Order = "relaxed"
    observed: str = ""
    value: str = ""
    line: int = 0

    @property
    def sets(self) -> bool:
        """Whether it leaves a value whatever was there, and uses nothing that it finds. See `text.py`."""
        return self.does == "store" or (self.does == "swap" and not self.looks)

    @property
    def looks(self) -> bool:
        """Whether it uses what it finds. See `text.py`."""
        dropped = self.does in {"add", "swap"} and self.order == "relaxed" and not self.observed
        return self.does != "store" and not dropped


@dataclass(slots=True, eq=False)
class Fence:
    """A fence; `spelling` picks one of the ways to write it."""

    scope: Scope = DEVICE
    spelling: int = 0


@dataclass(slots=True, eq=False)
class BlockBarrier:
    """A barrier for the block; `spelling` picks one of the ways to write it."""

    spelling: int = 0


@dataclass(slots=True, eq=False)
class WarpBarrier:
    """`__syncwarp(mask)`."""

    mask: str = "0xffffffff"


@dataclass(slots=True, eq=False)
class Shuffle:
    """Exchange registers, which orders no memory."""

    mask: str = "0xffffffff"
    spelling: int = 0


@dataclass(slots=True, eq=False)
class NamedBarrier:
    """`bar.sync number, count` or `bar.arrive number, count`."""

    number: int
    count: int
    waits: bool = True


@dataclass(slots=True, eq=False)
class PhaseStart:
    """Set up a `cuda::barrier`, in the program's first lines."""

    name: str
    count: int


@dataclass(slots=True, eq=False)
class Arrival:
    """Arrive at a `cuda::barrier`."""

    name: str


@dataclass(slots=True, eq=False)
class PhaseWait:
    """Wait for the next phase of a `cuda::barrier` that this thread has not waited for."""

    name: str


@dataclass(slots=True, eq=False)
class Copy:
    """`cp.async` of `width` bytes; both indices count in `width` bytes."""

    array: Array
    index: str
    source: Array
    source_index: str
    width: int
    line: int = 0


@dataclass(slots=True, eq=False)
class CopyCommit:
    """`cp.async.commit_group`."""


@dataclass(slots=True, eq=False)
class CopyWait:
    """`cp.async.wait_group left`, or `cp.async.wait_all` where `left` is None."""

    left: int | None = 0


@dataclass(slots=True, eq=False)
class If:
    """A branch; a barrier inside needs a condition that all its threads share."""

    condition: str
    body: list[Statement]
    other: list[Statement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Loop:
    """`for (variable = 0; variable < count; ++variable)`."""

    variable: str
    count: int
    body: list[Statement]
    rolled: bool = False


@dataclass(slots=True, eq=False)
class Return:
    """End the thread."""


Statement = (
    Access
    | Atomic
    | Fence
    | BlockBarrier
    | WarpBarrier
    | Shuffle
    | NamedBarrier
    | Arrival
    | PhaseWait
    | Copy
    | CopyCommit
    | CopyWait
    | If
    | Loop
    | Return
)


@dataclass(slots=True)
class Program:
    """One kernel with its launch; `setup` gives shared arrays a value."""

    blocks: int
    threads: int
    arrays: list[Array]
    setup: list[Statement]
    rest: list[Statement]
    phases: list[PhaseStart] = field(default_factory=list)

    @property
    def body(self) -> list[Statement]:
        return [*self.setup, *self.rest]

    @property
    def total(self) -> int:
        return self.blocks * self.threads

    @property
    def bytes_in_m(self) -> int:
        return max((each.offset + each.size for each in self.arrays if each.offset is not None), default=64)


def reports(statement: Statement) -> bool:
    """Whether the statement has a row of P: it is an atomic, or its value must be known or unique."""
    match statement:
        case Atomic():
            return True
        case Access(observed=observed, value=value):
            return bool(observed) or value == "token"
    return False


def rows(body: list[Statement]) -> int:
    """The most rows of P that a thread can need for these statements."""
    most = 0
    for statement in body:
        match statement:
            case If(_, then, other):
                most += rows(then) + rows(other)
            case Loop(_, times, inner):
                most += times * rows(inner)
            case _:
                most += reports(statement)
    return most


def bodies(body: list[Statement]) -> Iterator[list[Statement]]:
    """The list and every list of statements inside it."""
    yield body
    for statement in body:
        if isinstance(statement, If):
            yield from bodies(statement.body)
            yield from bodies(statement.other)
        elif isinstance(statement, Loop):
            yield from bodies(statement.body)


def statements(body: list[Statement]) -> Iterator[Statement]:
    """Every statement, also inside others."""
    for each in bodies(body):
        yield from each
