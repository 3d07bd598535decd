"""Health checks: whether this process runs, and whether it can accept submissions.

Anyone may ask, so the answers have fixed texts. The log has the details.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from flask import Blueprint, Response, current_app, jsonify

from server.database.engine import DatabaseUnavailable
from server.database.schema import check
from server.database.storage import check_write, is_nearly_full
from server.http.problems import RETRY_SECONDS, Problem, problem_response
from server.http.site import Site, site
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, broker_errors, connect_redis

health = Blueprint("health", __name__)

_ASK_SECONDS = 1.0
_HOLDS_SECONDS = 1.0
_HANGS_SECONDS = 10.0
_KEY = "tilelab-ready"
_UNUSABLE = Problem(
    503, "not_ready", "The database cannot be used",
    "Submissions are refused until the database can be written again. The log of this process has the details.",
)  # fmt: skip
_FULL = Problem(
    503, "disk_full", "The server is out of disk space",
    "Submissions are refused until the database's disk has room. Everything can still be read.",
)  # fmt: skip

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a check. problem: why submissions are refused, or None; broker: "reachable" or "away"."""

    problem: Problem | None
    broker: str = ""


class Ready:
    """The latest check; repeated by one thread at a time and at most once a second.

    No request waits for another's check. If a check hangs, the others get the previous result, and soon an error.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._turn = threading.Lock()
        self._began_at = self._looked_at = float("-inf")
        self._found = Found(_UNUSABLE)

    def found(self) -> Found:
        now = time.monotonic()
        if not self._turn.acquire(blocking=False):
            return self._found if now - self._began_at < _HANGS_SECONDS else Found(_UNUSABLE)
        try:
            if now - self._looked_at >= _HOLDS_SECONDS:
                self._began_at = now
                self._found = self._look()
                self._looked_at = time.monotonic()
            return self._found
        finally:
            self._turn.release()

    def _look(self) -> Found:
        engine, settings = self._site.engine, self._site.settings
        try:
            check(engine)
            if is_nearly_full(engine, settings.free_mb):
                logger.warning("not ready: less than %g MiB are free (TILELAB_FREE_MB)", settings.free_mb)
                return Found(_FULL)
            check_write(engine)
        except DatabaseUnavailable as error:
            logger.warning("not ready: %s", error)
            return Found(_UNUSABLE)
        return Found(None, _broker(settings.redis_url))


@health.get("/healthz")
def alive() -> Response:
    """Report that the process answers. Checks nothing else, so that a supervisor doesn't end it without a database."""
    return jsonify(status="alive")


@health.get("/readyz")
def ready() -> Response:
    """Report whether submissions can be accepted: a small write succeeds, and the disk has room.

    This needs only the database. Without the broker, submissions wait.
    """
    kept: Ready = current_app.extensions.setdefault(_KEY, Ready(site()))
    found = kept.found()
    if found.problem is not None:
        return problem_response(found.problem, {"Retry-After": str(RETRY_SECONDS)})
    return jsonify(status="ready", database="current", broker=found.broker)


def _broker(url: str) -> str:
    try:
        with connect_redis(url, answer_seconds=_ASK_SECONDS) as client, broker_errors(client):
            client.ping()
    except (BrokerUnavailable, BrokerUrlError) as error:
        logger.info("%s", error)
        return "away"
    return "reachable"
