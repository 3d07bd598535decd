"""A worker's credential: its user in Redis, its queues, and the key that signs its results.

All of it is in one address, REDIS_URL: `redis://worker-NAME:PASSWORD@host:6379/0?queues=cpu,gpu&key=HEX`. The key never
reaches Redis. So the password alone, or Redis itself, can't forge a result.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from worker.contract.broker import USER_PREFIX, BrokerUrlError, worker_in
from worker.contract.messages import CPU_QUEUE, is_gpu_queue

GPU_QUEUES = "gpu"
"""In a credential: the queues of all device classes."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_QUEUE = re.compile(r"cpu|gpu(\.[a-z0-9-]{1,48})?")
_KEY = re.compile(r"[0-9a-f]{64}")
"""Of a key, and of a signature."""

_PURPOSE = b"tilelab result\0"


@dataclass(frozen=True, slots=True)
class Credential:
    """What a worker is and may do.

    queues: "cpu", "gpu" for the queues of all GPUs, or one such as "gpu.h200"
    key: 32 bytes in hex, which only the worker and the database have
    """

    name: str
    queues: tuple[str, ...]
    key: str = field(repr=False)

    def allows(self, queue: str) -> bool:
        """Whether the worker may take steps from this queue, and answer them."""
        return allows(self.queues, queue)

    def worker(self, text: str) -> bool:
        return text.startswith(f"{self.name}.")


def allows(queues: Collection[str], queue: str) -> bool:
    return queue in queues or (GPU_QUEUES in queues and is_gpu_queue(queue))


def check_queues(queues: Collection[str]) -> tuple[str, ...]:
    """The queues without repeats. Raises ValueError for a name that no queue has."""
    for queue in queues:
        if not _QUEUE.fullmatch(queue):
            raise ValueError(f"{queue}: not a queue. Use {CPU_QUEUE}, {GPU_QUEUES}, or one such as gpu.h200.")
    return tuple(dict.fromkeys(queues))


def check_name(name: str) -> str:
    """The name. Raises ValueError if it can't be one."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name[:50]}: not a worker's name. Use up to 40 lowercase letters, digits and hyphens.")
    return name


def read_credential(redis_url: str) -> Credential:
    """The credential in a worker's REDIS_URL. Raises BrokerUrlError if it holds none."""
    given = dict(parse_qsl(urlsplit(redis_url).query))
    name, key = worker_in(redis_url), given.get("key", "")
    if not name or not _KEY.fullmatch(key):
        raise BrokerUrlError(
            "REDIS_URL is not a worker's address: it has no worker's user or no key. "
            "An operator makes one with `tilelab admin worker add NAME`."
        )
    try:
        return Credential(check_name(name), check_queues(given.get("queues", "").split(",")), key)
    except ValueError as error:
        raise BrokerUrlError(f"REDIS_URL is not a valid worker's address: {error}") from error


def worker_url(redis_url: str, credential: Credential, password: str) -> str:
    """The worker's address, from an address of the same Redis."""
    parts = urlsplit(redis_url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{USER_PREFIX}{credential.name}:{quote(password, safe='')}"
    given: Mapping[str, str] = dict(parse_qsl(parts.query))
    query = urlencode({**given, "queues": ",".join(credential.queues), "key": credential.key}, safe=",/")
    return urlunsplit((parts.scheme, f"{user}@{host}", parts.path, query, ""))


def password_in(redis_url: str) -> str:
    return unquote(urlsplit(redis_url).password or "")


def new_secret() -> str:
    return secrets.token_hex(32)


def password_digest(password: str) -> str:
    """SHA-256 of a password, as Redis keeps it."""
    return hashlib.sha256(password.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Sealed:
    """A result as a worker sends it. name, signature: "" if it isn't signed."""

    name: str
    signature: str
    body: str

    def signed_with(self, key: str) -> bool:
        return hmac.compare_digest(self.signature.encode(), _signature(key, self.name, self.body).encode())


def seal(credential: Credential, body: str) -> str:
    """Sign an encoded result. The signature covers all of it, with its token and the digest of the graded work."""
    return f"{credential.name}:{_signature(credential.key, credential.name, body)}:{body}"


def unseal(text: object) -> Sealed:
    """Take a message with a result apart; trusts nothing in it."""
    if not isinstance(text, str) or text.count(":") != 2:
        return Sealed("", "", text if isinstance(text, str) else "")
    name, signature, body = text.split(":")
    if not NAME.fullmatch(name) or not _KEY.fullmatch(signature):
        return Sealed("", "", body)
    return Sealed(name, signature, body)


def _signature(key: str, name: str, body: str) -> str:
    said = _PURPOSE + name.encode() + b"\0" + body.encode()
    return hmac.new(bytes.fromhex(key), said, hashlib.sha256).hexdigest()
