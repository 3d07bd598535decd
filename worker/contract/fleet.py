"""What a worker tells of itself, and what it can be told to do. Both lie in Redis, where whoever may see it can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class WorkerState(StrEnum):
    """What a worker is at. out: it took itself out after too many faults in a row."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    DRAINED = "drained"
    OUT = "out"
    STOPPING = "stopping"


class Wanted(StrEnum):
    """What an operator wants of a worker."""

    WORK = "work"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One of the processes of a worker, which has one step at a time.

    name: within the worker, such as "cpu-0" or "gpu-1"
    job: of the step in work; None where there is none
    since: when that began, in seconds since 1970
    busy_ms: how long its GPU was at work for students' kernels, since the start
    doubtful_in_row: how many of those that failed in a row may have come of what was handed in
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
    """All that a worker tells of itself, with every beat.

    id: host, process and a random part: new at each start
    reason: for its state, where there is one to tell, such as the last fault
    device_classes: of its GPUs, each with the architecture to compile for
    beat: when it was written, by the clock of Redis, in seconds since 1970
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
    """The workers' board in Redis. Each raises ConnectionError where Redis is away."""

    def tell(self, record: WorkerRecord) -> Wanted:
        """Write a worker's record; says what is wanted of it."""

    def leave(self, worker: str) -> None:
        """Take a worker off the board."""

    def workers(self) -> Sequence[WorkerRecord]:
        """All that told of themselves in the last hour, and did not leave."""

    def want(self, worker: str, wanted: Wanted) -> None:
        """Tell a worker what to do, at its next beat."""

    def now(self) -> float:
        """The clock of Redis, in seconds since 1970."""
