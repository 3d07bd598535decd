"""`/metrics`, for Prometheus."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import cast

from flask import Blueprint, Response, current_app, request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from server.http.problems import Refused
from server.http.site import Site, site
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis, look
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, connect_redis

metrics = Blueprint("metrics", __name__)

_KEY = "tilelab-metrics"
_ASK_SECONDS = 1.0
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")
"""Headers that a proxy adds."""


@metrics.get("/metrics")
def scrape() -> Response:
    """Return all metrics, to senders of the configured token; without a token, only to this machine."""
    _refuse_strangers(site().settings.metrics_token)
    encode, kind = choose_encoder(request.headers.get("Accept", ""))
    return Response(encode(_registry()), content_type=kind)


def _refuse_strangers(token: str) -> None:
    if not token:
        if not _from_here():
            raise Refused(
                403, "not_from_here", "Metrics are limited to this machine",
                "Set TILELAB_METRICS_TOKEN, or TILELAB_METRICS_TOKEN_FILE, and send that token as "
                "`Authorization: Bearer TOKEN`.",
            )  # fmt: skip
        return
    given = request.headers.get("Authorization", "").encode()
    if not hmac.compare_digest(given, f"Bearer {token}".encode()):
        raise Refused(
            401, "not_signed_in", "Metrics need a token",
            "Send the token of TILELAB_METRICS_TOKEN as `Authorization: Bearer TOKEN`.",
            {"WWW-Authenticate": 'Bearer realm="tilelab metrics"'},
        )  # fmt: skip


def _from_here() -> bool:
    """Whether the request comes directly from a program on this machine, not through a proxy."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        peer = ip_address(request.remote_addr or "")
    except ValueError:
        return False  # a Unix socket has no address: its client is a proxy
    mapped = getattr(peer, "ipv4_mapped", None)
    return (mapped or peer).is_loopback


def _registry() -> CollectorRegistry:
    """One per process, so that it remembers its sums."""
    if _KEY not in current_app.extensions:
        here = site()
        registry = CollectorRegistry()
        registry.register(
            TilelabCollector(
                here.engine, lambda: _look(here), free_mb=here.settings.free_mb, backups=here.settings.backups
            )
        )
        current_app.extensions.setdefault(_KEY, registry)
    return cast("CollectorRegistry", current_app.extensions[_KEY])


def _look(here: Site) -> InRedis:
    try:
        with connect_redis(here.settings.redis_url, answer_seconds=_ASK_SECONDS) as client:
            return look(client)
    except BrokerUrlError as error:
        raise BrokerUnavailable(str(error)) from error
