"""The access log: one line of JSON for each request, if the operator wants it.

A line has nothing that a client chose: the route is the rule that matched, and an unusual method is "other".
"""

from __future__ import annotations

import atexit
import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from secrets import token_hex
from typing import Any, TextIO

from flask import Flask, Response, request

from server.http.concurrency_limit import credential_of
from server.settings import AccessLogField
from worker.contract.logging import about, context

_ROUTE = "tilelab.route"
_LONGEST_ADDRESS = 45  # of IPv6
_MOST_WAITING, _END_SECONDS = 10_000, 1.0
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def attach_routes(app: Flask) -> None:
    """Keep each request's rule for its line."""
    app.after_request(_keep_route)


def _keep_route(response: Response) -> Response:
    if request.url_rule is not None:
        request.environ[_ROUTE] = request.url_rule.rule
    return response


@dataclass(frozen=True, slots=True)
class AccessLog:
    """Writes the lines.

    fields: what lines have in addition
    person_of: the ID of the person with this credential, if it is known
    """

    fields: frozenset[AccessLogField]
    person_of: Callable[[str], int | None]
    logger: logging.Logger

    @staticmethod
    def begun() -> AbstractContextManager[None]:
        """All log lines of the request have its ID."""
        return about(request=token_hex(8))

    def ended(self, method: str, environ: Mapping[str, Any], answer: Any) -> None:
        """answer: gunicorn's; None if there is none."""
        now = datetime.now(UTC)
        whole_at = getattr(environ.get("gunicorn.socket"), "whole_at", None) or now
        line = {
            "method": method if method in _METHODS else "other",
            "route": environ.get(_ROUTE),
            "status": answer.status_code if answer is not None and answer.headers_sent else None,
            "ms": round((now - whole_at).total_seconds() * 1000, 1),
            "bytes": answer.sent if answer is not None else 0,
        }
        if AccessLogField.PERSON in self.fields:
            cookie, authorization = environ.get("HTTP_COOKIE", ""), environ.get("HTTP_AUTHORIZATION", "")
            line["person"] = self.person_of(credential_of(cookie, authorization))
        if AccessLogField.ADDRESS in self.fields:
            line["address"] = str(environ.get("REMOTE_ADDR", ""))[:_LONGEST_ADDRESS]
        self._write(now, line)

    def refused(self, text: bytes) -> None:
        """A request that could not be read, or that got no thread, had this answer."""
        head, _, body = text.partition(b"\r\n\r\n")
        line = {"method": None, "route": None, "status": int(head.split()[1]), "ms": None, "bytes": len(body)}
        self._write(datetime.now(UTC), line)

    def _write(self, now: datetime, line: Mapping[str, object]) -> None:
        self.logger.info(json.dumps({"at": _text(now), "logger": self.logger.name, **context(), **line}))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


class Lines(QueueHandler):
    """Lines for a thread that writes them, so that no request waits for who reads them.

    If too many wait, lines are dropped. A line says how many.
    """

    queue: Queue[logging.LogRecord]

    def __init__(self, stream: TextIO) -> None:
        super().__init__(Queue(_MOST_WAITING))
        self._dropped = 0
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        QueueListener(self.queue, handler).start()
        atexit.register(self._end)

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """The line is whole already."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
            if dropped := self._dropped:
                line = json.dumps({"at": _text(datetime.now(UTC)), "logger": record.name, "dropped": dropped})
                self.queue.put_nowait(logging.makeLogRecord({"msg": line}))
                self._dropped = 0
        except Full:
            self._dropped += 1

    def _end(self) -> None:
        """Wait a moment for the last lines."""
        until = time.monotonic() + _END_SECONDS
        while self.queue.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.01)


def access_logger(stream: TextIO | None = None) -> logging.Logger:
    """A logger whose lines are JSON, however other lines are written."""
    logger = logging.getLogger("access")
    logger.handlers[:] = [Lines(stream or sys.stderr)]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    return logger
