"""Claims as keys in Redis. Each write is one atomic command, so workers need no scripts."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from worker.contract.broker import broker_errors
from worker.contract.claims import TOMBSTONE_SECONDS, Claim, Stand
from worker.contract.hints import ENDED, channel
from worker.contract.messages import Ticket

_WORKER = "worker:"


class RedisClaims:
    """Claims for workers, dispatcher and recorder. Raises worker.contract.broker.BrokerUnavailable."""

    def __init__(self, client: redis.Redis) -> None:
        """client: from worker.contract.broker.connect_redis."""
        self._client = client

    def claim(self, ticket: Ticket, worker: str, lease_seconds: float) -> bool:
        with broker_errors(self._client):
            taken = self._client.set(_key(ticket), _WORKER + worker, nx=True, px=_milliseconds(lease_seconds))
        return bool(taken)

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        key, mine, milliseconds = _key(ticket), _WORKER + worker, _milliseconds(lease_seconds)
        with broker_errors(self._client):
            # SET with NX and GET returns the key's value. Without one, it writes ours, because Redis has lost it.
            held: object = (
                self._client.get(key) if overslept else self._client.set(key, mine, nx=True, get=True, px=milliseconds)
            )
            if held == mine:
                # With GT, this never shortens the life of an outcome that was written just now.
                self._client.pexpire(key, milliseconds, gt=True)
        return held == mine or (held is None and not overslept)

    def settle(self, *tickets: Ticket) -> None:
        self._bury(tickets, Stand.SETTLED)

    def revoke(self, ticket: Ticket) -> None:
        self._bury([ticket], Stand.REVOKED)

    def look(self, tickets: Sequence[Ticket]) -> list[Claim]:
        if not tickets:
            return []
        with broker_errors(self._client):
            said = self._client.mget([_key(ticket) for ticket in tickets])
        assert isinstance(said, list)
        return [_read(value) for value in said]

    def _bury(self, tickets: Sequence[Ticket], stand: Stand) -> None:
        with broker_errors(self._client), self._client.pipeline(transaction=False) as together:
            for ticket in tickets:
                together.set(_key(ticket), stand.value, ex=TOMBSTONE_SECONDS)
                together.publish(channel(ticket.job), ENDED)
            together.execute()


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
