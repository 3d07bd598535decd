"""A gunicorn worker with threads that uses no thread for a request until all of it has arrived.

One loop reads all connections and never blocks. A slow or endless request costs only a file descriptor. Headers,
bodies, answers and closing each have a deadline. A client with many requests at once gets few threads: the loop holds
the others back.
"""

from __future__ import annotations

import errno
import math
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from selectors import EVENT_READ
from typing import Any

from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.util import close
from gunicorn.workers.gthread import ThreadWorker

from server.http.arrival import BodySizes
from server.http.concurrency_limit import BODY_SECONDS, NEEDS_NO_SLOT, WAIT_SECONDS, credential_of, has_left
from server.web.access_log import AccessLog
from server.web.connections import Connection, HeldBack, Phase, PiecewiseSocket, WaitingConnections
from server.web.early_answers import HEAD_SECONDS, answer_to, answer_to_held_back, answer_to_slow_head

LARGE_BODIES = 8
"""How many larger bodies may be in memory at once. Only an oversized file in a form needs one."""

ACCEPT_PAUSE_SECONDS = 0.5
"""After an accept that failed for lack of file descriptors or memory: at once it would fail again."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_READ_BYTES = 2**16
_KEPT_BY_SYSTEM = 2**18  # bytes of an answer that the system buffers, so that threads seldom wait for slow readers
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 0.25
_REFUSED_AT_ONCE = 50
_CROWDED = 0.8  # share of all connections; above it, each connection ends after its answer
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of connections, in each process.

    waiting, of_address: connections without a thread, of all and of one address; 0 for no limit per address
    open_of_address: all connections of one address, with those in a thread; 0 for no limit per address
    held: bytes of all incomplete requests; above it, the largest request is refused
    threads_of_client: of requests that read, until their answers begin; more requests are held back
    held_back, held_back_seconds: how many of all clients, and for how long; then they are refused
    answer_seconds: for each piece of an answer
    """

    sizes: BodySizes = field(default_factory=BodySizes)
    waiting: int = 1_000
    of_address: int = 500
    open_of_address: int = 1_000
    held: int = 64 * 2**20
    threads_of_client: int = 8
    held_back: int = 1_000
    held_back_seconds: float = WAIT_SECONDS
    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    answer_seconds: float = 20.0

    @property
    def behind_proxy(self) -> bool:
        """Whether all connections come from a trusted proxy, so that addresses don't distinguish clients."""
        return not self.of_address


class WebWorker(ThreadWorker):
    """The process that answers requests. Its limits may be set before it accepts connections.

    person_of: the ID of the person with this credential; None if there is none, or if that isn't known yet
    access_log: None for no lines
    """

    bounds = Bounds()
    person_of: Callable[[str], int | None] = staticmethod(lambda _credential: None)
    access_log: AccessLog | None = None
    _accept_from = 0.0

    def init_process(self) -> None:
        self._large: set[Connection] = set()
        self._open: Counter[str] = Counter()
        self._looked_at = 0.0
        super().init_process()

    def run(self) -> None:
        self._waiting = WaitingConnections(self.bounds.waiting, self.bounds.of_address)
        bounds = self.bounds
        self._held_back = HeldBack(bounds.held_back, bounds.threads_of_client, bounds.held_back_seconds)
        super().run()

    # -- in the loop ---------------------------------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        """Accept one connection: other processes may take the rest."""
        try:
            accepted, client = listener.accept()
        except OSError as error:  # the client has gone
            if error.errno in _EXHAUSTED:
                self._accept_from = time.monotonic() + ACCEPT_PAUSE_SECONDS
                self.set_accept_enabled(False)
            return
        sock = PiecewiseSocket.taking_over(accepted)
        sock.setblocking(False)
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KEPT_BY_SYSTEM)
        connection = Connection(self.cfg, sock, client, listener.getsockname(), self.bounds.sizes)
        self.nr_conns += 1
        self._open[connection.address] += 1
        if not self._has_room(connection):
            self._close(connection)
            return
        self._wait(connection, Phase.IDLE, self.bounds.head_seconds)

    def set_accept_enabled(self, enabled: bool | None) -> None:
        """Start or stop accepting. The loop asks repeatedly, so a pause ends by itself."""
        super().set_accept_enabled(bool(enabled) and time.monotonic() >= self._accept_from)

    def finish_request(self, conn: Any, fs: Future[bool]) -> None:
        connection: Connection = conn
        self._large.discard(connection)
        self._begun(connection)
        if connection.sock.fileno() < 0:
            self._close(connection)
            return
        connection.sock.setblocking(False)
        if fs.cancelled() or fs.exception() or not fs.result():
            self._close_soon(connection)
            return
        self._wait(connection, Phase.IDLE, self.cfg.keepalive)
        self._go_on(connection, connection.arrival.next)

    def murder_keepalived(self, force: bool = False) -> None:
        now = time.monotonic()
        if force:
            for connection in self._waiting.all():
                self._end(connection)
        elif now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            # A stop doesn't wait for them.
            for connection in islice(self._held_back.late(now if self.alive else math.inf), _REFUSED_AT_ONCE):
                self._refuse(connection)
            for connection in self._waiting.late(now):
                match connection.phase:
                    case Phase.IDLE | Phase.CLOSING:
                        self._end(connection)
                    case Phase.HEAD:
                        self._refuse_at_once(connection, answer_to_slow_head())
                        self._leave(connection)
                        self._close_soon(connection)
                    case Phase.BODY:
                        connection.arrival.cut("slow")
                        self._answer(connection)

    def _cap_keepalive(self, deadline: float) -> None:
        """After a stop signal, idle connections may send one more request until the deadline."""
        for connection in self._waiting.all():
            if connection.phase is Phase.IDLE:
                connection.timeout = min(connection.timeout, deadline)

    def _has_room(self, connection: Connection) -> bool:
        """Whether the address may open one more connection; another of its connections may end for it."""
        address = connection.address
        if not 0 < self.bounds.open_of_address < self._open[address]:
            return True
        if surplus := self._waiting.unused(address):
            self._end(surplus)
        elif surplus := self._held_back.last_of(address):
            self._refuse(surplus)
        elif surplus := self._waiting.first_to_end(address):
            self._end(surplus)
        return surplus is not None

    def _wait(self, connection: Connection, phase: Phase, seconds: float) -> None:
        connection.wait(phase, seconds)
        self.poller.register(connection.sock, EVENT_READ, partial(self._read, connection))
        if surplus := self._waiting.add(connection):
            self._end(surplus)

    def _read(self, connection: Connection, _sock: object) -> None:
        if connection.sock.fileno() < 0:
            return  # it ended to make room for another
        try:
            data = connection.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._end(connection)
            return
        if data and connection.phase is not Phase.CLOSING:
            self._go_on(connection, partial(connection.arrival.add, data))
        elif connection.phase is Phase.BODY:
            connection.arrival.cut("broken")
            self._answer(connection)
        elif not data:
            self._end(connection)

    def _go_on(self, connection: Connection, whole: Any) -> None:
        if connection.sock.fileno() < 0:
            return  # it ended as the oldest of too many
        try:
            ready = whole()
        except StopIteration:
            self._end(connection)
        except (ParseException, NoMoreData) as error:
            # Answer a request that can't be read, whose address is unknown.
            self.log.warning("an unreadable request from %s: %s", connection.address, type(error).__name__)
            self._refuse_at_once(
                connection, answer_to(error if isinstance(error, ParseException) else ParseException())
            )
            self._leave(connection)
            self._close_soon(connection)
        else:
            if ready:
                self._answer(connection)
            else:
                self._wait_for_rest(connection)

    def _wait_for_rest(self, connection: Connection) -> None:
        self._waiting.count_held(connection)
        while self._waiting.held > self.bounds.held:
            largest = self._waiting.largest()
            self._give_up(largest)
            if largest is connection:
                return
        arrival = connection.arrival
        if arrival.request is not None and connection.phase is not Phase.BODY:
            connection.wait(Phase.BODY, self.bounds.body_seconds)
            if arrival.large and len(self._large) >= LARGE_BODIES:
                self._give_up(connection)
                return
            if arrival.large:
                self._large.add(connection)
            if arrival.waits_for_leave:
                self._say(connection, _CONTINUE)
        elif arrival.begun and connection.phase is Phase.IDLE:
            connection.wait(Phase.HEAD, self.bounds.head_seconds)

    def _give_up(self, connection: Connection) -> None:
        """Drop an incomplete request, and answer it if its address is known."""
        if connection.arrival.request is None:
            self._end(connection)
            return
        connection.arrival.cut("busy")
        self._answer(connection)

    def _answer(self, connection: Connection) -> None:
        self._leave(connection)
        connection.sock.whole_at = datetime.now(UTC)
        connection.sock.settimeout(self.bounds.answer_seconds)
        if self.nr_conns > _CROWDED * self.worker_connections and connection.arrival.request:
            connection.arrival.request.force_close()
        client = self._client(connection) if connection.arrival.only_reads else None
        if client is None:
            self.enqueue_req(connection)  # type: ignore[arg-type]
        elif self._held_back.enter(connection, client):
            self._answer_in_thread(connection)
        elif surplus := self._held_back.surplus():
            self._refuse(surplus)

    def _client(self, connection: Connection) -> Hashable | None:
        """A name for the client that sent a request; None if the request is never held back.

        A credential that isn't known may be made up, so it counts for its address.
        """
        request = connection.arrival.request
        assert request is not None
        if request.path in NEEDS_NO_SLOT:
            return None
        headers = dict(request.headers)
        credential = credential_of(headers.get("COOKIE", ""), headers.get("AUTHORIZATION", ""))
        person = self.person_of(credential)
        if person is not None:
            return person
        return None if self.bounds.behind_proxy else (connection.address, credential != "")

    def _answer_in_thread(self, connection: Connection) -> None:
        connection.sock.on_begin = partial(self.method_queue.defer, self._begun, connection)
        self.enqueue_req(connection)  # type: ignore[arg-type]

    def _begun(self, connection: Connection) -> None:
        """Let the client's next request follow, because this one's answer has begun or ended."""
        connection.sock.on_begin = None
        following = self._held_back.leave(connection)
        while following is not None and has_left(following.sock):
            left, following = following, self._held_back.leave(following)
            self._close(left)
        if following is not None:
            self._answer_in_thread(following)

    def _refuse(self, connection: Connection) -> None:
        """Answer a request that was held back."""
        connection.sock.setblocking(False)
        self._refuse_at_once(connection, answer_to_held_back())
        self._close_soon(connection)

    def _close_soon(self, connection: Connection) -> None:
        """Close once the client has read the answer; closing at once could destroy it (RFC 9112, 9.6)."""
        try:
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        self._wait(connection, Phase.CLOSING, _CLOSE_SECONDS)

    def _end(self, connection: Connection) -> None:
        self._leave(connection)
        self._large.discard(connection)
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        self.nr_conns -= 1
        self._open[connection.address] -= 1
        if not self._open[connection.address]:
            del self._open[connection.address]
        close(connection.sock)

    def _leave(self, connection: Connection) -> None:
        self._waiting.remove(connection)
        self.poller.unregister(connection.sock)

    def _refuse_at_once(self, connection: Connection, text: bytes) -> None:
        self._say(connection, text)
        if self.access_log is not None:
            self.access_log.refused(text)

    def _say(self, connection: Connection, text: bytes) -> None:
        with suppress(OSError):
            connection.sock.send(text)

    # -- in a thread ---------------------------------------------------------------------------------------------------

    def handle(self, conn: Any) -> bool:
        """Answer a connection's request; returns whether another may follow."""
        connection: Connection = conn
        request = connection.arrival.request
        assert request is not None
        try:
            with nullcontext() if self.access_log is None else self.access_log.begun():
                return bool(self.handle_request(request, conn))
        except (OSError, StopIteration) as error:
            # the client has gone or reads too slowly, or the answer failed and that is logged
            self.log.debug("an answer was not sent: %s", error)
        except Exception as error:  # noqa: BLE001 - gunicorn logs it, and answers
            connection.sock.settimeout(_CLOSE_SECONDS)
            self.handle_error(request, connection.sock, connection.client, error)
        return False
