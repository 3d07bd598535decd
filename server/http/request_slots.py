"""Request slots, shared fairly between clients.

Each client has few slots and a limited queue. A free slot goes to the waiting client that got one the longest ago.
So a burst of requests delays only its own sender. A client that used much of the processor waits longer while others
ask.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum

_REST_AHEAD = 1.0
"""Seconds of rest that a client may owe before its next request waits: about ten pages."""

_MOST_CHARGED = 0.5
"""The most seconds of processor time that one answer is charged with: staff's largest pages take much."""

_OVERHEAD = 0.005
"""Seconds that each answer is charged with besides its own work: for the connection and the database."""

_OTHERS_SECONDS = 2.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Asker:
    """A client: a signed-in person, or an address.

    slots: how many it may use at once
    waiting: how many further requests may wait
    rest: seconds of rest for each second of processor time. While others ask, 7 leaves it an eighth of a core
    """

    name: Hashable
    slots: int
    waiting: int
    rest: float = 7.0


class Outcome(Enum):
    """The outcome of a request for a slot."""

    TAKEN = "taken"
    BUSY = "busy"
    TOO_MANY = "too_many"
    LEFT = "left"


@dataclass(slots=True)
class _Past:
    """A client's history. seen: its last request or answer; rests_until: when it owes no more rest."""

    seen: float = 0.0
    rests_until: float = 0.0


@dataclass(eq=False, slots=True)
class _Waiting:
    asker: Asker
    called: threading.Event = field(default_factory=threading.Event)


class RequestSlots:
    """A number of slots; each taken slot must be given back.

    paced: whether clients rest
    """

    def __init__(self, most: int) -> None:
        self.paced = False
        self._free = most
        self._past: OrderedDict[Hashable, _Past] = OrderedDict()
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()
        self._queues: OrderedDict[Hashable, deque[_Waiting]] = OrderedDict()

    def take(self, asker: Asker, seconds: float, left: Callable[[], bool]) -> Outcome:
        """Wait for a slot. left: whether the client has gone, so that the wait can end."""
        with self._lock:
            self._see(asker)
            if self._may(asker) and asker.name not in self._queues:
                self._give(asker)
                return Outcome.TAKEN
            queue = self._queues.setdefault(asker.name, deque())
            if len(queue) >= asker.waiting:
                return Outcome.TOO_MANY
            waiting = _Waiting(asker)
            queue.append(waiting)
        return self._wait(waiting, time.monotonic() + seconds, left)

    def give_back(self, asker: Asker, seconds: float = 0.0) -> None:
        """Free the slot. seconds: processor time that the answer used."""
        with self._lock:
            self._free += 1
            past = self._see(asker)
            past.rests_until = max(past.rests_until, past.seen) + asker.rest * min(seconds + _OVERHEAD, _MOST_CHARGED)
            self._held[asker.name] -= 1
            if self._held[asker.name] <= 0:
                del self._held[asker.name]
            self._call()

    def _wait(self, waiting: _Waiting, until: float, left: Callable[[], bool]) -> Outcome:
        while not waiting.called.wait(self._pause(waiting.asker, until)):
            with self._lock:
                self._call()
            gone = left()
            if gone or time.monotonic() >= until:
                with self._lock:
                    if not waiting.called.is_set():
                        self._forget(waiting)
                        return Outcome.LEFT if gone else Outcome.BUSY
        return Outcome.TAKEN

    def _pause(self, asker: Asker, until: float) -> float:
        """How long to wait for a call before looking again."""
        with self._lock:
            rest = self._owed(asker) - _REST_AHEAD
        now = time.monotonic()
        return max(0.0, min(_LOOK_SECONDS, until - now, rest if rest > 0 else _LOOK_SECONDS))

    def _see(self, asker: Asker) -> _Past:
        past = self._past.setdefault(asker.name, _Past())
        past.seen = now = time.monotonic()
        self._past.move_to_end(asker.name)
        while (oldest := next(iter(self._past.values()))).seen < now - _OTHERS_SECONDS > oldest.rests_until:
            self._past.popitem(last=False)
        return past

    def _owed(self, asker: Asker) -> float:
        """Seconds of rest that the client owes; 0 if no other client asks."""
        past = self._past.get(asker.name)
        if not self.paced or past is None:
            return 0.0
        now = time.monotonic()
        newest = itertools.islice(reversed(self._past.items()), 2)
        others = any(each.seen > now - _OTHERS_SECONDS for name, each in newest if name != asker.name)
        return max(0.0, past.rests_until - now) if others else 0.0

    def _may(self, asker: Asker) -> bool:
        """Whether the client may take a slot. A client that owes rest gets one at a time, or none if it owes too
        much.
        """
        owed = self._owed(asker)
        most = asker.slots if not owed else int(owed <= _REST_AHEAD)
        return self._free > 0 and self._held[asker.name] < most

    def _give(self, asker: Asker) -> None:
        self._free -= 1
        self._held[asker.name] += 1

    def _call(self) -> None:
        """Give free slots to waiting clients, first to the client that got one the longest ago."""
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
