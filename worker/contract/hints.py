"""How far a step has come, for a page that somebody looks at. Only hints: they may get lost."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from worker.contract.messages import StepKind, StepMessage

ANSWER_SECONDS = 0.5
"""For Redis to take a hint: a step does not wait for longer."""

CHANNELS = "tilelab:progress:*"
"""All channels, for who listens to all hints."""

_PAUSE_SECONDS = 5.0
_DETAIL_SECONDS = 0.2
_PREFIX = CHANNELS.removesuffix("*")
_LONGEST = 120

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint, as it came.

    attempt: at the step; at: when it was told, by the worker's clock
    phase: compiling, checking, counting, measuring; detail: how far that has come, such as "3 of 14: Width=17 real"
    """

    job: int
    step: StepKind
    attempt: int
    at: float
    phase: str
    detail: str


def channel(job: int) -> str:
    """Where the hints about a job are published, each {"step", "attempt", "at", "what"}."""
    return f"{_PREFIX}{job}"


def read_hint(told_on: object, data: object) -> Hint | None:
    """The hint in a message; None where it is none: whoever can write to the broker can write anything."""
    if not isinstance(told_on, str) or not isinstance(data, str) or len(data) > 10 * _LONGEST:
        return None
    number = told_on.removeprefix(_PREFIX)
    try:
        told = json.loads(data)
        return _hint(int(number), told) if number.isascii() and number.isdecimal() else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _hint(job: int, told: Any) -> Hint | None:
    at, attempt = float(told["at"]), told["attempt"]
    phase, _, detail = str(told["what"])[:_LONGEST].partition(" ")
    if not math.isfinite(at) or not isinstance(attempt, int) or not phase.isalpha():
        return None
    return Hint(job, StepKind(told["step"]), attempt, at, phase, detail)


class Hints:
    """Publishes hints; where Redis is slow or away, none for a while."""

    def __init__(self, client: redis.Redis, now: Callable[[], float] = time.monotonic) -> None:
        """client: from worker.contract.broker.connect_redis, with ANSWER_SECONDS."""
        self._client = client
        self._now = now
        self._not_before = 0.0

    def of(self, message: StepMessage) -> Callable[[str], None]:
        """What the workplace tells as the step goes on: a phase, or a phase and how far it has come.

        Of details that follow each other closely some are left out: a step is not to be slowed down by its telling.
        """
        last = ""
        quiet_until = 0.0

        def told(what: str) -> None:
            nonlocal last, quiet_until
            phase, now = what.partition(" ")[0], self._now()
            if phase == last and now < quiet_until:
                return
            last, quiet_until = phase, now + _DETAIL_SECONDS
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
