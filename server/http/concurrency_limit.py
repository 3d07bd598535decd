"""Request slots, shared fairly between clients.

Each client has few slots and a limited queue. A free slot goes to the waiting client that got one the longest ago.
So a burst of requests delays only its own sender. A client that used much of the processor waits longer while others
ask.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import select
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from flask import Flask, Response, current_app, request
from gunicorn.http.errors import ParseException

from server.bounded_work import TooCostly, bounded_seconds
from server.http.arrival import READS, BodySizes, MissingBody
from server.http.problems import NOT_TAKEN, RETRY_SECONDS, Problem, Refused, busy, once_more
from server.network import network_of

if TYPE_CHECKING:
    import socket
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


_REST = 7.0
"""Seconds of rest for each second of processor time: while others ask, a client gets an eighth of a core."""

_REST_OF_ADDRESS = 3.0
"""The same for everyone who isn't signed in at one address: a quarter of a core."""

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
    rest: seconds of rest for each second of processor time
    """

    name: Hashable
    slots: int
    waiting: int
    rest: float = _REST


class Outcome(Enum):
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
            if len(self._queues.get(asker.name, ())) >= asker.waiting:
                return Outcome.TOO_MANY
            waiting = _Waiting(asker)
            self._queues.setdefault(asker.name, deque()).append(waiting)
        until = time.monotonic() + seconds
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

    def held_by(self, asker: Asker) -> int:
        with self._lock:
            return self._held[asker.name]

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


READ_SLOTS = 8
WRITE_SLOTS = 4
WAIT_SECONDS = 20.0
MOST_SECONDS = 5.0
"""Of processor time for one answer. Text that others wrote has less, see server.bounded_work."""

BODY_SECONDS = 20.0
"""For a whole body, counted from the end of the head."""

OF_PERSON = 2
"""Slots of one person, and of all clients at one address that aren't signed in."""

LONG_BODIES = 4
"""Bodies that are written part by part, for everyone. Each client has one at a time, however slowly it reads."""

OF_PERSON_WAITING, OF_ADDRESS_WAITING = 16, 100
"""Waiting requests in addition: a whole class may sign in behind one address."""

LOOKUPS = 2
"""Simultaneous look-ups of credentials; at most one for each address."""

SMALL_FORM = 32 * 2**10
"""In bytes: enough for each form of an account."""

TOO_MANY = Problem(
    429, "too_many_at_once", "Too many requests at once",
    "Nothing was done. Wait for the answers to your earlier requests, then send this one again.",
)  # fmt: skip

_SMALL_FORMS = {"accounts", "enrolment", "lti", "lti_choice", "lti_platforms", "lti_registration", "sign_on"}
NEEDS_NO_SLOT = frozenset({"/healthz", "/readyz"})
"""They query nothing, or one at a time."""

_ARRIVED, _BEGAN, _ASKER, _KEY = "tilelab.arrived", "tilelab.began", "tilelab.asker", "tilelab.bounds"
_SESSION = re.compile(r"(?:^|;\s*)(?:__Host-)?tilelab=([^;]+)")
_MOST_KNOWN = 8_192
_LOOKUP_SECONDS = 2.0


class ClientLeft(Exception):
    """The client closed the connection, so no one reads the answer."""


class ConcurrencyLimit:
    """The application behind a limit of simultaneous requests; more requests wait for a while.

    A request holds its slot until the answer begins, so a running stream holds none. A body that takes long to write
    holds one of other slots; see `long_body`.
    """

    def __init__(
        self,
        app: WSGIApplication,
        sizes: BodySizes,
        owner: Callable[[str], int | None],
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Wrap the application, which refuses oversized requests itself.

        owner: the person's ID for a cookie or an Authorization header; None if unknown
        """
        self._app, self._sizes, self._wait_seconds = app, sizes, wait_seconds
        self.people = KnownPeople(owner)
        self._turned_away = threading.Lock()
        self.reads, self.writes = RequestSlots(READ_SLOTS), RequestSlots(WRITE_SLOTS)
        self.bodies = RequestSlots(LONG_BODIES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") in NEEDS_NO_SLOT:
            return self._app(environ, start_response)
        if why := self._read(environ):
            return self._turn_away(environ, start_response, why)
        reads = environ["REQUEST_METHOD"] in READS
        slots = self.reads if reads else self.writes
        asker = self._asker(environ, reads=reads)
        # a writing request is done even if the client left: it was sent
        left = partial(client_left, environ) if reads else _never
        outcome = slots.take(asker, self._wait_seconds, left)
        if outcome is Outcome.LEFT:
            start_response("499 Client Left", [("Content-Length", "0")])
            return ()
        if outcome is not Outcome.TAKEN:
            return self._turn_away(environ, start_response, outcome.value)
        environ[_ASKER] = asker
        environ[_BEGAN] = began = _processor_seconds()
        try:
            return self._app(environ, start_response)
        finally:
            slots.give_back(asker, _processor_seconds() - began)
            if on_begin := getattr(environ.get("gunicorn.socket"), "on_begin", None):
                on_begin()

    def _read(self, environ: WSGIEnvironment) -> str:
        """Read the body. Returns why it couldn't be read; "" if it is complete or too large."""
        given, length = environ["wsgi.input"], _length(environ)
        body, why = b"", ""
        if isinstance(given, MissingBody):
            why = given.why
            too_large = not why
        elif too_large := length is not None and length > self._sizes.large:
            pass
        else:
            body, whole = _content(given, self._sizes.usual + 1 if length is None else length)
            why = "" if whole and len(body) == (len(body) if length is None else length) else "broken"
            too_large = length is None and len(body) > self._sizes.usual
        environ["wsgi.input"] = BytesIO(body)
        if length is None:
            # from here on the length is known; an oversized body gets more than the largest limit
            environ["CONTENT_LENGTH"] = str(self._sizes.large + 1 if too_large else len(body))
            environ.pop("HTTP_TRANSFER_ENCODING", None)
        whole_at = getattr(environ.get("gunicorn.socket"), "whole_at", None)
        environ[_ARRIVED] = whole_at or datetime.now(UTC)
        return why

    def _asker(self, environ: WSGIEnvironment, *, reads: bool) -> Asker:
        address = network_of(environ.get("REMOTE_ADDR", ""))
        credential = credential_of(environ.get("HTTP_COOKIE", ""), environ.get("HTTP_AUTHORIZATION", ""))
        person = self.people.find(credential, address)
        if person is not None:
            return Asker(("person", person), OF_PERSON, OF_PERSON_WAITING)
        # A whole class may open the sign-in page at once behind one address, and checking a password takes long.
        return Asker(("address", address), OF_PERSON, OF_ADDRESS_WAITING, rest=_REST_OF_ADDRESS if reads else 0.0)

    def _turn_away(self, environ: WSGIEnvironment, start_response: StartResponse, why: str) -> Iterable[bytes]:
        """Let the application refuse the request. It does so first, before any query, and thus needs no slot.

        One at a time: refusing a crowd takes no more of the processor than one request.
        """
        environ[NOT_TAKEN] = why
        with self._turned_away:
            return self._app(environ, start_response)


class KnownPeople:
    """A short-lived cache of the people behind cookies and tokens.

    A look-up is one short read outside the slots, so signed-in people never queue behind strangers at their address.
    It
    only chooses the slots: the application authenticates again.
    """

    def __init__(self, owner: Callable[[str], int | None]) -> None:
        self._owner = owner
        self._lookups = RequestSlots(LOOKUPS)
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def find(self, credential: str, address: str) -> int | None:
        """The person's ID; None for an unknown credential, or if the look-up takes too long."""
        if not credential:
            return None
        person = self.known(credential)
        return self._look_up(credential, address) if person is None else person

    def known(self, credential: str) -> int | None:
        """The person's ID if it was found before. Never waits."""
        hashed = _digest(credential)
        with self._lock:
            person = self._known.get(hashed)
            if person is not None:
                self._known.move_to_end(hashed)
            return person

    def _look_up(self, credential: str, address: str) -> int | None:
        asker = Asker(address, 1, OF_ADDRESS_WAITING)
        if self._lookups.take(asker, _LOOKUP_SECONDS, _never) is not Outcome.TAKEN:
            return None
        try:
            person = self._owner(credential)
        finally:
            self._lookups.give_back(asker)
        if person is not None:
            with self._lock:
                self._known[_digest(credential)] = person
                if len(self._known) > _MOST_KNOWN:
                    self._known.popitem(last=False)
        return person


def attach_concurrency_limit(app: Flask, sizes: BodySizes, owner: Callable[[str], int | None]) -> None:
    """Limit simultaneous requests, before any other part sees a request. owner: see ConcurrencyLimit."""
    app.before_request(_refuse_what_was_not_taken)
    app.before_request(_keep_small_forms_small)
    app.register_error_handler(ClientLeft, lambda _error: Response(status=499))
    app.extensions[_KEY] = app.wsgi_app = ConcurrencyLimit(app.wsgi_app, sizes, owner)  # type: ignore[method-assign]


def pace_clients(app: Flask) -> None:
    """Make clients that use much of the processor wait while others ask; see RequestSlots. Off in most tests."""
    limit = limit_of(app)
    limit.reads.paced = limit.writes.paced = limit.bodies.paced = True


def limit_of(app: Flask) -> ConcurrencyLimit:
    found: ConcurrencyLimit = app.extensions[_KEY]
    return found


def long_body(parts: Iterable[str | bytes]) -> LongBody:
    """A body that is written while it is read, in a slot until it is closed; raises Refused if there is none."""
    asker: Asker = request.environ[_ASKER]
    slots = limit_of(current_app).bodies
    if slots.take(replace(asker, slots=1, waiting=0), 0.0, _never) is Outcome.TAKEN:
        return LongBody(parts, slots, asker)
    raise too_many() if slots.held_by(asker) else busy()


class LongBody:
    """The parts of a body. It holds its slot up to its last part, or until the server closes it: the client left."""

    def __init__(self, parts: Iterable[str | bytes], slots: RequestSlots, asker: Asker) -> None:
        self._parts, self._slots, self._asker = iter(parts), slots, asker
        self._seconds, self._open = 0.0, True

    def __iter__(self) -> Iterator[str | bytes]:
        return self

    def __next__(self) -> str | bytes:
        began = time.thread_time()
        try:
            return next(self._parts)
        except StopIteration:
            self.close()
            raise
        finally:
            self._seconds += time.thread_time() - began

    def close(self) -> None:
        if self._open:
            self._open = False
            self._slots.give_back(self._asker, self._seconds)


def arrived() -> datetime:
    """When the current request was complete, before it waited for a slot."""
    found: datetime = request.environ.get(_ARRIVED) or datetime.now(UTC)
    return found


def check_slow_work() -> None:
    """Call this now and then in slow work.

    raise (ClientLeft): no one reads the answer
    raise (TooCostly): it took too much processor time
    """
    if client_left(request.environ):
        raise ClientLeft
    if _processor_seconds() - request.environ.get(_BEGAN, float("inf")) > MOST_SECONDS:
        raise TooCostly


def client_left(environ: WSGIEnvironment) -> bool:
    """Whether the client closed the connection; False if unknown."""
    connection: socket.socket | None = environ.get("gunicorn.socket")
    return connection is not None and has_left(connection)


def has_left(connection: socket.socket) -> bool:
    """Whether the other side closed the connection; False if this side did."""
    if connection.fileno() < 0:
        return False
    ended = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
    poll = select.poll()
    poll.register(connection, ended)
    return any(event & ended for _, event in poll.poll(0))


def _processor_seconds() -> float:
    """Processor time of this thread, and of the bounded work that it asked for."""
    return time.thread_time() + bounded_seconds()


def _never() -> bool:
    return False


def _content(given: object, most: int) -> tuple[bytes, bool]:
    """At most `most` bytes, and whether reading succeeded."""
    if not most:
        return b"", True
    try:
        return given.read(most), True  # type: ignore[attr-defined]
    except (OSError, ParseException):
        return b"", False


def _length(environ: WSGIEnvironment) -> int | None:
    """The Content-Length; None for a chunked body, whose length shows at its end."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    told = environ.get("CONTENT_LENGTH") or "0"
    return int(told) if told.isdecimal() else 0


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "replace")).digest()


def credential_of(cookie: str, authorization: str) -> str:
    """The credential in these headers of a request; "" for none."""
    found = _SESSION.search(cookie)
    return found[1] if found else authorization


def _keep_small_forms_small() -> None:
    """Refuse an oversized form by its length, before its fields are read."""
    if request.blueprint in _SMALL_FORMS:
        request.max_content_length = SMALL_FORM


def too_many() -> Refused:
    retry = {"Retry-After": str(RETRY_SECONDS)}
    return Refused(TOO_MANY.status, TOO_MANY.code, TOO_MANY.title, TOO_MANY.detail, retry, once_more())


def _refuse_what_was_not_taken() -> None:
    match request.environ.get(NOT_TAKEN):
        case "busy":
            raise busy()
        case "too_many":
            raise too_many()
        case "slow":
            raise Refused(
                408, "too_slow", "The request came too slowly",
                f"Nothing was done. The whole request must arrive within {BODY_SECONDS:g} seconds. Send it again.", {},
                "Nothing was stored: your request took too long to arrive. Go back, and send it again when your "
                "connection is better.",
            )  # fmt: skip
        case "broken":
            raise Refused(
                400, "bad_request", "The request cannot be read", "Its body is incomplete or isn't valid HTTP.",
                {}, "Nothing was stored: only a part of your request arrived. Go back, and send it again.",
            )  # fmt: skip
