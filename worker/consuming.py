"""A Celery worker in this very process: one task at a time, in the main thread, until it is told to stop."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.app import trace
from celery.worker import WorkController, state


def consume(app: Celery, queue: str, name: str) -> bool:
    """Take the messages of a queue, one after the other; waits for the broker as long as it takes.

    Ends after `stop_consuming`, when the task in work has ended; says whether that was why. Handles no signals, and
    changes nothing about logging: both are the caller's.

    name: what the connection is known by, unique in the fleet
    """
    trace.setup_worker_optimizations(app, name)
    controller: Any = WorkController(
        app=app, hostname=name, queues=[queue], pool_cls="solo", concurrency=1, loglevel=None,
        without_gossip=True, without_mingle=True, without_heartbeat=True,
    )  # fmt: skip
    controller.start()
    return not controller.exitcode


def stop_consuming() -> None:
    """Take no further message. Safe in a signal's handler and in any thread."""
    state.should_stop = 0  # type: ignore[assignment] # celery-types knows only what it is at first
