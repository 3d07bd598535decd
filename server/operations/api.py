"""`/metrics`, for Prometheus."""

from __future__ import annotations

import hmac
from typing import cast

from flask import Blueprint, Response, current_app, request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis, look
from server.web.problems import Refused
from server.web.site import Site, site
from worker.broker import BrokerUnavailable, BrokerUrlError, connect_redis

metrics = Blueprint("metrics", __name__)

_KEY = "tilelab-metrics"
_ASK_SECONDS = 1.0


@metrics.get("/metrics")
def scrape() -> Response:
    """All metrics; with the token that the settings name, where they name one."""
    _refuse_strangers(site().settings.metrics_token)
    encode, kind = choose_encoder(request.headers.get("Accept", ""))
    return Response(encode(_registry()), content_type=kind)


def _refuse_strangers(token: str) -> None:
    given = request.headers.get("Authorization", "").encode()
    if token and not hmac.compare_digest(given, f"Bearer {token}".encode()):
        raise Refused(
            401, "not_signed_in", "These are not for everyone",
            "Send the token of TILELAB_METRICS_TOKEN as `Authorization: Bearer TOKEN`.",
            {"WWW-Authenticate": 'Bearer realm="tilelab metrics"'},
        )  # fmt: skip


def _registry() -> CollectorRegistry:
    """One for each process, so that it remembers what it has added up."""
    if _KEY not in current_app.extensions:
        here = site()
        registry = CollectorRegistry()
        registry.register(TilelabCollector(here.engine, lambda: _look(here)))
        current_app.extensions.setdefault(_KEY, registry)
    return cast("CollectorRegistry", current_app.extensions[_KEY])


def _look(here: Site) -> InRedis:
    try:
        with connect_redis(here.settings.redis_url, answer_seconds=_ASK_SECONDS) as client:
            return look(client)
    except BrokerUrlError as error:
        raise BrokerUnavailable(str(error)) from error
