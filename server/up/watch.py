"""HTTP requests to the portal on this machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from server.up.embedded_redis import EmbeddedRedis
from server.up.machine import BROKER, WEB, WORKER
from worker.contract.broker import connect_redis
from worker.contract.fleet import WorkerRecord, WorkerState
from worker.contract.redis_fleet import RedisFleet
from worker.supervision.parts import Event, What
from worker.supervision.pulse import LISTEN_SECONDS, Pulse


class NoAnswer(RuntimeError):
    """The portal did not answer, or its answer can't be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. body: a JSON object."""

    status: int
    body: Mapping[str, Any]


def ask(
    url: str,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    seconds: float = 10.0,
) -> Answer:
    """Send one request, without a proxy because the portal is on this machine. Raises NoAnswer."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=seconds)
    sent = None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, sent, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        found = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(f"{method} {path}: {type(error).__name__}") from error
    finally:
        connection.close()
    if not isinstance(found, dict):
        raise NoAnswer(f"{method} {path}: not a JSON object")
    return Answer(response.status, found)


_PAUSE_SECONDS = 0.3
_ASK_SECONDS = 2.0
_PROBE_SECONDS = 10.0
"""Timeout for the web server's answer. On a busy machine a page may take seconds."""

_MOST_SILENT_BROKER = 15.0
"""Shorter than for other parts. They wait for Redis, and must not seem to hang if Redis hangs."""

_READY = frozenset({WorkerState.IDLE, WorkerState.BUSY})


class Watch:
    """The state of the parts. Call `see` with their events, and `ready` at any time.

    pulses: of parts that are probed
    """

    def __init__(self, url: str, redis_url: str, redis: EmbeddedRedis | None = None) -> None:
        self._url = url
        self._probes: dict[str, Callable[[], bool]] = {WEB: self._web_answers}
        self.pulses: Mapping[str, Pulse] = {WEB: Pulse()}
        if redis is not None:
            self._probes[BROKER] = redis.alive
            self.pulses = {**self.pulses, BROKER: Pulse(_MOST_SILENT_BROKER)}
        self._fleet = RedisFleet(connect_redis(redis_url, answer_seconds=_ASK_SECONDS))
        self._looks: dict[str, Callable[[int], bool]] = {WEB: self._web, WORKER: self._worker}
        self._pids: dict[str, int] = {}
        self._ready: dict[str, int] = {}
        self._reported: dict[str, int] = {}
        self._over = threading.Event()
        self.worker_record: WorkerRecord | None = None

    def see(self, event: Event) -> None:
        """Take a part's event. A part that starts isn't ready until the next probe."""
        if event.what is What.STARTED:
            self._pids[event.part] = event.pid
        elif event.what is What.READY:
            self._reported[event.part] = event.pid
        else:
            self._pids.pop(event.part, None)

    def ready(self, part: str) -> bool:
        """Whether the part's current process is ready."""
        pid = self._pids.get(part)
        return pid is not None and self._ready.get(part) == pid

    def wait(self, part: str) -> bool:
        """Wait until the part has reported that it is ready. False if everything ends before."""
        while not self._over.wait(_PAUSE_SECONDS):
            pid = self._pids.get(part)
            if pid is not None and self._reported.get(part) == pid:
                return True
        return False

    def pause(self, seconds: float) -> bool:
        """Wait some seconds. False if everything ends meanwhile."""
        return not self._over.wait(seconds)

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._look, name="watch", daemon=True)]
        threads += [
            threading.Thread(target=self._probe, args=(part,), name=f"probe {part}", daemon=True)
            for part in self._probes
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.end()
            threads[0].join(2 * _ASK_SECONDS)

    def end(self) -> None:
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(_PAUSE_SECONDS):
            for part, look in self._looks.items():
                pid = self._pids.get(part)
                if pid is not None and self._ready.get(part) != pid and look(pid):
                    self._ready[part] = pid

    def _probe(self, part: str) -> None:
        answers, pulse = self._probes[part], self.pulses[part]
        while not self._over.wait(LISTEN_SECONDS):
            if answers():
                pulse.beat()

    def _web_answers(self) -> bool:
        """Whether the web server answers at all, even if it refuses connections or requests."""
        try:
            ask(self._url, "GET", "/healthz", seconds=_PROBE_SECONDS)
        except NoAnswer as error:
            return not isinstance(error.__cause__, TimeoutError)
        return True

    def _web(self, _pid: int) -> bool:
        """Whether the portal is ready. A full disk doesn't count, because pages report it."""
        try:
            answer = ask(self._url, "GET", "/readyz", seconds=_ASK_SECONDS)
        except NoAnswer:
            return False
        return answer.status == 200 or answer.body.get("code") == "disk_full"

    def _worker(self, pid: int) -> bool:
        try:
            records = self._fleet.workers()
        except ConnectionError:
            return False
        here = (socket.gethostname(), pid)  # a broker may serve other machines too
        mine = [record for record in records if (record.host, record.pid) == here and record.state in _READY]
        if not mine:
            return False
        self.worker_record = mine[0]
        return True
