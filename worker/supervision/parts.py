"""Supervised parts, their events and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from worker.supervision.pulse import Pulse

STEADY_SECONDS = 20.0
"""After a part has run for this long, the pauses before restarts begin again with the shortest."""


@dataclass(frozen=True, slots=True)
class Part:
    """A process to keep running.

    command: worker.supervision.process.TELL in it becomes the number of a descriptor for lines to `told`
    environment: the whole environment; None to inherit ours
    descriptors: additional file descriptors to inherit
    after: parts that must be ready before this one starts, and that end only after it
    ready: polled ten times a second from the start until true; None if a running part is ready
    critical: exit codes that end everything, because restarting can't correct a wrong setting. They count until the
        part is ready, or without `ready` within STEADY_SECONDS of its first start.
    stop_seconds: time to end on request; then it is killed
    told: gets each line that the part reports, in the main thread; an empty line is only a heartbeat
    pulse: gets these lines as heartbeats; a part that hangs is killed and restarted
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
    """Events of a part. ended: on request; killed: it didn't end on request."""

    STARTED = "started"
    READY = "ready"
    DIED = "died"
    ENDED = "ended"
    KILLED = "killed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a part.

    code: the exit code, or a signal's negative number
    pause: seconds until the restart
    last: the last line of its output
    silent_seconds: its silence, if it was killed for that
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
    """Why everything ended by itself: a part's critical exit code, and its last line."""

    part: str
    code: int
    last: str
