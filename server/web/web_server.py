"""The web server's process: gunicorn around the application, on a socket bound here.

A failure to bind becomes one line. And `tilelab up` can pass a socket that stays open while this process restarts, so
that no client is refused.
"""

from __future__ import annotations

import errno
import resource
import socket
import sys
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlunsplit

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from server.bounded_work import prepare_bounded_work
from server.http.concurrency_limit import limit_of, pace_clients
from server.settings import Settings
from server.submissions.progress.hub import MOST_STREAMS
from server.submissions.progress.streams import hub_of
from server.web.access_log import AccessLog, access_logger
from server.web.early_answers import LONGEST_LINE
from server.web.web_worker import Bounds, WebWorker
from worker.supervision.children import die_with
from worker.supervision.heartbeat import prepare, tell_beat

THREADS = MOST_STREAMS + 232
"""In each process: one for each event stream, and enough for all other requests; see server.http.concurrency_limit."""

_CONNECTIONS = THREADS + Bounds().waiting + Bounds().held_back + 100
_FILES = 65_536
_BACKLOG = 1024
_GRACE_SECONDS = 8
_SWITCH_SECONDS = 0.0005
"""How long a computing thread keeps the interpreter: pages query the database often, and each query waits."""

_SILENCE_SECONDS = 60


class CannotListen(RuntimeError):
    """The server can't listen on this address; the text says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this address; port 0 takes a free port. Raises CannotListen."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host!r} is not an address of this machine. Choose another with --host.") from error
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise CannotListen(_why(error, host, port)) from error
    return bound


def url_of(bound: socket.socket) -> str:
    """The server's address for a browser on this machine."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return urlunsplit(("http", place, "", "", ""))


def serve(settings: Settings, bound: socket.socket, processes: int, tell: int | None = None) -> None:
    """Answer requests until SIGTERM or SIGINT; finishes running requests first.

    tell: descriptor of a supervisor's pipe for the main process's heartbeats
    """
    # Raise the limit of open files: each connection is one, and a usual shell allows 1,024.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if tell is not None:
        prepare(tell)
    _Gunicorn(settings, bound, processes, tell).run()


def prepare_to_answer(app: Flask) -> None:
    """Set up a process that answers many requests at once."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    pace_clients(app)
    prepare_bounded_work("server.submissions.result.report", "server.courses.handouts")


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use by another program. Choose another with --port."
    if error.errno == errno.EACCES:
        return f"port {port} is reserved for root. Choose another from 1024 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Choose another with --host."
    return f"can't listen on port {port} of {host} ({error.strerror}). Choose others with --host and --port."


class _Arbiter(Arbiter):
    """Supervises the answering processes, and sends a heartbeat with each look at them."""

    def __init__(self, app: BaseApplication, tell: int | None) -> None:
        super().__init__(app)
        self._beats_to = tell

    def murder_workers(self) -> None:
        if self._beats_to is not None:
            tell_beat(self._beats_to)
        super().murder_workers()


class _Gunicorn(BaseApplication):
    def __init__(self, settings: Settings, bound: socket.socket, processes: int, tell: int | None = None) -> None:
        self._settings, self._tell = settings, tell
        self._options: dict[str, Any] = {
            "bind": [f"fd://{bound.detach()}"],  # gunicorn closes this descriptor itself
            "workers": processes,
            "worker_class": WebWorker,
            "limit_request_line": LONGEST_LINE,
            "threads": THREADS,
            "worker_connections": _CONNECTIONS,
            "timeout": _SILENCE_SECONDS,
            "graceful_timeout": _GRACE_SECONDS,
            "control_socket_disable": True,
            "loglevel": "warning",
            "logger_class": _Log,
            "proc_name": "tilelab-web",
            "post_fork": _die_with_arbiter,
            "post_worker_init": self._begin,
            "post_request": _end_request,
            # Trust no peer: SCRIPT_NAME and X-Forwarded-Proto come from browsers. server.web.app reads what trusted
            # proxies add.
            "forwarded_allow_ips": "",
        }
        super().__init__()

    def run(self) -> None:
        _Arbiter(self, self._tell).run()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Runs in each answering process, because processes must not share database connections."""
        from server.web.app import create_app

        return create_app(self._settings)

    def _begin(self, worker: Worker) -> None:
        """Runs in each answering process before it accepts connections."""
        assert isinstance(worker, WebWorker)
        app = cast("Flask", worker.wsgi)
        prepare_to_answer(app)
        worker.person_of = limit_of(app).people.known
        if wanted := self._settings.access_log:
            worker.access_log = AccessLog(wanted, worker.person_of, access_logger())
        hub_of(app).end_when(lambda: not worker.alive)  # a stop doesn't wait for streams
        if self._settings.proxies:
            worker.bounds = replace(worker.bounds, of_address=0, open_of_address=0)


class _Log(Logger):
    """Leave gunicorn's own lines to the handler of all other logs."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _end_request(worker: WebWorker, request: Any, environ: dict[str, Any], answer: Any) -> None:
    if worker.access_log is not None:
        worker.access_log.ended(request.method, environ, answer)


def _die_with_arbiter(arbiter: Arbiter, worker: Worker) -> None:
    """End this process with its supervisor; otherwise it would keep the port."""
    die_with(arbiter.pid)
