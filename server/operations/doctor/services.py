"""Checks of other servers: the database, Redis, their clocks, the mail server, identity providers."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from sqlalchemy import text

from kernels.wording import plural
from server.database.engine import DatabaseUnavailable, snapshots
from server.database.faults import explained
from server.database.schema import check, newest
from server.database.storage import check_write
from server.identity_providers import Provider, is_loopback
from server.mail.sender import connected, failure_text
from server.operations.doctor.finding import Deployment, Finding, fine, problem, sentence, warning
from server.sign_on.fetch import ProviderFault
from server.sign_on.openid import Client
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, broker_errors, connect_redis
from worker.contract.redis_fleet import CLOCK_SECONDS, RedisFleet

ANSWER_SECONDS = 2.0
_MAIL_SECONDS = 4.0
"""Some mail servers let strangers wait for the greeting, so that senders of spam give up."""

_OLDEST_REDIS = 7
_CONTAINER = Path("/.dockerenv")
_FULL = 0.9
_SET_CLOCK = "Deadlines, ages and timeouts are then wrong. Let both machines set their clocks by NTP."


def database(deployment: Deployment) -> Finding:
    engine = deployment.engine
    try:
        check(engine)
        check_write(engine)
    except DatabaseUnavailable as error:
        return problem(f"Submissions are refused. {error}")
    kind = "PostgreSQL" if engine.dialect.name == "postgresql" else "SQLite"
    return fine(f"{kind} can be written; its tables have version {newest()}")


def database_clock(deployment: Deployment) -> Finding | None:
    engine = deployment.engine
    if engine.dialect.name != "postgresql":
        return None
    with explained(engine), snapshots(engine).connect() as connection:
        connection.execute(text("SELECT 1"))
        begun = time.time()
        clock = float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    return _compared("PostgreSQL", clock - (begun + time.time()) / 2)


def database_encryption(deployment: Deployment) -> Finding | None:
    """Whether the way to another machine's PostgreSQL is encrypted."""
    engine = deployment.engine
    if engine.dialect.name != "postgresql":
        return None
    with explained(engine), snapshots(engine).connect() as connection:
        found: Any = connection.connection.driver_connection
        host, encrypted = found.info.host, found.pgconn.ssl_in_use
    if not _crosses_a_network(host):
        return None
    if not encrypted:
        return warning(
            f"The connection to {host} isn't encrypted. A listener on this network sees everything in it. Add "
            "?sslmode=verify-full to DATABASE_URL, or use a private network."
        )
    return fine(f"TLS to {host}")


def redis(deployment: Deployment) -> Finding:
    try:
        with _redis(deployment.settings.redis_url) as client:
            found = client.info("server")
    except (BrokerUnavailable, BrokerUrlError) as error:
        return problem(f"Submissions wait: {error}")
    version = str(found.get("valkey_version") or found.get("redis_version"))
    if int(version.partition(".")[0]) < _OLDEST_REDIS:
        return problem(f"Redis has version {version}, which can't limit the workers' rights. Install 7 or newer.")
    return fine(f"version {version} answers")


def redis_memory(deployment: Deployment) -> Finding:
    with _redis(deployment.settings.redis_url) as client:
        found = client.info("memory")
    limit, used, policy = int(found["maxmemory"]), int(found["used_memory"]), found["maxmemory_policy"]
    if limit and policy != "noeviction":
        return problem(
            f"With maxmemory-policy {policy}, a full Redis drops messages and steps run again. Set it to noeviction."
        )
    if limit and used > _FULL * limit:
        return warning(f"Redis uses {used / limit:.0%} of its memory. When it is full, grading stops. Raise maxmemory.")
    return fine(f"{used / 2**20:.0f} MiB used" + (f" of {limit / 2**20:.0f}" if limit else ""))


def redis_password(deployment: Deployment) -> Finding | None:
    """Whether Redis lets in clients without a password. A Unix socket needs none."""
    parts = urlsplit(deployment.settings.redis_url)
    if parts.scheme == "unix":
        return None
    anonymous = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    try:
        with _redis(anonymous) as client:
            client.ping()
    except BrokerUnavailable:
        return fine("Redis refuses clients without it")
    say = warning if is_loopback(parts.hostname or "localhost") else problem
    return say(
        "Redis lets in everyone who reaches its port, also to change and drop submitted work. Set requirepass, and put "
        "the password into REDIS_URL."
    )


def redis_encryption(deployment: Deployment) -> Finding | None:
    """Whether the way to another machine's Redis is encrypted."""
    parts = urlsplit(deployment.settings.redis_url)
    if parts.scheme == "unix" or not _crosses_a_network(parts.hostname or "localhost"):
        return None
    if parts.scheme != "rediss":
        return warning(
            f"The connection to {parts.hostname} isn't encrypted. A listener on this network sees its password and all "
            "submissions. Use rediss:// in REDIS_URL, or a private network."
        )
    if "ssl_cert_reqs=none" in parts.query.lower():
        return warning(
            "REDIS_URL has ssl_cert_reqs=none, so another machine can pretend to be Redis. Name its authority with "
            "ssl_ca_certs instead."
        )
    return fine(f"TLS to {parts.hostname}")


def redis_clock(deployment: Deployment) -> Finding | None:
    url = deployment.settings.redis_url
    if url.startswith("unix:"):
        return None
    with _redis(url) as client:
        fleet = RedisFleet(client)
        fleet.now()
        begun = time.time()
        clock = fleet.now()
    return _compared("Redis", clock - (begun + time.time()) / 2)


def mail_server(deployment: Deployment) -> Finding | None:
    """Whether the mail server greets, proves its certificate, and takes the password."""
    server = deployment.settings.mail
    if server is None:
        return None
    try:
        with connected(server, _MAIL_SECONDS):
            return fine(f"{server.host}:{server.port} answers" + (" and takes the password" if server.user else ""))
    except (OSError, smtplib.SMTPException) as error:
        why = f"{server.host}:{server.port}: {sentence(failure_text(server, error))}"
        return problem(
            f"E-mails wait, and are given up after three days. {why} Correct the settings TILELAB_SMTP_..., or ask "
            "its operator."
        )


def provider(which: Provider, _: Deployment) -> Finding:
    try:
        Client(which).metadata()
    except ProviderFault as fault:
        return problem(
            f"No one can sign in with {which.title}: {fault}. Ask its operator, or correct `issuer` in the file of "
            "TILELAB_SIGN_ON."
        )
    return fine(f"{which.title} answers at {which.issuer}")


def _crosses_a_network(host: str) -> bool:
    """Whether other machines are on the way. Not on the network of this host's containers, whose names have no dot."""
    inside = _CONTAINER.exists() and "." not in host and ":" not in host
    return not (inside or host.startswith("/") or is_loopback(host))


@contextmanager
def _redis(url: str) -> Iterator[Redis]:
    with connect_redis(url, answer_seconds=ANSWER_SECONDS) as client, broker_errors(client):
        yield client


def _compared(name: str, ahead: float) -> Finding:
    if abs(ahead) > CLOCK_SECONDS:
        order = "ahead of" if ahead > 0 else "behind"
        return problem(
            f"The clock of {name} is {plural(round(abs(ahead)), 'second')} {order} this machine's. {_SET_CLOCK}"
        )
    return fine(f"{name} differs by {abs(ahead):.1f} s")
