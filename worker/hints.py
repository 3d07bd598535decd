"""How far a step has come, for a page that somebody looks at. Only hints: they may get lost."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

import redis

from worker.messages import StepMessage

ANSWER_SECONDS = 0.5
"""For Redis to take a hint: a step does not wait for longer."""

_PAUSE_SECONDS = 5.0

logger = logging.getLogger(__name__)


def channel(job: int) -> str:
    """Where the hints about a job are published, each {"step", "attempt", "at", "what"}."""
    return f"tilelab:progress:{job}"


class Hints:
    """Publishes hints; where Redis is slow or away, none for a while."""

    def __init__(self, client: redis.Redis, now: Callable[[], float] = time.monotonic) -> None:
        """client: from worker.broker.connect_redis, with ANSWER_SECONDS."""
        self._client = client
        self._now = now
        self._not_before = 0.0

    def of(self, message: StepMessage) -> Callable[[str], None]:
        """What the workplace tells as the step goes on."""

        def told(what: str) -> None:
            self._publish(message, what)

        return told

    def _publish(self, message: StepMessage, what: str) -> None:
        if self._now() < self._not_before:
            return
        ticket = message.ticket
        hint = {
            "step": ticket.kind.value,
            "attempt": message.attempt,
            "at": round(time.time(), 3),
            "what": what,
        }
        try:
            self._client.publish(channel(ticket.job), json.dumps(hint))
        except (redis.RedisError, OSError) as error:
            logger.debug("a hint about the progress is lost: %s", error)
            self._not_before = self._now() + _PAUSE_SECONDS
