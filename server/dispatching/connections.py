"""The dispatcher's connections to Redis: claims, fleet, broker and sender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import redis
from celery import Celery

from server.dispatching.attempt_watch import EMPTY_SECONDS
from server.fleet.broker_users import BrokerUsers
from server.fleet.models import WorkerKey
from worker.contract.broker import StepSender, broker_errors, celery_app, connect_redis
from worker.contract.claims import Claims
from worker.contract.fleet import Fleet
from worker.contract.messages import StepMessage, Ticket
from worker.contract.redis_claims import RedisClaims
from worker.contract.redis_fleet import RedisFleet


class Sender(Protocol):
    """Sends messages. Raises ConnectionError if the broker is unavailable, MessageError if a message is too large."""

    def send(self, queue: str, message: StepMessage) -> None: ...


class Broker(Protocol):
    """The state of the broker. Raises ConnectionError if it is unavailable."""

    def state(self, queues: Sequence[str]) -> tuple[str, Mapping[str, int]]:
        """The ID of this run of Redis, new at each start, and the number of messages in each queue."""

    def reserve(self, tickets: Sequence[Ticket]) -> Sequence[bool]:
        """Whether to send each of these messages again: False if another dispatcher has just reserved it."""


class Users(Protocol):
    """The workers' users in Redis. Raises ConnectionError if it is unavailable."""

    def apply(self, keys: Sequence[WorkerKey]) -> None:
        """Make a user for each worker with a key; remove all others."""


@dataclass(frozen=True, slots=True)
class Connections:
    claims: Claims
    fleet: Fleet
    broker: Broker
    sender: Sender
    users: Users


class RedisBroker:
    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def state(self, queues: Sequence[str]) -> tuple[str, Mapping[str, int]]:
        """Read both in one round trip; raises worker.contract.broker.BrokerUnavailable."""
        # The dispatcher asks this in every round, up to 50 times a second.
        with broker_errors(self._client), self._client.pipeline(transaction=False) as together:
            together.info("server")
            for queue in queues:
                together.llen(queue)
            server, *lengths = together.execute()
        return str(server["run_id"]), dict(zip(queues, lengths, strict=True))

    def reserve(self, tickets: Sequence[Ticket]) -> Sequence[bool]:
        """Reserve all in one round trip; raises worker.contract.broker.BrokerUnavailable."""
        if not tickets:
            return []
        with broker_errors(self._client), self._client.pipeline(transaction=False) as together:
            for ticket in tickets:
                together.set(f"tilelab:again:{ticket.token}", "", nx=True, px=int(1000 * EMPTY_SECONDS))
            return [bool(reserved) for reserved in together.execute()]


def connections_to(redis_url: str) -> Connections:
    """The connections to a Redis; opens none yet. Raises BrokerUrlError for an invalid URL."""
    client = connect_redis(redis_url)
    app: Celery = celery_app(redis_url)
    fleet, users = RedisFleet(client), BrokerUsers(client)
    return Connections(RedisClaims(client), fleet, RedisBroker(client), StepSender(app), users)
