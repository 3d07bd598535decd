"""The cost of Celery alone: an empty task and its answer in a result backend, on the same broker."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from celery import Celery

from bench.queue.ground import Ground

QUEUE = "bench.bare"
TASK = "bench.echo"

_SECONDS = 60


def application() -> Celery:
    """Return plain Celery, with one process and one message ahead, like a slot."""
    url = os.environ["REDIS_URL"]
    app = Celery("bare", broker=url, backend=url, set_as_current=False)
    app.conf.update(
        worker_prefetch_multiplier=1, worker_concurrency=1, task_acks_late=True, worker_send_task_events=False,
        broker_connection_retry_on_startup=True, result_expires=600,
    )  # fmt: skip

    def echo(body: object) -> object:
        return body

    app.task(name=TASK)(echo)
    return app


@dataclass(slots=True)
class Bare:
    """Bare workers on a ground's broker."""

    ground: Ground
    app: Celery
    body: str

    @classmethod
    def on(cls, ground: Ground, body: str) -> Bare:
        """Return bare workers. body: the text that is sent and returned, as long as a step's message."""
        os.environ["REDIS_URL"] = ground.redis.url
        return cls(ground, application(), body)

    def start(self, number: int) -> str:
        """Start one more worker; return its name."""
        name = f"bare-{number}"
        words = ["worker", "-P", "solo", "-Q", QUEUE, "-n", f"{name}@bench", "-l", "warning"]
        self.ground.start(
            name, ["-m", "celery", "-A", "bench.queue.bare_app", *words, "--without-gossip", "--without-mingle"]
        )
        self.round_trip()
        return name

    def round_trip(self) -> float:
        """Return the seconds from sending one task to its answer."""
        began = time.perf_counter()
        self._send().get(timeout=_SECONDS)
        return time.perf_counter() - began

    def backlog(self, number: int, names: list[str]) -> float:
        """Return the seconds in which the workers finish that many waiting tasks."""
        for name in names:
            self.ground.hold(name)
        sent = [self._send() for _ in range(number)]
        began = time.perf_counter()
        for name in names:
            self.ground.go_on(name)
        for each in sent:
            each.get(timeout=_SECONDS)
        return time.perf_counter() - began

    def _send(self) -> Any:
        return self.app.send_task(TASK, (self.body,), queue=QUEUE)
