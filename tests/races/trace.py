"""The trace that the oracle judges: what each thread of a launch did, one operation after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

BLOCK: Final = "block"
DEVICE: Final = "device"

Thread = tuple[int, int]  # block, number within the block
Scope = Literal["block", "device"]
Bytes = tuple[str, int, int]  # memory object, first byte, number of bytes
Place = tuple[Thread, int]  # a thread and the index of one of its operations


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store, plain or volatile. Shared arrays of different blocks are different memory objects."""

    line: int
    bytes: Bytes
    writes: bool
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class Atomic:
    """An atomic function (reads and writes), or a `cuda::atomic` load or store.

    acquires, releases: whether it carries a fence of its own, after it or before it
    sets: the value that it leaves whatever was there, and whatever it found is not used; None for another atomic
    looks: whether what it found is used
    """

    line: int
    bytes: Bytes
    scope: Scope = DEVICE
    reads: bool = True
    writes: bool = True
    acquires: bool = False
    releases: bool = False
    sets: int | None = None
    looks: bool = True


@dataclass(frozen=True, slots=True)
class Fence:
    """`__threadfence_block()`, or one that orders threads of the whole device."""

    scope: Scope = DEVICE


@dataclass(frozen=True, slots=True)
class BlockBarrier:
    """Wait for every thread of the block; `use` numbers the barriers of a block in order."""

    use: int


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """`bar.sync number, count`, or `bar.arrive` where the thread does not wait; `use` tells uses of a number apart."""

    number: int
    use: int
    waits: bool = True


@dataclass(frozen=True, slots=True)
class WarpBarrier:
    """`__syncwarp(mask)`; `use` tells the meetings of the same lanes apart."""

    mask: int
    use: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrive at a `cuda::barrier`."""

    barrier: str
    phase: int


@dataclass(frozen=True, slots=True)
class PhaseSeen:
    """See a phase of a `cuda::barrier` complete."""

    barrier: str
    phase: int


@dataclass(frozen=True, slots=True)
class Copy:
    """`cp.async`: read `source` now, write `bytes` until the thread waits for `name`."""

    line: int
    bytes: Bytes
    source: Bytes
    name: int


@dataclass(frozen=True, slots=True)
class CopyWait:
    """Wait for the thread's own copies of these names."""

    names: frozenset[int]


@dataclass(frozen=True, slots=True)
class ClusterArrival:
    """Arrive at the barrier of the only cluster; `use` numbers its phases. releases: or only fences before it do."""

    use: int
    releases: bool = True


@dataclass(frozen=True, slots=True)
class ClusterWait:
    """Wait for a phase of the cluster's barrier."""

    use: int


Operation = (
    Access
    | Atomic
    | Fence
    | BlockBarrier
    | NamedBarrier
    | WarpBarrier
    | Arrival
    | PhaseSeen
    | Copy
    | CopyWait
    | ClusterArrival
    | ClusterWait
)


@dataclass(frozen=True, slots=True)
class Trace:
    """What each thread did until it returned.

    effects: for each location that atomics use, its atomics and the stores that touch it, as they took effect
    certain: whether what threads found at these locations proves that order
    """

    threads: Mapping[Thread, Sequence[Operation]]
    effects: Mapping[Bytes, Sequence[Place]] = field(default_factory=dict)
    certain: bool = True
