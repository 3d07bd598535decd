"""Workers' users in Redis, one for each credential, with the fewest rights that a worker needs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import redis

from server.fleet.models import WorkerKey
from worker.contract.broker import USER_PREFIX, BrokerUnavailable, broker_errors
from worker.contract.credential import GPU_QUEUES
from worker.contract.messages import RESULTS_QUEUE, gpu_queue

# Without `client|setinfo`, which Redis 7.0 doesn't know: clients go on if it is refused.
_CONNECTION = ("+ping", "+select", "+time", "+multi", "+exec", "+discard", "+client|setname")

logger = logging.getLogger(__name__)


def rights(name: str, queues: Sequence[str]) -> tuple[str, ...]:
    """The rights of a worker's user, as ACL SETUSER takes them.

    Each line in parentheses permits these commands on these keys only. A worker takes messages from its queues but
    can't write to them, and adds results but can't read them. A claim's key contains the attempt's random token, so
    only a worker that received the attempt can name it.
    """
    taken = " ".join(f"~{_pattern(queue)}" for queue in queues)
    kinds = ("binding", "binding_permanent")
    bound = " ".join(f"~_kombu.{kind}.{_pattern(queue)}" for queue in (*queues, RESULTS_QUEUE) for kind in kinds)
    own = " ".join(f"~tilelab:{kind}:{name}.*" for kind in ("worker", "wanted", "test"))
    return (
        *_CONNECTION,
        f"(+brpop +llen {taken})",
        f"(+sadd +smembers {bound})",
        f"(+lpush +llen ~{RESULTS_QUEUE})",
        "(+get +mget +set +pexpire ~tilelab:claim:*)",
        "(+sadd ~tilelab:worker-ids)",
        f"(+get +mget +set +expire +del {own})",
        "(+set ~tilelab:printed:*)",
        "(+publish &tilelab:progress:*)",
    )


def rules(name: str, queues: Sequence[str], password_digests: Sequence[str]) -> tuple[str, ...]:
    """The arguments of ACL SETUSER for a worker's user."""
    passwords = tuple(f"#{digest}" for digest in password_digests)
    return (f"{USER_PREFIX}{name}", "reset", "on", *passwords, *rights(name, queues))


def users_of(keys: Sequence[WorkerKey]) -> Mapping[str, tuple[str, ...]]:
    """The rules of each user, by its name in Redis. A worker with two valid keys has two passwords."""
    by_name: dict[str, list[WorkerKey]] = {}
    for key in keys:
        by_name.setdefault(key.name, []).append(key)
    users = {}
    for name, own in by_name.items():
        queues = tuple(dict.fromkeys(queue for key in own for queue in key.queue_names))
        users[f"{USER_PREFIX}{name}"] = rules(name, queues, [key.password_digest for key in own])
    return users


class BrokerUsers:
    """Keeps the users in Redis equal to the keys in the database.

    Redis forgets users when it restarts, and another dispatcher may have applied older keys.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._applied: Mapping[str, tuple[str, ...]] = {}
        self._refused = False

    def apply(self, keys: Sequence[WorkerKey]) -> None:
        """Apply the users if they or Redis changed. Raises BrokerUnavailable."""
        wanted = users_of(keys)
        try:
            with broker_errors(self._client):
                there = self._passwords()
                if self._applied == wanted and there == {name: _passwords_in(rule) for name, rule in wanted.items()}:
                    return
                for name in there.keys() - wanted.keys():
                    # This also closes the connections of the user.
                    self._client.acl_deluser(name)
                for name, rule in wanted.items():
                    if there.get(name, set()) - _passwords_in(rule):
                        # A connection with a password that no longer counts would stay open.
                        self._client.acl_deluser(name)
                    self._client.execute_command("ACL SETUSER", *rule)  # type: ignore[no-untyped-call]
                    logger.info("Redis knows the user %s", name)
        except BrokerUnavailable as error:
            if not isinstance(error.__cause__, redis.ResponseError):
                raise
            if not self._refused:
                logger.error("cannot make the workers' users in Redis; make them by hand: %s", error)  # noqa: TRY400
            self._refused = True
            return
        self._applied, self._refused = wanted, False

    def _passwords(self) -> dict[str, set[str]]:
        """The workers' users in Redis, with the digests of their passwords."""
        lines: Any = self._client.acl_list()
        users = {name: _passwords_in(words) for _, name, *words in map(str.split, lines)}
        return {name: passwords for name, passwords in users.items() if name.startswith(USER_PREFIX)}


def _passwords_in(rule: Sequence[str]) -> set[str]:
    return {word for word in rule if word.startswith("#")}


def _pattern(queue: str) -> str:
    return f"{gpu_queue('')}*" if queue == GPU_QUEUES else queue
