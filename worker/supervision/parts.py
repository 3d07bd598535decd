"""What is kept alive, and what can happen to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from worker.supervision.pulse import Pulse

STEADY_SECONDS = 20.0
"""A part that lived so long is well: when it dies, the pauses before its starts begin with the shortest again."""


@dataclass(frozen=True, slots=True)
class Part:
    """A process to keep alive.

    command: where a word of it has worker.supervision.process.TELL, the number of a descriptor for lines to `told`
    environment: all of it; None for ours
    descriptors: that it inherits beside its own
    after: the parts that have to be ready before this one starts, and that end only after it
    ready: looked at ten times a second from its start until it holds; None where a part is ready as soon as it runs
    critical: exit codes that end everything when they come before the part was ready, or, without `ready`, within
        STEADY_SECONDS of its first start: a setting that is wrong does not become right by itself
    stop_seconds: how long it may take to end when asked to, before it is killed
    told: takes each line that the part tells, in the main thread; an empty line is a beat and nothing else
    pulse: hears each line that the part tells, and whatever else beats it; a part that hangs is killed and starts again
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    descriptors: tuple[int, ...] = ()
    folder: Path | None = None
    after: tuple[str, ...] = ()
    ready: Callable[[], bool] | None = None
    critical: frozenset[int] = frozenset()
    stop_seconds: float = 10.0
    told: Callable[[str], None] | None = None
    pulse: Pulse | None = None


class What(StrEnum):
    """What can happen to a part. ended: it was asked to; killed: it was asked to, and did not."""

    STARTED = "started"
    READY = "ready"
    DIED = "died"
    ENDED = "ended"
    KILLED = "killed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a part.

    code: the exit code, or a signal's number below zero
    pause: seconds until it starts anew
    last: the last line it wrote
    silent_seconds: without a beat, where the part was killed for that
    """

    part: str
    what: What
    pid: int = 0
    code: int | None = None
    pause: float = 0.0
    last: str = ""
    silent_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why everything ended by itself: a part's exit code that is critical, and its last line."""

    part: str
    code: int
    last: str
