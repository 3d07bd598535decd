"""A Celery consumer in this process. It runs one task at a time in the main thread until it is stopped."""

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
from kombu.transport import virtual

from worker.supervision.heartbeat import EVERY_SECONDS

_AGAIN_SECONDS = 2.0
_LONGEST_REASON = 300

logger = logging.getLogger(__name__)


def consume(app: Celery, queue: str, name: str, beat: Callable[[], None] = lambda: None) -> bool:
    """Run the messages of a queue one by one. Waits while the broker is away.

    Returns True after `stop_consuming`, once the running task has ended. Returns False after an entry in the queue
    that isn't a Celery message; that entry is lost. Call it once per process.

    Leaves signals and logging to the caller.

    name: the connection's name, unique in the fleet
    beat: called about once a second between tasks, also while the broker is away
    """
    # Celery repeats this warning at every lost connection, and celery_app decided against its advice
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
    keep_own_tasks(app)
    # A worker may not write to a queue, so it returns nothing as it ends.
    virtual.QoS.restore_at_shutdown = False
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
    """Unregister Celery's built-in tasks, because some call other tasks with untrusted arguments."""
    app.finalize()
    for name in [name for name in app.tasks if name.startswith("celery.")]:
        app.tasks.unregister(name)


def stop_consuming() -> None:
    """Take no further message. You can call it in a signal handler and in any thread."""
    state.should_stop = 0  # type: ignore[assignment] # celery-types knows only the initial value


class _Patient(Consumer):
    """Reconnects every two seconds, and drops messages that can't be read.

    Celery's own pauses grow to half a minute. Some malformed messages kill it. It puts them back as it ends, so they
    also kill every other consumer of the queue.
    """

    def __init__(self, *arguments: Any, beat: Callable[[], None], **named: Any) -> None:
        self._beat = beat
        super().__init__(*arguments, **named)

    def register_with_event_loop(self, hub: Any) -> None:
        """Beat in the event loop, so that a stuck loop falls silent. Celery calls this for each connection."""
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
                if message.acknowledged:  # its task had started, so the message was fine
                    raise
                why = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
                logger.error("dropped an unreadable message: %s", why)  # noqa: TRY400 - a trace says no more
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
    """A received message. If its acknowledgement fails, the error reaches the consumer, which reconnects.

    Celery only logs the error. If the broker comes back at once, kombu then waits forever for this acknowledgement.
    A new connection owes nothing. If the message comes again, its claim says that it is done.
    """

    def acknowledge(self) -> None:
        """Acknowledge the message once."""
        if not self.acknowledged:
            self.acknowledged = True
            self.message.ack()
