"""Workers' records as keys in Redis: one record each, an index by the last heartbeat, and orders."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import redis

from kernels.wire import WireError, from_plain, to_plain
from worker.contract.broker import broker_errors
from worker.contract.fleet import Wanted, WorkerRecord, WorkerState

KEPT_SECONDS = 3600
"""How long the record of a silent worker stays."""

_WANTED_SECONDS = 24 * 3600
# A student's kernel with random verdicts must not keep workers testing themselves.
_TEST_SECONDS = 3600
_RECORD_BYTES = 2**18
_LONGEST_REASON = 300
_BOARD = "tilelab:workers"

# All times come from Redis's clock, because workers' clocks may differ.
_NOW = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
"""
_TELL = f"""{_NOW}
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
local wanted = redis.call('GET', KEYS[3])
if not wanted and ARGV[4] ~= '' then
    wanted = ARGV[4]
    redis.call('SET', KEYS[3], wanted, 'EX', ARGV[5])
end
if wanted then redis.call('EXPIRE', KEYS[3], ARGV[5]) end
if redis.call('GET', KEYS[4]) == 'test' then
    redis.call('SET', KEYS[4], 'tested', 'KEEPTTL')
    return 'test'
end
return wanted
"""
_BEATS = f"""{_NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[1], '+inf', 'WITHSCORES')
"""

logger = logging.getLogger(__name__)


class RedisFleet:
    """Workers' records, for workers and operators. Raises worker.contract.broker.BrokerUnavailable."""

    def __init__(self, client: redis.Redis) -> None:
        """client: from worker.contract.broker.connect_redis."""
        self._client = client
        self._tell = client.register_script(_TELL)
        self._beats = client.register_script(_BEATS)
        self._unreadable: set[str] = set()

    def tell(self, record: WorkerRecord) -> Wanted:
        text = json.dumps(to_plain(record), separators=(",", ":"))
        # Redis may have lost an operator's order, but a drained worker still remembers it
        draining = record.state in {WorkerState.DRAINING, WorkerState.DRAINED, WorkerState.OUT}
        remembered = Wanted.DRAIN.value if draining else ""
        keys = [_BOARD, _record_key(record.id), _wanted_key(record.id), _test_key(record.id)]
        with broker_errors(self._client):
            said = self._tell(keys=keys, args=[record.id, text, KEPT_SECONDS, remembered, _WANTED_SECONDS])
        return Wanted(str(said)) if said in {Wanted.DRAIN, Wanted.TEST} else Wanted.WORK

    def leave(self, worker: str) -> None:
        with broker_errors(self._client), self._client.pipeline(transaction=True) as together:
            together.zrem(_BOARD, worker)
            together.delete(_record_key(worker), _wanted_key(worker), _test_key(worker))
            together.execute()

    def workers(self) -> Sequence[WorkerRecord]:
        with broker_errors(self._client):
            said = self._beats(keys=[_BOARD], args=[KEPT_SECONDS])
            assert isinstance(said, list)
            beats = {str(said[i]): float(said[i + 1]) for i in range(0, len(said), 2)}
            texts = self._client.mget([_record_key(worker) for worker in beats]) if beats else []
        assert isinstance(texts, list)
        found = [self._read(*each) for each in zip(beats, texts, beats.values(), strict=True)]
        self._unreadable &= beats.keys()
        return [record for record in found if record is not None]

    def _read(self, worker: str, text: object, beat: float) -> WorkerRecord | None:
        """A record, or None if this version can't read it, which is logged once."""
        try:
            return _record(text, beat)
        except (WireError, ValueError, RecursionError) as error:
            if worker not in self._unreadable:
                why = str(error)[:_LONGEST_REASON]
                logger.warning("cannot read a worker's record; it may have another version: %s", why)
            self._unreadable.add(worker)
            return None

    def want(self, worker: str, wanted: Wanted) -> None:
        with broker_errors(self._client):
            if wanted is Wanted.TEST:
                self._client.set(_test_key(worker), wanted.value, ex=_TEST_SECONDS, nx=True)
                return
            self._client.set(_wanted_key(worker), wanted.value, ex=_WANTED_SECONDS)

    def now(self) -> float:
        with broker_errors(self._client):
            seconds, microseconds = self._client.time()
        return float(seconds) + float(microseconds) / 1e6


def _record_key(worker: str) -> str:
    return f"tilelab:worker:{worker}"


def _wanted_key(worker: str) -> str:
    return f"tilelab:wanted:{worker}"


def _test_key(worker: str) -> str:
    return f"tilelab:test:{worker}"


def _record(text: object, beat: float) -> WorkerRecord | None:
    if not isinstance(text, str) or len(text) > _RECORD_BYTES:
        return None
    return replace(from_plain(WorkerRecord, json.loads(text)), beat=beat)
