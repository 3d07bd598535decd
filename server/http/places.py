"""Places for requests that are answered at a time, shared out fairly among those who ask.

Each asker has few places and few requests that wait, however many are sent. When a place comes free, those who wait get
it by turns, so that a crowd of requests of one waits behind itself.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks. places: at a time; waiting: requests beside these, before one is refused."""

    name: Hashable
    places: int
    waiting: int


class Outcome(Enum):
    """What becomes of a request that asks for a place."""

    TAKEN = "taken"
    BUSY = "busy"
    TOO_MANY = "too_many"
    LEFT = "left"


@dataclass(eq=False, slots=True)
class _Waiting:
    asker: Asker
    called: threading.Event = field(default_factory=threading.Event)


class Places:
    """So many places; what is taken has to be given back."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()
        self._queues: OrderedDict[Hashable, deque[_Waiting]] = OrderedDict()

    def take(self, asker: Asker, seconds: float, left: Callable[[], bool]) -> Outcome:
        """Wait for a place. left: whether whoever asked is gone; then nobody needs the place."""
        with self._lock:
            if self._may(asker) and asker.name not in self._queues:
                self._give(asker)
                return Outcome.TAKEN
            queue = self._queues.setdefault(asker.name, deque())
            if len(queue) >= asker.waiting:
                return Outcome.TOO_MANY
            waiting = _Waiting(asker)
            queue.append(waiting)
        return self._wait(waiting, time.monotonic() + seconds, left)

    def give_back(self, asker: Asker) -> None:
        """The place is free for the next."""
        with self._lock:
            self._free += 1
            self._held[asker.name] -= 1
            if self._held[asker.name] <= 0:
                del self._held[asker.name]
            self._call()

    def _wait(self, waiting: _Waiting, until: float, left: Callable[[], bool]) -> Outcome:
        while not waiting.called.wait(min(_LOOK_SECONDS, max(0.0, until - time.monotonic()))):
            gone = left()
            if gone or time.monotonic() >= until:
                with self._lock:
                    if not waiting.called.is_set():
                        self._forget(waiting)
                        return Outcome.LEFT if gone else Outcome.BUSY
        return Outcome.TAKEN

    def _may(self, asker: Asker) -> bool:
        return self._free > 0 and self._held[asker.name] < asker.places

    def _give(self, asker: Asker) -> None:
        self._free -= 1
        self._held[asker.name] += 1

    def _call(self) -> None:
        """Give what is free to those who wait, the asker first who was last given one the longest ago."""
        for name in list(self._queues):
            if not self._free:
                return
            waiting = self._queues[name][0]
            if self._may(waiting.asker):
                self._give(waiting.asker)
                self._forget(waiting)
                waiting.called.set()
                if name in self._queues:
                    self._queues.move_to_end(name)

    def _forget(self, waiting: _Waiting) -> None:
        queue = self._queues[waiting.asker.name]
        queue.remove(waiting)
        if not queue:
            del self._queues[waiting.asker.name]
