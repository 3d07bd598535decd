"""What tests of workers share: a worker with real slots, seen on the real board."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from tests.services.redis_server import as_worker
from tests.worker.fleet.watched import Watched, wait_until
from worker.contract.broker import connect_redis
from worker.contract.fleet import WorkerRecord, WorkerState
from worker.contract.redis_fleet import RedisFleet


def working(redis_url: str, **asked: object) -> Watched:
    return Watched(
        [sys.executable, "-m", "tests.worker.fleet.working", json.dumps(asked)],
        {**os.environ, "REDIS_URL": as_worker(redis_url), "PYTHONWARNINGS": "error"},
    )


class Seen:
    """The board, as an operator sees it."""

    def __init__(self, url: str) -> None:
        self.client = connect_redis(url)
        self.fleet = RedisFleet(self.client)

    def close(self) -> None:
        self.client.close()

    def record(self) -> WorkerRecord | None:
        """Of the one worker that there is."""
        records = self.fleet.workers()
        assert len(records) <= 1
        return records[0] if records else None

    def until(self, holds: Callable[[WorkerRecord], bool]) -> WorkerRecord:
        found: list[WorkerRecord] = []

        def seen() -> bool:
            record = self.record()
            if record is not None and holds(record):
                found.append(record)
            return bool(found)

        wait_until(seen, lambda: f"{self.record()}")
        return found[0]

    def state(self, *states: WorkerState) -> WorkerRecord:
        return self.until(lambda record: record.state in states)
