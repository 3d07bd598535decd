"""Heartbeats of the server's processes and their counters, in Redis, for monitoring.

Nothing depends on them. If Redis loses them, each process soon reports again.
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import redis

from worker.contract.broker import BrokerUnavailable, broker_errors
from worker.contract.messages import RESULTS_QUEUE

EVERY_SECONDS = 5.0
SILENT_SECONDS = 30.0
_BOARD = "tilelab:processes"
_LATE = "tilelab:late-results"
_REFUSED = "tilelab:refused-results"

# By the clock of Redis, because the machines' clocks may differ.
_TELL = """
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] - ARGV[2])
"""


@dataclass(slots=True)
class Presence:
    """A running process. what: "dispatcher" or "recorder"."""

    client: redis.Redis
    what: str
    _name: str = field(init=False)
    _told: float = -EVERY_SECONDS

    def __post_init__(self) -> None:
        self._name = f"{self.what} {socket.gethostname()} {os.getpid()}"

    def tell(self) -> None:
        """Report that the process is alive; call it as often as you like. Ignores an unreachable Redis."""
        now = time.monotonic()
        if now - self._told < EVERY_SECONDS:
            return
        self._told = now
        try:
            with broker_errors(self.client):
                self.client.eval(_TELL, 1, _BOARD, self._name, SILENT_SECONDS)
        except BrokerUnavailable:
            return

    def came_late(self) -> None:
        """Count a result for a try that no longer counts."""
        try:
            with broker_errors(self.client):
                self.client.incr(_LATE)
        except BrokerUnavailable:
            return

    def distrusted(self, why: str) -> None:
        """Count a result that was refused, because it can't be trusted."""
        try:
            with broker_errors(self.client):
                self.client.hincrby(_REFUSED, why, 1)
        except BrokerUnavailable:
            return


@dataclass(frozen=True, slots=True)
class InRedis:
    """The metrics in Redis.

    processes: the number of running processes of each kind
    results: waiting to be recorded; late: refused since Redis started
    distrusted: refused since Redis started, because they can't be trusted, by reason
    clock_ahead: seconds by which this machine's clock is ahead of Redis's
    """

    processes: Mapping[str, int]
    results: int
    late: int
    distrusted: Mapping[str, int] = field(default_factory=dict)
    clock_ahead: float = 0.0


def look(client: redis.Redis) -> InRedis:
    """Read the metrics in one round trip; raises BrokerUnavailable."""
    begun = time.time()
    with broker_errors(client), client.pipeline(transaction=False) as together:
        together.time()
        together.zrange(_BOARD, 0, -1, withscores=True)
        together.llen(RESULTS_QUEUE)
        together.get(_LATE)
        together.hgetall(_REFUSED)
        (now, microseconds), board, results, late, refused = together.execute()
    ahead = (begun + time.time()) / 2 - now - microseconds / 1e6
    living = Counter(name.partition(" ")[0] for name, told in board if now - told <= SILENT_SECONDS)
    return InRedis(living, int(results), int(late or 0), {why: int(count) for why, count in refused.items()}, ahead)
