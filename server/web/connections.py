"""Connections without a thread: idle, receiving, sending, about to close, or held back.

If an address has too many, the oldest idle one ends first, then headers in progress, then bodies. So many silent
connections of an address stop neither its complete requests nor its uploads.

A client that asks faster than it gets answers holds few threads. Its further requests are held back, which costs
nothing, and follow one by one.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable
from datetime import datetime
from enum import Enum
from typing import Any

from gunicorn.config import Config

from server.http.arrival import Arrival, BodySizes
from server.network import network_of

_PIECE_BYTES = 2**16
_NEW_SECONDS = 0.5  # an idle connection's first request may be on its way


class PiecewiseSocket(socket.socket):
    """A connection's socket. Its timeout bounds each 64 KiB of an answer instead of the whole answer.

    whole_at: when the whole current request was here
    begins: called when its answer begins, which may then take long, as a stream does
    """

    whole_at: datetime | None = None
    begins: Callable[[], None] | None = None

    @classmethod
    def taking_over(cls, accepted: socket.socket) -> PiecewiseSocket:
        """A socket that takes over the accepted one, which must not be used after that."""
        return cls(accepted.family, accepted.type, accepted.proto, accepted.detach())

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        rest = memoryview(data).cast("B")
        for start in range(0, len(rest), _PIECE_BYTES):
            super().sendall(rest[start : start + _PIECE_BYTES], flags)


class Phase(Enum):
    """What a connection waits for: a request, the rest of its headers or body, or its own end."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"
    CLOSING = "closing"


class Connection:
    """A client's connection.

    held: bytes of an unfinished request, as last counted
    asker: the client whose thread its request holds; None if it holds none, or its answer has begun
    since: when its phase began; timeout: the phase's limit. Both by the monotonic clock
    """

    def __init__(
        self, cfg: Config, sock: PiecewiseSocket, client: tuple[str, int], server: object, sizes: BodySizes
    ) -> None:
        self.sock, self.client, self.server = sock, client, server
        self.address = network_of(client[0]) if client else ""
        self.arrival = Arrival(cfg, client, sizes)
        self.held = 0
        self.asker: Hashable | None = None
        self.phase = Phase.IDLE
        self.since = self.timeout = 0.0

    def wait(self, phase: Phase, seconds: float) -> None:
        self.phase, self.since = phase, time.monotonic()
        self.timeout = self.since + seconds

    def worth(self, new_since: float) -> int:
        """Rank for eviction; lower ends first. A recently idle connection counts as sending headers."""
        match self.phase:
            case Phase.BODY:
                return 2
            case Phase.HEAD:
                return 1
            case Phase.IDLE:
                return int(self.since > new_since)
            case Phase.CLOSING:
                return 0


class WaitingConnections:
    """Waiting connections, ordered by age for each address. held: bytes of their unfinished requests."""

    def __init__(self, most: int, most_of_address: int) -> None:
        """most_of_address: 0 if all come through a trusted proxy, so that addresses don't distinguish clients."""
        self._most, self._most_of_address = most, most_of_address or most
        self._by_address: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._count = 0
        self.held = 0

    def __len__(self) -> int:
        return self._count

    def count_held(self, connection: Connection) -> None:
        self.held += connection.arrival.held - connection.held
        connection.held = connection.arrival.held

    def largest(self) -> Connection:
        return max(self.all(), key=lambda each: each.held)

    def add(self, connection: Connection) -> Connection | None:
        """Add a connection. Returns the connection that must end to make room, if any."""
        own = self._by_address[connection.address]
        own[connection] = None
        self._count += 1
        if len(own) > self._most_of_address:
            return self.first_to_end(connection.address, but=connection)
        if self._count > self._most:
            most = max(self._by_address, key=lambda address: len(self._by_address[address]))
            return self.first_to_end(most, but=connection) or connection
        return None

    def first_to_end(self, address: str, but: Connection | None = None) -> Connection | None:
        """The first connection to end at this address, except a new one, if there are too many."""
        new_since = time.monotonic() - _NEW_SECONDS
        others = (each for each in self._by_address.get(address, ()) if each is not but)
        return min(others, key=lambda each: each.worth(new_since), default=None)

    def remove(self, connection: Connection) -> None:
        self.held -= connection.held
        connection.held = 0
        own = self._by_address[connection.address]
        if own.pop(connection, connection) is None:
            self._count -= 1
        if not own:
            del self._by_address[connection.address]

    def all(self) -> list[Connection]:
        return [connection for own in self._by_address.values() for connection in own]

    def late(self, now: float) -> list[Connection]:
        return [connection for connection in self.all() if connection.timeout <= now]


class HeldBack:
    """Complete requests of clients that hold as many threads as they may. Each client's are in order.

    most: threads of one client
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._threads: Counter[Hashable] = Counter()
        self._queues: defaultdict[Hashable, deque[Connection]] = defaultdict(deque)

    def enter(self, connection: Connection, asker: Hashable) -> bool:
        """Whether the request gets a thread. Otherwise it is held back."""
        if self._threads[asker] >= self._most:
            connection.timeout = time.monotonic() + self._seconds
            self._queues[asker].append(connection)
            return False
        self._threads[asker] += 1
        connection.asker = asker
        return True

    def leave(self, connection: Connection) -> Connection | None:
        """Free the thread of a request, if it still holds one. Returns the client's next request, which gets it."""
        asker, connection.asker = connection.asker, None
        if asker is None:
            return None
        if asker in self._queues:
            following = self._pop(asker)
            following.asker = asker
            return following
        self._threads[asker] -= 1
        if not self._threads[asker]:
            del self._threads[asker]
        return None

    def late(self, now: float) -> list[Connection]:
        """Take out the requests that have waited too long."""
        late = []
        for asker in list(self._queues):
            while asker in self._queues and self._queues[asker][0].timeout <= now:
                late.append(self._pop(asker))
        return late

    def _pop(self, asker: Hashable) -> Connection:
        queue = self._queues[asker]
        first = queue.popleft()
        if not queue:
            del self._queues[asker]
        return first
