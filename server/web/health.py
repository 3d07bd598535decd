"""Whether this process lives, and whether it can do its work: for whatever watches over it."""

from __future__ import annotations

import logging

from flask import Blueprint, Response, jsonify

from server.database.engine import DatabaseUnavailable
from server.database.schema import check
from server.web.problems import Problem, problem_response
from server.web.site import site
from worker.broker import BrokerUnavailable, BrokerUrlError, broker_errors, connect_redis

health = Blueprint("health", __name__)

_ASK_SECONDS = 1.0

logger = logging.getLogger(__name__)


@health.get("/healthz")
def alive() -> Response:
    """That the process answers: looks at nothing else, so that nobody ends it because the database is away."""
    return jsonify(status="alive")


@health.get("/readyz")
def ready() -> Response:
    """Whether submissions can be accepted. That takes the database alone: without the broker they wait."""
    try:
        check(site().engine)
    except DatabaseUnavailable as error:
        return problem_response(
            Problem(503, "not_ready", "The database cannot be used", str(error)), {"Retry-After": "5"}
        )
    return jsonify(status="ready", database="current", broker=_broker())


def _broker() -> str:
    try:
        with (
            connect_redis(site().settings.redis_url, answer_seconds=_ASK_SECONDS) as client,
            broker_errors(client),
        ):
            client.ping()
    except (BrokerUnavailable, BrokerUrlError) as error:
        logger.info("%s", error)
        return "away"
    return "reachable"
