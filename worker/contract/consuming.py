"""A Celery worker in this very process: one task at a time, in the main thread, until it is told to stop."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from celery import Celery
from celery.app import trace
from celery.exceptions import CPendingDeprecationWarning
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from celery.worker.request import Request

from worker.supervision.heartbeat import EVERY_SECONDS

_AGAIN_SECONDS = 2.0
_LONGEST_REASON = 300

logger = logging.getLogger(__name__)


def consume(app: Celery, queue: str, name: str, beat: Callable[[], None] = lambda: None) -> bool:
    """Take the messages of a queue, one after the other; waits for the broker as long as it takes.

    Ends after `stop_consuming`, when the task in work has ended, and says True; or, with False, because of something
    in the queue that is no message of Celery's at all, which is gone then. Call it once in a process.

    Handles no signals, and changes nothing about where logs go: both are the caller's.

    name: what the connection is known by, unique in the fleet
    beat: called about once a second by what takes the messages itself, also while the broker is away; never while a
        task is in work
    """
    # said at every loss of the connection, and what it advises is what celery_app decided against
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
    keep_own_tasks(app)
    app.Task.Request = _Taken  # type: ignore[assignment] # celery-types knows only the name of a class
    trace.setup_worker_optimizations(app, name)
    controller: Any = WorkController(
        app=app, hostname=name, queues=[queue], pool_cls="solo", concurrency=1, loglevel=None,
        consumer_cls=partial(_Patient, beat=beat),
        without_gossip=True, without_mingle=True, without_heartbeat=True,
    )  # fmt: skip
    controller.start()
    return not controller.exitcode


def keep_own_tasks(app: Celery) -> None:
    """Unregister Celery's built-in tasks: some call other tasks with whatever a message says."""
    app.finalize()
    for name in [name for name in app.tasks if name.startswith("celery.")]:
        app.tasks.unregister(name)


def stop_consuming() -> None:
    """Take no further message. Safe in a signal's handler and in any thread."""
    state.should_stop = 0  # type: ignore[assignment] # celery-types knows only what it is at first


class _Patient(Consumer):
    """Looks for its broker again and again, and drops what it cannot take.

    Celery by itself looks more and more seldom, up to twice a minute. And at some messages that hold nonsense it dies,
    puts them back while it ends, and dies of them again at the next start, like everyone who serves the queue.
    """

    def __init__(self, *arguments: Any, beat: Callable[[], None], **named: Any) -> None:
        self._beat = beat
        super().__init__(*arguments, **named)

    def register_with_event_loop(self, hub: Any) -> None:
        """Beat in the loop itself, so that one that is stuck falls silent. Celery calls this for each connection."""
        super().register_with_event_loop(hub)
        hub.timer.call_repeatedly(EVERY_SECONDS, self._beat)

    def create_task_handler(self, *arguments: Any, **named: Any) -> Any:
        handle = super().create_task_handler(*arguments, **named)
        broker: Any = cast("Any", self).conninfo
        of_the_broker = (*broker.connection_errors, *broker.channel_errors)

        def take(message: Any) -> None:
            try:
                handle(message)
            except of_the_broker:
                raise
            except Exception as error:
                if message.acknowledged:  # then it had been begun, and is not to blame
                    raise
                why = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
                logger.error("a message cannot be taken, and is dropped: %s", why)  # noqa: TRY400 - a trace says no more
                message.reject_log_error(logger, broker.connection_errors)

        return take

    def ensure_connected(self, conn: Any) -> Any:
        connect = conn.ensure_connection

        def patiently(errback: Any, most: Any, callback: Callable[[], None]) -> Any:
            def each_second() -> None:
                self._beat()
                callback()

            return connect(
                errback,
                most,
                callback=each_second,
                interval_start=_AGAIN_SECONDS,
                interval_step=0,
                interval_max=_AGAIN_SECONDS,
            )

        conn.ensure_connection = patiently
        return super().ensure_connected(conn)


class _Taken(Request):
    """A message that was taken. Where it cannot be acknowledged, the connection is made anew.

    Celery only logs that. With one message at a time, kombu would then wait for ever for the last one's
    acknowledgement before it takes another, if the broker comes back before it is missed. Made anew, the connection
    owes nothing, and should the message come once more, it is known to be done.
    """

    def acknowledge(self) -> None:
        """Acknowledge it, once."""
        if not self.acknowledged:
            self.acknowledged = True
            self.message.ack()
