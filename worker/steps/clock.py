"""Times of a job's steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """Seconds per step."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, step: str) -> None:
        """End a step, and note the seconds since the last one ended."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._since, 4)
        self._since = now
