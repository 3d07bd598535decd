"""Claims as keys in Redis. A read before a write runs as a script in Redis, so that it is atomic."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from worker.contract.broker import broker_errors
from worker.contract.claims import TOMBSTONE_SECONDS, Claim, Stand
from worker.contract.hints import ENDED, channel
from worker.contract.messages import Ticket

_WORKER = "worker:"

_BEAT = """
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 1
end
if not held and ARGV[3] == '0' then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
end
return 0
"""


class RedisClaims:
    """Claims for workers, dispatcher and recorder. Raises worker.contract.broker.BrokerUnavailable."""

    def __init__(self, client: redis.Redis) -> None:
        """client: from worker.contract.broker.connect_redis."""
        self._client = client
        self._beat = client.register_script(_BEAT)

    def claim(self, ticket: Ticket, worker: str, lease_seconds: float) -> bool:
        with broker_errors(self._client):
            taken = self._client.set(_key(ticket), _WORKER + worker, nx=True, px=_milliseconds(lease_seconds))
        return bool(taken)

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        arguments: list[str | int] = [_WORKER + worker, _milliseconds(lease_seconds), int(overslept)]
        with broker_errors(self._client):
            return bool(self._beat(keys=[_key(ticket)], args=arguments))

    def settle(self, ticket: Ticket) -> None:
        self._bury(ticket, Stand.SETTLED)

    def revoke(self, ticket: Ticket) -> None:
        self._bury(ticket, Stand.REVOKED)

    def look(self, tickets: Sequence[Ticket]) -> list[Claim]:
        if not tickets:
            return []
        with broker_errors(self._client):
            said = self._client.mget([_key(ticket) for ticket in tickets])
        assert isinstance(said, list)
        return [_read(value) for value in said]

    def _bury(self, ticket: Ticket, stand: Stand) -> None:
        with broker_errors(self._client), self._client.pipeline(transaction=False) as both:
            both.set(_key(ticket), stand.value, ex=TOMBSTONE_SECONDS)
            both.publish(channel(ticket.job), ENDED)
            both.execute()


def _key(ticket: Ticket) -> str:
    return f"tilelab:claim:{ticket.job}:{ticket.kind.value}:{ticket.token}"


def _milliseconds(seconds: float) -> int:
    return max(1, round(1000 * seconds))


def _read(value: object) -> Claim:
    """The claim in a key's value. Unknown values count as free, because a running worker claims again."""
    if not isinstance(value, str):
        return Claim(Stand.FREE)
    if value.startswith(_WORKER):
        return Claim(Stand.CLAIMED, value.removeprefix(_WORKER))
    return Claim(Stand(value)) if value in {Stand.SETTLED, Stand.REVOKED} else Claim(Stand.FREE)
