"""The broker: Redis, spoken to by Celery for messages and directly for claims; all from one REDIS_URL.

Nothing here waits without bound, except a Celery worker for its broker to come back.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import redis
from celery import Celery
from kombu import Connection
from kombu.exceptions import KombuError
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.contract.messages import RESULTS_QUEUE, StepMessage, encode

STEP_TASK = "tilelab.step"
RECORD_TASK = "tilelab.record"

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 5.0

PUBLISH_SECONDS = 2.0
"""For connecting, and for each answer, when something is published: a caller waits for both, once or twice."""

VISIBILITY_SECONDS = 2 * 3600
"""After which Redis hands out again what was taken and never acknowledged. Longer than any step: a second copy is
dropped by its claim, and the dispatcher sends anew long before."""

_TCP: Mapping[str, Any] = {"socket_connect_timeout": CONNECT_SECONDS, "socket_keepalive": True}

# The bound on time makes kombu try once: it counts attempts only from the second on.
_ONCE: Mapping[str, Any] = {"max_retries": 1, "timeout": 0.001}

_TRANSPORT: Mapping[str, object] = {
    "visibility_timeout": VISIBILITY_SECONDS,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": ANSWER_SECONDS,  # a consumer's read returns every second, so this ends only dead connections
    "socket_connect_timeout": CONNECT_SECONDS,
    "socket_keepalive": True,
    "priority_steps": [0],  # what is sent has been chosen already: one list in Redis per queue is enough
}


class BrokerUnavailable(ConnectionError):
    """Redis does not answer, or refuses; one line, without a password."""


class BrokerUrlError(ValueError):
    """The URL names no Redis; one line, without a password."""


@dataclass(frozen=True, slots=True)
class _Address:
    parts: SplitResult
    database: int
    tls: Mapping[str, Any] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        return self.parts.scheme == "unix"

    @property
    def for_kombu(self) -> str:
        name, word = unquote(self.parts.username or ""), unquote(self.parts.password or "")
        person = f"{quote(name, safe='')}:{quote(word, safe='')}@" if name or word else ""
        if self.local:
            query = urlencode({"virtual_host": self.database})
            return f"redis+socket://{person}{self.parts.path}?{query}"
        return f"{self.parts.scheme}://{person}{_host(self.parts)}/{self.database}"


def celery_app(redis_url: str) -> Celery:
    """The Celery application of every process that takes messages or sends them. Connects to nothing yet."""
    address = _read(redis_url)
    app = Celery("tilelab", set_as_current=False)
    app.conf.update(
        broker_url=address.for_kombu,
        broker_transport_options=dict(_TRANSPORT),
        broker_use_ssl=dict(address.tls) or None,
        broker_connection_timeout=CONNECT_SECONDS,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_pool_limit=1,
        task_acks_late=True,  # with a prefetch of one, no second message is taken while a step is in work
        task_reject_on_worker_lost=False,  # a step that kills its worker would be handed out for ever
        task_acks_on_failure_or_timeout=True,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_track_started=False,
        task_default_queue="tilelab.unrouted",  # nobody reads it: every message is sent to a queue by name
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        result_backend=None,
        event_serializer="json",
        worker_prefetch_multiplier=1,
        worker_concurrency=1,
        worker_pool="solo",
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        enable_utc=True,
    )
    return app


def connect_redis(redis_url: str, *, answer_seconds: float = ANSWER_SECONDS) -> redis.Redis:
    """A client with limits on every wait; connects when it is first used.

    A connection that broke meanwhile is made anew once, at once.
    """
    address = _read(redis_url)
    options = dict(address.tls) if address.local else {**_TCP, **address.tls}
    return redis.Redis.from_url(
        _for_client(address), decode_responses=True, socket_timeout=answer_seconds,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)), **options,
    )  # fmt: skip


def read_redis_url(environment: Mapping[str, str]) -> str:
    """REDIS_URL, or what is in the file that REDIS_URL_FILE names; raises BrokerUrlError."""
    url, file = environment.get("REDIS_URL", "").strip(), environment.get("REDIS_URL_FILE", "")
    if not url and not file:
        raise BrokerUrlError("REDIS_URL is not set. Set it, or REDIS_URL_FILE to a file that holds it.")
    if not url:
        try:
            url = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BrokerUrlError(f"REDIS_URL_FILE names {file}, which cannot be read: {error}") from error
    _read(url)
    return url


def queue_length(client: redis.Redis, queue: str) -> int:
    """How many messages wait in a queue: those that no worker has taken. Raises BrokerUnavailable."""
    with broker_errors(client):
        length = client.llen(queue)
    assert isinstance(length, int)
    return length


@contextlib.contextmanager
def broker_errors(client: redis.Redis) -> Iterator[None]:
    """What redis-py raises where Redis is away, or is still loading, as BrokerUnavailable."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise BrokerUnavailable(_sentence(_place(client), error)) from error


class Sender:
    """Publishes tasks with a bound on every wait. Any thread may use it; one sends at a time."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def send(self, task: str, queue: str, body: str) -> None:
        """Publish; raises BrokerUnavailable. After that, the message may be there all the same."""
        with self._lock:
            fresh = self._connection is None
            try:
                self._publish(task, queue, body)
            except _ERRORS as error:
                self._drop()
                # a connection that was left open may have broken long ago, which says nothing about now
                if fresh or _slow(error):
                    raise self._unavailable(error) from error
                self._again(task, queue, body)

    def close(self) -> None:
        """Close the connection. It opens again when it is needed."""
        with self._lock:
            self._drop()

    def _again(self, task: str, queue: str, body: str) -> None:
        try:
            self._publish(task, queue, body)
        except _ERRORS as error:
            self._drop()
            raise self._unavailable(error) from error

    def _publish(self, task: str, queue: str, body: str) -> None:
        if self._connection is None:
            self._connection = self._connect()
        producer = self._connection.Producer(auto_declare=False)
        # Celery describes arguments in headers, where only a reader of the broker would look: not needed, and long
        self._app.send_task(
            task, (body,), queue=queue, producer=producer, retry=False, ignore_result=True,
            argsrepr="", kwargsrepr="", add_to_parent=False,
        )  # fmt: skip

    def _connect(self) -> Connection:
        options = {**_TRANSPORT, "socket_timeout": PUBLISH_SECONDS, "socket_connect_timeout": PUBLISH_SECONDS}
        # the option is Celery's for all its connections, those of consumers included, and may not be changed there
        connection: Connection = self._app.connection_for_write()
        connection.transport_options = options
        try:
            connection.ensure_connection(**_ONCE)
        except BaseException:
            connection.release()
            raise
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*_ERRORS):
                connection.release()

    def _unavailable(self, error: BaseException) -> BrokerUnavailable:
        place = re.sub(r"//[^/]*@", "//", self._app.connection_for_write().as_uri())
        return BrokerUnavailable(_sentence(place.replace("redis+socket:", "unix:"), error))


class StepSender:
    """The dispatcher's: publishes steps."""

    def __init__(self, app: Celery) -> None:
        self._sender = Sender(app)

    def send(self, queue: str, message: StepMessage) -> None:
        """Publish a step; raises BrokerUnavailable, and MessageError where it is too large."""
        self._sender.send(STEP_TASK, queue, encode(message))

    def close(self) -> None:
        self._sender.close()


class ResultSender:
    """A worker's: publishes results, encoded once and sent as often as it takes."""

    def __init__(self, app: Celery) -> None:
        self._sender = Sender(app)

    def send(self, body: str) -> None:
        """Publish an encoded StepResult; raises BrokerUnavailable."""
        self._sender.send(RECORD_TASK, RESULTS_QUEUE, body)

    def close(self) -> None:
        self._sender.close()


_ERRORS = (redis.RedisError, KombuError, OSError, EOFError)


def _slow(error: BaseException) -> bool:
    """Whether the error was a wait at its bound, which nobody should begin again."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (redis.TimeoutError, TimeoutError)):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _sentence(place: str, error: BaseException) -> str:
    why = (" ".join(str(error).split()) or type(error).__name__).rstrip(".")
    if "authenticat" in why or "username-password" in why:
        return f"Redis at {place} wants another password. Set REDIS_URL to one that holds it."
    if "used memory > 'maxmemory'" in why:
        return f"Redis at {place} is full. Work goes on when there is room; raise its maxmemory if it stays full."
    return f"Redis at {place} cannot be used: {why}. Start it, or set REDIS_URL to where it is."


def _place(client: redis.Redis) -> str:
    given = client.connection_pool.connection_kwargs
    if path := given.get("path"):
        return f"unix://{path}"
    return f"redis://{given.get('host', 'localhost')}:{given.get('port', 6379)}/{given.get('db', 0)}"


def _read(redis_url: str) -> _Address:
    try:
        parts = urlsplit(redis_url)
        named = dict(parse_qsl(parts.query))
        _host(parts)
        text = named.pop("db", "") or ("" if parts.scheme == "unix" else parts.path.strip("/")) or "0"
        database = int(text)
    except ValueError as error:
        raise BrokerUrlError("REDIS_URL cannot be read; it should look like redis://host:6379/0.") from error
    if parts.scheme not in {"redis", "rediss", "unix"} or (parts.scheme == "unix" and not parts.path):
        raise BrokerUrlError(
            f"REDIS_URL begins with {parts.scheme or 'nothing'}://; "
            "redis://host:6379/0, rediss://host:6379/0 or unix:///path/redis.sock?db=0 is needed."
        )
    return _Address(parts, database, _tls(parts.scheme, named))


def _tls(scheme: str, named: Mapping[str, str]) -> Mapping[str, Any]:
    """Options for TLS. A certificate is checked unless the URL says otherwise, which kombu would not by itself."""
    if scheme != "rediss":
        return {}
    wanted = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL}
    checked = wanted.get(named.get("ssl_cert_reqs", "").lower().removeprefix("cert_"), ssl.CERT_REQUIRED)
    options: dict[str, Any] = {"ssl_cert_reqs": checked}
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if value := named.get(name):
            options[name] = value
    if checked is ssl.CERT_NONE:
        options["ssl_check_hostname"] = False
    return options


def _host(parts: SplitResult) -> str:
    host = parts.hostname or "localhost"
    return f"[{host}]:{parts.port or 6379}" if ":" in host else f"{host}:{parts.port or 6379}"


def _for_client(address: _Address) -> str:
    """The URL for redis-py, without a query: what stood there is given by name, or not used."""
    person = address.parts.netloc.rpartition("@")[0]
    person = f"{person}@" if person else ""
    if address.local:
        return f"unix://{person}{address.parts.path}?db={address.database}"
    return f"{address.parts.scheme}://{person}{_host(address.parts)}/{address.database}"
