"""Receives all hints of workers over one connection to Redis, and reconnects after any outage."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

import redis

from worker.contract.broker import BrokerUrlError, connect_redis
from worker.contract.hints import CHANNELS, Hint, ended_job, kept_hint, read_hint

_LOOK_SECONDS = 0.25
_PAUSES = (0.5, 1.0, 2.0, 5.0)

logger = logging.getLogger(__name__)


class Listener:
    """A thread that passes on each hint until it is stopped."""

    def __init__(
        self, redis_url: str, heard: Callable[[Hint], None], ended: Callable[[int], None] = lambda _: None
    ) -> None:
        """Start the thread. It calls both functions, which must not raise.

        heard: called for each hint; ended: for each job with an attempt that is over
        """
        self._redis_url = redis_url
        self._heard, self._ended = heard, ended
        self._stop = threading.Event()
        self._wanted: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
        self._thread.start()

    def recall(self, job: int) -> None:
        """Pass on the job's last hint with output, too, if there is one; returns at once."""
        self._wanted.put(job)

    def stop(self) -> None:
        """Stop listening; returns at once."""
        self._stop.set()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                self._listen()
                failures = 0
            except BrokerUrlError:
                return  # other parts report an invalid URL
            except (redis.RedisError, OSError, ValueError) as error:
                if failures == 0:
                    logger.info("no hints of progress, Redis is unavailable: %s", type(error).__name__)
                self._stop.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    def _take(self, told_on: object, data: object) -> None:
        if (job := ended_job(told_on, data)) is not None:
            self._ended(job)
        elif (hint := read_hint(told_on, data)) is not None:
            self._heard(hint)

    def _listen(self) -> None:
        with connect_redis(self._redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
            pubsub.psubscribe(CHANNELS)
            while not self._stop.is_set():
                message = pubsub.get_message(timeout=_LOOK_SECONDS)
                if message is not None:
                    self._take(message.get("channel"), message.get("data"))
                while not self._wanted.empty():
                    kept = kept_hint(client, self._wanted.get())
                    if kept is not None:
                        self._heard(kept)
