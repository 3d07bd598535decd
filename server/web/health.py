"""Whether this process lives, and whether it can do its work: for whatever watches over it.

Anybody may ask, so it is told in fixed words; what exactly is wrong stands in the log.
"""

from __future__ import annotations

import logging
import threading
import time

from flask import Blueprint, Response, current_app, jsonify

from server.database.engine import DatabaseUnavailable
from server.database.schema import check
from server.web.problems import RETRY_SECONDS, Problem, problem_response
from server.web.site import Site, site
from worker.broker import BrokerUnavailable, BrokerUrlError, broker_errors, connect_redis

health = Blueprint("health", __name__)

_ASK_SECONDS = 1.0
_HOLDS_SECONDS = 1.0
_KEY = "tilelab-ready"

logger = logging.getLogger(__name__)


class Ready:
    """What was found when it was last looked, by one at a time and at most once a second, however many ask."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._turn = threading.Lock()
        self._looked_at = float("-inf")
        self._found = ""

    def found(self) -> str:
        """How the broker is: "reachable" or "away"; "" where the database cannot be used."""
        with self._turn:
            if time.monotonic() - self._looked_at >= _HOLDS_SECONDS:
                self._found = self._look()
                self._looked_at = time.monotonic()
            return self._found

    def _look(self) -> str:
        try:
            check(self._site.engine)
        except DatabaseUnavailable as error:
            logger.warning("not ready: %s", error)
            return ""
        return _broker(self._site.settings.redis_url)


@health.get("/healthz")
def alive() -> Response:
    """That the process answers: looks at nothing else, so that nobody ends it because the database is away."""
    return jsonify(status="alive")


@health.get("/readyz")
def ready() -> Response:
    """Whether submissions can be accepted. That takes the database alone: without the broker they wait."""
    kept: Ready = current_app.extensions.setdefault(_KEY, Ready(site()))
    broker = kept.found()
    if not broker:
        return problem_response(
            Problem(
                503,
                "not_ready",
                "The database cannot be used",
                "Nothing can be handed in or read until it can. The log of this process says what is wrong with it.",
            ),
            {"Retry-After": str(RETRY_SECONDS)},
        )
    return jsonify(status="ready", database="current", broker=broker)


def _broker(url: str) -> str:
    try:
        with connect_redis(url, answer_seconds=_ASK_SECONDS) as client, broker_errors(client):
            client.ping()
    except (BrokerUnavailable, BrokerUrlError) as error:
        logger.info("%s", error)
        return "away"
    return "reachable"
