"""What the dispatcher has to do with Redis, in one hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import redis
from celery import Celery

from worker.contract.broker import StepSender, broker_errors, celery_app, connect_redis
from worker.contract.claims import Claims
from worker.contract.fleet import Fleet
from worker.contract.messages import StepMessage
from worker.contract.redis_claims import RedisClaims
from worker.contract.redis_fleet import RedisFleet


class Sends(Protocol):
    """What publishes. Raises ConnectionError where the broker is away, MessageError for what is too large."""

    def send(self, queue: str, message: StepMessage) -> None: ...


class Broker(Protocol):
    """What the broker itself can be asked. Raises ConnectionError where it is away."""

    def state(self, queues: Sequence[str]) -> tuple[str, Mapping[str, int]]:
        """A name of this run of Redis, new at each of its starts; and how many messages each queue holds."""


@dataclass(frozen=True, slots=True)
class Connections:
    """All that a dispatcher has to do with Redis."""

    claims: Claims
    fleet: Fleet
    broker: Broker
    sender: Sends


class RedisBroker:
    """Redis as a broker."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def state(self, queues: Sequence[str]) -> tuple[str, Mapping[str, int]]:
        """In one round trip; raises worker.contract.broker.BrokerUnavailable."""
        with broker_errors(self._client), self._client.pipeline(transaction=False) as together:
            together.info("server")
            for queue in queues:
                together.llen(queue)
            server, *lengths = together.execute()
        return str(server["run_id"]), dict(zip(queues, lengths, strict=True))


def connections_to(redis_url: str) -> Connections:
    """All of it at that address. Connects to nothing yet; raises BrokerUrlError for an address that is none."""
    client = connect_redis(redis_url)
    app: Celery = celery_app(redis_url)
    return Connections(RedisClaims(client), RedisFleet(client), RedisBroker(client), StepSender(app))
