"""Workers' records as keys in Redis: one record each, the set of their IDs, and orders.

A worker may write only keys with its own ID, and add an ID to the set. So it can't hide another worker.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

import redis

from kernels.wire import WireError, from_plain, to_plain
from worker.contract.broker import broker_errors
from worker.contract.fleet import Wanted, WorkerRecord, WorkerState

KEPT_SECONDS = 3600
"""How long the record of a silent worker stays."""

CLOCK_SECONDS = 5.0
"""How much the clocks of two machines may differ."""

_WANTED_SECONDS = 24 * 3600
# A student's kernel with random verdicts must not keep workers testing themselves.
_TEST_SECONDS = 3600
_RECORD_BYTES = 2**18
_LONGEST_REASON = 300
_BOARD = "tilelab:worker-ids"
_TESTED = "tested"

logger = logging.getLogger(__name__)


class RedisFleet:
    """Workers' records, for workers and operators. Raises worker.contract.broker.BrokerUnavailable."""

    def __init__(self, client: redis.Redis) -> None:
        """client: from worker.contract.broker.connect_redis."""
        self._client = client
        self._unreadable: set[str] = set()

    def tell(self, record: WorkerRecord) -> Wanted:
        wanted, test = self._orders(record.id)
        # Redis may have lost an operator's order, but a drained worker still remembers it
        draining = record.state in {WorkerState.DRAINING, WorkerState.DRAINED, WorkerState.OUT}
        key = _wanted_key(record.id)
        text = json.dumps(to_plain(self._timed(record)), separators=(",", ":"))
        with broker_errors(self._client), self._client.pipeline(transaction=True) as together:
            together.sadd(_BOARD, record.id)
            together.set(_record_key(record.id), text, ex=KEPT_SECONDS)
            if draining and wanted is None:
                together.set(key, Wanted.DRAIN.value, nx=True, ex=_WANTED_SECONDS)
            together.expire(key, _WANTED_SECONDS)
            if test == Wanted.TEST:
                together.set(_test_key(record.id), _TESTED, xx=True, keepttl=True)
            together.execute()
        if test == Wanted.TEST:
            return Wanted.TEST
        return Wanted.DRAIN if wanted == Wanted.DRAIN or (draining and wanted is None) else Wanted.WORK

    def _timed(self, record: WorkerRecord) -> WorkerRecord:
        """The record with the time of Redis's clock, because workers' clocks may differ. It says if this one does."""
        begun = time.time()
        beat = self.now()
        ahead = (begun + time.time()) / 2 - beat
        if abs(ahead) < CLOCK_SECONDS:
            return replace(record, beat=beat)
        order = "ahead of" if ahead > 0 else "behind"
        wrong = f"The clock of this machine is {abs(ahead):.0f} s {order} Redis's. Let NTP set it."
        return replace(record, beat=beat, reason=f"{record.reason} {wrong}".strip())

    def _orders(self, worker: str) -> tuple[object, object]:
        with broker_errors(self._client):
            wanted, test = self._client.mget([_wanted_key(worker), _test_key(worker)])
        return wanted, test

    def leave(self, worker: str) -> None:
        with broker_errors(self._client):
            self._client.delete(_record_key(worker), _wanted_key(worker), _test_key(worker))

    @property
    def unreadable(self) -> frozenset[str]:
        """Workers whose records this version can't read, as `workers` found them last."""
        return frozenset(self._unreadable)

    def workers(self) -> Sequence[WorkerRecord]:
        with broker_errors(self._client):
            names = sorted(map(str, self._client.smembers(_BOARD)))
            texts = self._client.mget([_record_key(worker) for worker in names]) if names else []
            if gone := [name for name, text in zip(names, texts, strict=True) if text is None]:
                # A worker that is still there adds itself with its next heartbeat.
                self._client.srem(_BOARD, *gone)
        self._unreadable &= set(names)
        found = [self._read(*each) for each in zip(names, texts, strict=True) if each[1] is not None]
        return [record for record in found if record is not None]

    def _read(self, worker: str, text: object) -> WorkerRecord | None:
        """A record, or None if this version can't read it, which is logged once."""
        try:
            return _record(worker, text)
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


def _record(worker: str, text: object) -> WorkerRecord:
    if not isinstance(text, str) or len(text) > _RECORD_BYTES:
        raise ValueError("too long")
    record = from_plain(WorkerRecord, json.loads(text), lenient=True)
    if record.id != worker:
        raise ValueError(f"{worker} reports for another worker")
    return record
