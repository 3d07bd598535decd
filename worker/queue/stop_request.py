"""Stopping a slot after its step or at once, without losing a step."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from worker.contract.celery_consumer import stop_consuming

_LOOK_SECONDS = 0.25
_SIGNALS_TO_DIE = 3

logger = logging.getLogger(__name__)


class Stop:
    """A request to stop, by signals or by the death of the parent.

    After the first signal, the running step has `grace_seconds` to finish. The second signal aborts it. The third ends
    the process at once.

    asked: start no new step; given_up: abort the running step without a verdict
    """

    def __init__(self, grace_seconds: float, abort: Callable[[], None], parent: int | None = None) -> None:
        """abort: aborts the running step, if any; parent: this process ends when the parent does."""
        self.asked = False
        self.given_up = False
        self._grace = grace_seconds
        self._abort = abort
        self._parent = parent
        self._signals = 0
        # plain attributes instead of events, because a signal handler may interrupt anything, even itself
        self._thread = threading.Thread(target=self._watch, name="stopping", daemon=True)

    def listen(self) -> None:
        """Handle SIGTERM and SIGINT from now on. Call it in the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        self._thread.start()

    def _on_signal(self, number: int, frame: object) -> None:  # noqa: ARG002 - the signature of a handler
        self._signals += 1
        if self._signals >= _SIGNALS_TO_DIE:
            os._exit(128 + number)
        self.asked = True
        self.given_up = self.given_up or self._signals > 1
        stop_consuming()

    def _watch(self) -> None:
        while not self.asked and not self._orphaned():
            time.sleep(_LOOK_SECONDS)
        if not self.asked:
            logger.warning("the parent process is gone, so this slot ends too")
            self.asked = self.given_up = True
            stop_consuming()
        deadline = time.monotonic() + self._grace
        while not self.given_up and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        self.given_up = True
        # The step may not have begun at the first call.
        while True:
            self._abort()
            time.sleep(_LOOK_SECONDS)

    def _orphaned(self) -> bool:
        return self._parent is not None and os.getppid() != self._parent
