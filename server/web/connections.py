"""Connections without a thread: waiting (idle, receiving, sending, or about to close) or held back.

If an address has too many that wait, the oldest idle one ends first, then headers in progress, then bodies. So many
silent connections of an address stop neither its complete requests nor its uploads.

A client that asks faster than it gets answers holds few threads. Its further requests are held back without one, and
follow one by one.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
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
    on_begin: called when its answer begins, which may then take long, as a stream does
    """

    whole_at: datetime | None = None
    on_begin: Callable[[], None] | None = None

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
    thread_of: the client whose thread its request holds; None if it holds none, or its answer has begun
    since: when its phase began; timeout: the phase's limit. Both by the monotonic clock
    """

    def __init__(
        self, cfg: Config, sock: PiecewiseSocket, client: tuple[str, int], server: object, sizes: BodySizes
    ) -> None:
        self.sock, self.client, self.server = sock, client, server
        self.address = network_of(client[0]) if client else ""
        self.arrival = Arrival(cfg, client, sizes)
        self.held = 0
        self.thread_of: Hashable | None = None
        self.phase = Phase.IDLE
        self.since = self.timeout = 0.0

    def wait(self, phase: Phase, seconds: float) -> None:
        self.phase, self.since = phase, time.monotonic()
        self.timeout = self.since + seconds

    def worth(self) -> int:
        """Rank for eviction; lower ends first. A recently idle connection counts as sending headers."""
        match self.phase:
            case Phase.BODY:
                return 2
            case Phase.HEAD:
                return 1
            case Phase.IDLE:
                return int(self.since > time.monotonic() - _NEW_SECONDS)
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
        others = (each for each in self._by_address.get(address, ()) if each is not but)
        return min(others, key=Connection.worth, default=None)

    def unused(self, address: str) -> Connection | None:
        """The oldest connection at this address that nobody will miss."""
        return next((each for each in self._by_address.get(address, ()) if not each.worth()), None)

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

    most: of all clients
    threads: of one client, until the answers begin
    seconds: how long a request is held back
    """

    def __init__(self, most: int, threads: int, seconds: float) -> None:
        self._most, self._most_threads, self._seconds = most, threads, seconds
        self._threads: Counter[Hashable] = Counter()
        self._queues: defaultdict[Hashable, deque[Connection]] = defaultdict(deque)
        self._count = 0

    def enter(self, connection: Connection, client: Hashable) -> bool:
        """Whether the request gets a thread. Otherwise it is held back."""
        if self._threads[client] >= self._most_threads:
            connection.timeout = time.monotonic() + self._seconds
            self._queues[client].append(connection)
            self._count += 1
            return False
        self._threads[client] += 1
        connection.thread_of = client
        return True

    def leave(self, connection: Connection) -> Connection | None:
        """Free the thread of a request, if it still holds one. Returns the client's next request, which gets it."""
        client, connection.thread_of = connection.thread_of, None
        if client is None:
            return None
        if client in self._queues:
            following = self._take(client, 0)
            following.thread_of = client
            return following
        self._threads[client] -= 1
        if not self._threads[client]:
            del self._threads[client]
        return None

    def late(self, now: float) -> Iterator[Connection]:
        """Take out the requests that have waited too long."""
        for client in list(self._queues):
            while client in self._queues and self._queues[client][0].timeout <= now:
                yield self._take(client, 0)

    def surplus(self) -> Connection | None:
        """Take out the last request of the client with the most, if all clients together have too many."""
        if self._count <= self._most:
            return None
        return self._take(max(self._queues, key=lambda client: len(self._queues[client])), -1)

    def last_of(self, address: str) -> Connection | None:
        """Take out the last request of the client with the most at this address."""
        clients = [client for client, queue in self._queues.items() if queue[-1].address == address]
        if not clients:
            return None
        return self._take(max(clients, key=lambda client: len(self._queues[client])), -1)

    def _take(self, client: Hashable, place: int) -> Connection:
        queue = self._queues[client]
        taken = queue[place]
        del queue[place]
        self._count -= 1
        if not queue:
            del self._queues[client]
        return taken
