"""Gunicorn's worker with threads, but no thread for a request before all of it is here.

One loop reads all connections and never waits for one: a request that comes slowly, or never ends, costs a file
descriptor and no more. Headers, bodies, answers and closing each have a deadline.
"""

from __future__ import annotations

import errno
import socket
import time
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.util import close
from gunicorn.workers.gthread import ThreadWorker

from server.http.arrival import BodySizes
from server.http.bounded import BODY_SECONDS
from server.web.connections import Connection, Phase, PiecewiseSocket, WaitingConnections
from server.web.unreadable import HEAD_SECONDS, answer_to, answer_to_slow_head

LARGE_BODIES = 8
"""Larger ones than a request may usually be, in memory at once. Only a form with a file that is too large is."""

ACCEPT_PAUSE_SECONDS = 0.5
"""After an accept that failed for want of file descriptors or memory: at once it would only fail again."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_READ_BYTES = 2**16
_KEPT_BY_SYSTEM = 2**18  # of an answer: then a thread seldom waits for whoever reads it
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 0.25
_CROWDED = 0.8  # of all connections; above it, each ends after its answer, and makes room for another
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What connections may take, in each process.

    waiting, of_address: connections that no thread works for, of all and of one address; 0 for no limit per address
    open_of_address: all connections of one address, those in a thread too; 0 for no limit per address
    held: bytes of all requests that aren't whole yet; above it the largest is given up, and a usual one is small
    answer_seconds: for each piece of an answer
    """

    sizes: BodySizes = field(default_factory=BodySizes)
    waiting: int = 1_000
    of_address: int = 500
    open_of_address: int = 1_000
    held: int = 64 * 2**20
    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    answer_seconds: float = 20.0


class WebWorker(ThreadWorker):
    """The process that answers. Its bounds may be set until it begins to accept."""

    bounds = Bounds()
    _accept_from = 0.0

    def init_process(self) -> None:
        self._large: set[Connection] = set()
        self._open: Counter[str] = Counter()
        self._looked_at = 0.0
        super().init_process()

    def run(self) -> None:
        self._waiting = WaitingConnections(self.bounds.waiting, self.bounds.of_address)
        super().run()

    # -- in the loop ---------------------------------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        """Take one connection: what else waits may be for the processes beside this one."""
        try:
            accepted, client = listener.accept()
        except OSError as error:  # otherwise nobody is there any more
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
        """Begin or stop to accept; the loop asks again and again, so a pause ends by itself."""
        super().set_accept_enabled(bool(enabled) and time.monotonic() >= self._accept_from)

    def finish_request(self, conn: Any, fs: Future[bool]) -> None:
        connection: Connection = conn
        self._large.discard(connection)
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
            for connection in self._waiting.late(now):
                self._end_late(connection)

    def _cap_keepalive(self, deadline: float) -> None:
        """The process is told to stop: idle connections may send one more request until then."""
        for connection in self._waiting.all():
            if connection.phase is Phase.IDLE:
                connection.timeout = min(connection.timeout, deadline)

    def _has_room(self, connection: Connection) -> bool:
        """Whether its address may have one more connection; one that waits ends for it."""
        if not 0 < self.bounds.open_of_address < self._open[connection.address]:
            return True
        if surplus := self._waiting.first_to_end(connection.address):
            self._end(surplus)
        return surplus is not None

    def _wait(self, connection: Connection, phase: Phase, seconds: float) -> None:
        connection.wait(phase, seconds)
        self.poller.register(connection.sock, EVENT_READ, partial(self._read, connection))
        if surplus := self._waiting.add(connection):
            self._end(surplus)

    def _read(self, connection: Connection, _sock: object) -> None:
        if connection.sock.fileno() < 0:
            return  # it ended for another, while this was about to be told
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
            return  # it was the oldest of too many
        try:
            ready = whole()
        except StopIteration:
            self._end(connection)
        except (ParseException, NoMoreData) as error:
            self._refuse(connection, error)
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
        """Let go of what is here of a request, and say so where it is known for which address it was."""
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
        self.enqueue_req(connection)  # type: ignore[arg-type]

    def _refuse(self, connection: Connection, error: Exception) -> None:
        """Say what is wrong with what came; which address it was for is not known."""
        self.log.warning(
            "a request that cannot be read, from %s: %s", connection.address, type(error).__name__
        )
        self._say(connection, answer_to(error if isinstance(error, ParseException) else ParseException()))
        self._leave(connection)
        self._close_soon(connection)

    def _end_late(self, connection: Connection) -> None:
        match connection.phase:
            case Phase.IDLE | Phase.CLOSING:
                self._end(connection)
            case Phase.HEAD:
                self._say(connection, answer_to_slow_head())
                self._leave(connection)
                self._close_soon(connection)
            case Phase.BODY:
                connection.arrival.cut("slow")
                self._answer(connection)

    def _close_soon(self, connection: Connection) -> None:
        """Close once the other end has read the answer; closing at once would take it away (RFC 9112, 9.6)."""
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

    def _say(self, connection: Connection, text: bytes) -> None:
        with suppress(OSError):
            connection.sock.send(text)

    # -- in a thread ---------------------------------------------------------------------------------------------------

    def handle(self, conn: Any) -> bool:
        """Answer the request of a connection; returns whether another may follow."""
        connection: Connection = conn
        request = connection.arrival.request
        assert request is not None
        try:
            return bool(self.handle_request(request, conn))
        except (OSError, StopIteration) as error:
            # whoever asked is gone or reads too slowly, or the answer broke off and that is logged
            self.log.debug("an answer was not sent: %s", error)
        except Exception as error:  # noqa: BLE001 - gunicorn logs it, and answers
            connection.sock.settimeout(_CLOSE_SECONDS)
            self.handle_error(request, connection.sock, connection.client, error)
        return False
