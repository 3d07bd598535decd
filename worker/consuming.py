"""A Celery worker in this very process: one task at a time, in the main thread, until it is told to stop."""

from __future__ import annotations

import logging
import warnings
from functools import partial
from typing import Any, cast

from celery import Celery
from celery.app import trace
from celery.exceptions import CPendingDeprecationWarning
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from celery.worker.request import Request

_AGAIN_SECONDS = 2.0
_LONGEST_REASON = 300

logger = logging.getLogger(__name__)


def consume(app: Celery, queue: str, name: str) -> bool:
    """Take the messages of a queue, one after the other; waits for the broker as long as it takes.

    Ends after `stop_consuming`, when the task in work has ended, and says True; or, with False, because of something
    in the queue that is no message of Celery's at all, which is gone then. Call it once in a process.

    Handles no signals, and changes nothing about where logs go: both are the caller's.

    name: what the connection is known by, unique in the fleet
    """
    # said at every loss of the connection, and what it advises is what celery_app decided against
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
    app.Task.Request = _Taken  # type: ignore[assignment] # celery-types knows only the name of a class
    trace.setup_worker_optimizations(app, name)
    controller: Any = WorkController(
        app=app, hostname=name, queues=[queue], pool_cls="solo", concurrency=1, loglevel=None, consumer_cls=_Patient,
        without_gossip=True, without_mingle=True, without_heartbeat=True,
    )  # fmt: skip
    controller.start()
    return not controller.exitcode


def stop_consuming() -> None:
    """Take no further message. Safe in a signal's handler and in any thread."""
    state.should_stop = 0  # type: ignore[assignment] # celery-types knows only what it is at first


class _Patient(Consumer):
    """Looks for its broker again and again, and drops what it cannot take.

    Celery by itself looks more and more seldom, up to twice a minute. And at some messages that hold nonsense it dies,
    puts them back while it ends, and dies of them again at the next start, like everyone who serves the queue.
    """

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
        conn.ensure_connection = partial(
            conn.ensure_connection,
            interval_start=_AGAIN_SECONDS,
            interval_step=0,
            interval_max=_AGAIN_SECONDS,
        )
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
