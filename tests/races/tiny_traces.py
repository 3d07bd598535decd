"""Short names for the threads, places and operations of tiny traces, and the pairs that race in one."""

from __future__ import annotations

from tests.races.oracle import judge
from tests.races.trace import DEVICE, Access, Atomic, Bytes, Fence, Scope, Trace

A, B, C = (0, 0), (0, 1), (0, 2)  # threads of one warp
D = (1, 0)  # a thread of another block
E = (2, 0)
FULL = 0xFFFFFFFF
X = ("M", 0, 4)
Y = ("M", 64, 4)
COUNTER = ("M", 128, 4)
SECOND = ("M", 192, 4)
FENCE = Fence()


def read(line: int, where: Bytes = X, *, volatile: bool = False) -> Access:
    return Access(line, where, writes=False, volatile=volatile)


def write(line: int, where: Bytes = X, *, volatile: bool = False) -> Access:
    return Access(line, where, writes=True, volatile=volatile)


def atomic(line: int, where: Bytes = COUNTER, scope: Scope = DEVICE, **flags: bool) -> Atomic:
    return Atomic(line, where, scope, **flags)


def pairs(threads, effects=None) -> set[tuple[int, int]]:
    """The pairs that race; `effects` names the places of a location in the order in which they took effect."""
    return set(judge(Trace(threads, effects or {})))
