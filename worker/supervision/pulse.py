from __future__ import annotations

import math
from dataclasses import dataclass

from worker.supervision.heartbeat import SILENT_SECONDS

LISTEN_SECONDS = 1.0
START_SECONDS = 120.0
"""Allowed silence before the first heartbeat, because a busy machine starts slowly."""


@dataclass(slots=True)
class Pulse:
    """Adds up the silence of one process. `begin` starts over with a new process.

    Each look adds at most twice LISTEN_SECONDS. A paused listener, a suspended machine or a changed clock therefore
    never looks like a hanging process.

    most_seconds: allowed silence after the first heartbeat
    other: another pulse of the same process; the process hangs if either is silent
    """

    most_seconds: float = SILENT_SECONDS
    most_start_seconds: float = START_SECONDS
    other: Pulse | None = None
    silent_seconds: float = 0.0
    _beaten: bool = False
    _began: bool = False
    _looked: float = -math.inf

    def begin(self, now: float) -> None:
        """Start over, because a new process has started."""
        self.silent_seconds, self._beaten, self._began, self._looked = 0.0, False, False, now
        if self.other is not None:
            self.other.begin(now)

    def beat(self) -> None:
        """Record a heartbeat. Any thread may call it."""
        self._beaten = True

    def hangs(self, now: float) -> bool:
        """Whether the process has been silent for too long."""
        if now - self._looked >= LISTEN_SECONDS:
            passed, self._looked = min(now - self._looked, 2 * LISTEN_SECONDS), now
            if self._beaten:
                self._began, self.silent_seconds, self._beaten = True, 0.0, False
            else:
                self.silent_seconds += passed
        if self.other is not None and self.other.hangs(now):
            self.silent_seconds = max(self.silent_seconds, self.other.silent_seconds)
            return True
        return self.silent_seconds >= (self.most_seconds if self._began else self.most_start_seconds)
