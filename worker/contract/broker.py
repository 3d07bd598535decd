"""The broker, a Redis at REDIS_URL: Celery sends messages through it, and claims use it directly.

All waits are bounded, except that a Celery worker waits for its broker to come back.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from worker.contract.messages import RESULTS_QUEUE, MessageError, StepMessage, encode

STEP_TASK = "tilelab.step"
RECORD_TASK = "tilelab.record"

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 5.0

PUBLISH_SECONDS = 2.0
"""Timeout for connecting and for each answer when publishing. A caller waits for both, once or twice."""

VISIBILITY_SECONDS = 2 * 3600
"""Redis delivers an unacknowledged message again after this time, which is longer than any step.

The claim drops such a second copy, and the dispatcher sends a lost step again long before."""

USER_PREFIX = "worker-"
"""Begins the name of a worker's user in Redis. Other users belong to the server."""

_TCP: Mapping[str, Any] = {"socket_connect_timeout": CONNECT_SECONDS, "socket_keepalive": True}

# With max_retries alone, kombu tries twice, because it counts only from the second try on.
_ONCE: Mapping[str, Any] = {"max_retries": 1, "timeout": 0.001}

_TRANSPORT: Mapping[str, object] = {
    "visibility_timeout": VISIBILITY_SECONDS,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": ANSWER_SECONDS,  # a consumer's read returns every second, so this ends only dead connections
    "socket_connect_timeout": CONNECT_SECONDS,
    "socket_keepalive": True,
    "priority_steps": [0],  # the dispatcher orders the steps, so one list in Redis per queue is enough
}

# A worker keeps no copy of a taken message in Redis, where other workers could read it. It returns no message: the
# dispatcher sends lost steps again.
_WORKER_TRANSPORT: Mapping[str, object] = {**_TRANSPORT, "ack_emulation": False}


class BrokerUnavailable(ConnectionError):
    """Redis doesn't answer, or refuses. The text is one line without a password."""


class BrokerUrlError(ValueError):
    """REDIS_URL is missing or invalid. The text is one line without a password."""


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
    """The Celery application for processes that send or receive messages. Doesn't connect yet."""
    address = _read(redis_url)
    app = Celery("tilelab", set_as_current=False)
    app.conf.update(
        broker_url=address.for_kombu,
        broker_transport_options=dict(_WORKER_TRANSPORT if worker_in(redis_url) else _TRANSPORT),
        broker_use_ssl=dict(address.tls) or None,
        broker_connection_timeout=CONNECT_SECONDS,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_pool_limit=1,
        task_acks_late=True,  # with a prefetch of one, a worker takes no second message while a step runs
        task_reject_on_worker_lost=False,  # otherwise a step that kills its worker would come back forever
        task_acks_on_failure_or_timeout=True,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_track_started=False,
        task_default_queue="tilelab.unrouted",  # unused: every message goes to a named queue
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


def worker_in(redis_url: str) -> str:
    """The name of the worker whose address this is, or "" for an address of the server."""
    user = unquote(urlsplit(redis_url).username or "")
    return user.removeprefix(USER_PREFIX) if user.startswith(USER_PREFIX) else ""


def connect_redis(redis_url: str, *, answer_seconds: float = ANSWER_SECONDS) -> redis.Redis:
    """A Redis client with a timeout for every wait. It connects on first use.

    It reconnects once, at once, if the connection broke meanwhile.
    """
    address = _read(redis_url)
    options = dict(address.tls) if address.local else {**_TCP, **address.tls}
    return redis.Redis.from_url(
        _for_client(address), decode_responses=True, socket_timeout=answer_seconds,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)), **options,
    )  # fmt: skip


def read_redis_url(environment: Mapping[str, str]) -> str:
    """The value of REDIS_URL, or the content of the file REDIS_URL_FILE. Raises BrokerUrlError."""
    url, file = environment.get("REDIS_URL", "").strip(), environment.get("REDIS_URL_FILE", "")
    if not url and not file:
        raise BrokerUrlError("REDIS_URL is not set. Set it, or set REDIS_URL_FILE to a file with it.")
    if not url:
        try:
            url = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BrokerUrlError(f"cannot read REDIS_URL_FILE, {file}: {error}") from error
    _read(url)
    return url


def queue_length(client: redis.Redis, queue: str) -> int:
    """The number of messages in a queue that no worker has taken. Raises BrokerUnavailable."""
    with broker_errors(client):
        length = client.llen(queue)
    assert isinstance(length, int)
    return length


@contextlib.contextmanager
def broker_errors(client: redis.Redis) -> Iterator[None]:
    """Turn redis-py's errors into BrokerUnavailable, also while Redis is still loading."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        user = str(client.connection_pool.connection_kwargs.get("username") or "")
        if isinstance(error, redis.AuthenticationError) and user.startswith(USER_PREFIX):
            raise BrokerUnavailable(
                f"Redis at {_place(client)} doesn't know {user} yet, or its address was revoked."
            ) from error
        raise BrokerUnavailable(_sentence(_place(client), error)) from error


class Sender:
    """Publishes tasks with a timeout for every wait. Any thread may use it; one sends at a time."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def send(self, task: str, queue: str, body: str) -> None:
        """Publish a task. Raises BrokerUnavailable; even then, the message may have been sent."""
        with self._lock:
            fresh = self._connection is None
            try:
                self._publish(task, queue, body)
            except _ERRORS as error:
                self._drop()
                # an idle connection may have broken long ago, so try once with a new one
                if fresh or _slow(error):
                    raise self._unavailable(error) from error
                self._again(task, queue, body)

    def close(self) -> None:
        """Close the connection. The next `send` opens it again."""
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
        # without argsrepr and kwargsrepr, Celery would copy the long arguments into headers
        self._app.send_task(
            task, (body,), queue=queue, producer=producer, retry=False, ignore_result=True,
            argsrepr="", kwargsrepr="", add_to_parent=False,
        )  # fmt: skip

    def _connect(self) -> Connection:
        options = {
            **self._app.conf.broker_transport_options,
            "socket_timeout": PUBLISH_SECONDS,
            "socket_connect_timeout": PUBLISH_SECONDS,
        }
        # set on this connection only: Celery's own option also applies to consumers
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
    def __init__(self, app: Celery) -> None:
        self._sender = Sender(app)

    def send(self, queue: str, message: StepMessage) -> None:
        """Publish a step. Raises BrokerUnavailable, or MessageError if it is too large."""
        self._sender.send(STEP_TASK, queue, encode(message))

    def close(self) -> None:
        self._sender.close()


class ResultSender:
    """Publishes a worker's results. The caller encodes a result once and may send it several times."""

    def __init__(self, app: Celery) -> None:
        self._sender = Sender(app)

    def send(self, body: str) -> None:
        """Publish an encoded StepResult. Raises BrokerUnavailable."""
        self._sender.send(RECORD_TASK, RESULTS_QUEUE, body)

    def close(self) -> None:
        self._sender.close()


class Inbox:
    """Takes messages out of a queue. None is acknowledged: who sent it keeps it until its claim is settled."""

    def __init__(self, client: redis.Redis, queue: str) -> None:
        self._client, self._queue = client, queue

    def waiting(self, seconds: float) -> Iterator[str]:
        """The messages that wait, each taken as it is read; waits this long for the first. Raises BrokerUnavailable."""
        taken = self._taken(lambda: (self._client.brpop([self._queue], seconds) or (None, None))[1])
        with contextlib.suppress(BrokerUnavailable):  # the next call raises it
            while taken is not None:
                yield taken
                taken = self._taken(lambda: self._client.rpop(self._queue))

    def put_back(self, messages: Sequence[str]) -> None:
        """Let these be the next messages again. Raises BrokerUnavailable."""
        with broker_errors(self._client):
            if messages:
                self._client.rpush(self._queue, *messages[::-1])

    def _taken(self, take: Callable[[], Any]) -> str | None:
        with broker_errors(self._client):
            try:
                message: str | None = take()
            except UnicodeDecodeError:  # nothing that Celery has written
                return ""
        return message


def body_in(message: str) -> object:
    """The only argument of the task in a message. Raises MessageError."""
    try:
        (body,), _, _ = json.loads(base64.b64decode(json.loads(message)["body"]))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise MessageError(f"not a task with one argument: {error}") from error
    return body


_ERRORS = (redis.RedisError, KombuError, OSError, EOFError)


def _slow(error: BaseException) -> bool:
    """Whether the error is a timeout. Trying again would double the wait."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (redis.TimeoutError, TimeoutError)):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _sentence(place: str, error: BaseException) -> str:
    why = (" ".join(str(error).split()) or type(error).__name__).rstrip(".")
    if "authenticat" in why or "username-password" in why:
        return f"Redis at {place} refuses the password. Correct it in REDIS_URL."
    if isinstance(error, redis.exceptions.NoPermissionError):
        return f"Redis at {place} doesn't permit this to the user in REDIS_URL ({why})."
    if "used memory > 'maxmemory'" in why:
        return f"Redis at {place} is full. Grading continues when it has space. If it stays full, raise maxmemory."
    return f"cannot use Redis at {place}: {why}. Start it, or correct REDIS_URL."


def _place(client: redis.Redis) -> str:
    address = client.connection_pool.connection_kwargs
    if path := address.get("path"):
        return f"unix://{path}"
    return f"redis://{address.get('host', 'localhost')}:{address.get('port', 6379)}/{address.get('db', 0)}"


def _read(redis_url: str) -> _Address:
    try:
        parts = urlsplit(redis_url)
        named = dict(parse_qsl(parts.query))
        _host(parts)
        text = named.pop("db", "") or ("" if parts.scheme == "unix" else parts.path.strip("/")) or "0"
        database = int(text)
    except ValueError as error:
        raise BrokerUrlError("REDIS_URL is not valid. Use the form redis://host:6379/0.") from error
    if parts.scheme not in {"redis", "rediss", "unix"} or (parts.scheme == "unix" and not parts.path):
        raise BrokerUrlError(
            f"REDIS_URL begins with {parts.scheme or 'nothing'}://. "
            "Use redis://host:6379/0, rediss://host:6379/0 or unix:///path/redis.sock?db=0."
        )
    return _Address(parts, database, _tls(parts.scheme, named))


def _tls(scheme: str, named: Mapping[str, str]) -> Mapping[str, Any]:
    """Options for TLS. They check certificates unless the URL says otherwise; kombu's default doesn't."""
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
    """The URL for redis-py without its query, whose options are passed by name."""
    person = address.parts.netloc.rpartition("@")[0]
    person = f"{person}@" if person else ""
    if address.local:
        return f"unix://{person}{address.parts.path}?db={address.database}"
    return f"{address.parts.scheme}://{person}{_host(address.parts)}/{address.database}"
