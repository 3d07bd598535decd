"""How long a supervised process has been silent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from worker.supervision.heartbeat import SILENT_SECONDS

LISTEN_SECONDS = 1.0
START_SECONDS = 120.0
"""Before the first beat: a busy machine loads slowly."""


@dataclass(slots=True)
class Pulse:
    """Adds up the silence of one process; `begin` starts over with a new one.

    Each look adds at most twice LISTEN_SECONDS. A pause of the listener, a suspended machine and a changed clock
    therefore never look like a process that hangs.

    most_seconds: of silence after the first beat
    beside: another pulse of the same process, which hangs where either is silent
    """

    most_seconds: float = SILENT_SECONDS
    most_start_seconds: float = START_SECONDS
    beside: Pulse | None = None
    silent_seconds: float = 0.0
    _beaten: bool = False
    _began: bool = False
    _looked: float = -math.inf

    def begin(self, now: float) -> None:
        """A new process has started."""
        self.silent_seconds, self._beaten, self._began, self._looked = 0.0, False, False, now
        if self.beside is not None:
            self.beside.begin(now)

    def beat(self) -> None:
        """The process gave a sign of life. From any thread."""
        self._beaten = True

    def hangs(self, now: float) -> bool:
        """Whether the process has been silent for too long."""
        if now - self._looked >= LISTEN_SECONDS:
            self._listen(now)
        if self.beside is not None and self.beside.hangs(now):
            self.silent_seconds = max(self.silent_seconds, self.beside.silent_seconds)
            return True
        return self.silent_seconds >= (self.most_seconds if self._began else self.most_start_seconds)

    def _listen(self, now: float) -> None:
        passed, self._looked = min(now - self._looked, 2 * LISTEN_SECONDS), now
        if self._beaten:
            self._began, self.silent_seconds, self._beaten = True, 0.0, False
        else:
            self.silent_seconds += passed
