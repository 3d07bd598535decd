"""Workers' records, which they report to Redis, and the orders that operators give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class WorkerState(StrEnum):
    """A worker's state. out: it stopped grading after too many system errors in a row."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    DRAINED = "drained"
    OUT = "out"
    STOPPING = "stopping"


class Wanted(StrEnum):
    """An order to a worker. test: run the self-test once, between other orders."""

    WORK = "work"
    DRAIN = "drain"
    TEST = "test"


SLOTS_OF_A_GPU = "a", "b", "c"
"""Their names end so. While one measures a kernel, another reports its last, and a third has the next one ready."""


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One of a worker's processes, which runs one step at a time.

    name: within the worker, such as "cpu-0" or "gpu-1a"
    job: the running step's job, or None
    since: start of the running step, in seconds since 1970
    busy_ms: GPU time for students' kernels since the start
    doubtful_in_row: the number of `failed_in_row` that the submissions may have caused
    """

    name: str
    queue: str
    device: str
    state: WorkerState
    job: int | None = None
    step: str = ""
    since: float = 0.0
    done: int = 0
    failed: int = 0
    failed_in_row: int = 0
    busy_ms: float = 0.0
    doubtful_in_row: int = 0


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker's report about itself, sent with every heartbeat.

    id: host, process and a random part; new at each start
    reason: why it is out; otherwise what an operator should know, such as missing isolation; may be ""
    device_classes: of its GPUs, each with the architecture to compile for
    beat: time of the heartbeat, by the clock of Redis, in seconds since 1970
    """

    id: str
    host: str
    pid: int
    state: WorkerState
    slots: tuple[SlotRecord, ...]
    started: float
    beat: float = 0.0
    reason: str = ""
    device_classes: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(slot.done for slot in self.slots)

    @property
    def failed(self) -> int:
        return sum(slot.failed for slot in self.slots)


class Fleet(Protocol):
    """Workers' records in Redis. Every method raises ConnectionError if Redis is away."""

    def tell(self, record: WorkerRecord) -> Wanted:
        """Write a worker's record, and return its order."""

    def leave(self, worker: str) -> None:
        """Remove a worker's record."""

    def workers(self) -> Sequence[WorkerRecord]:
        """All workers that reported in the last hour and did not leave."""

    def want(self, worker: str, wanted: Wanted) -> None:
        """Give a worker an order, which it gets at its next heartbeat. A worker gets `test` at most once an hour."""

    def now(self) -> float:
        """The clock of Redis, in seconds since 1970."""
