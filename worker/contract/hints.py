"""Hints: a running step's progress for pages. They may get lost."""

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
"""Timeout for publishing a hint, so that it doesn't slow down a step."""

CHANNELS = "tilelab:progress:*"
"""The pattern of all channels."""

_PAUSE_SECONDS = 5.0
_DETAIL_SECONDS = 0.2
_PREFIX = CHANNELS.removesuffix("*")
_LONGEST = 120

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint.

    attempt: number of the step's attempt
    at: time by the worker's clock
    phase: compiling, checking, counting or measuring
    detail: progress within the phase, such as "3 of 14: Width=17 real"
    """

    job: int
    step: StepKind
    attempt: int
    at: float
    phase: str
    detail: str


def channel(job: int) -> str:
    """The channel for a job's hints. Each hint is {"step", "attempt", "at", "what"}."""
    return f"{_PREFIX}{job}"


def read_hint(told_on: object, data: object) -> Hint | None:
    """The hint in a message, or None if it isn't valid. Messages from the broker are untrusted."""
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
    """Publishes hints. If Redis is slow or away, pauses for a while."""

    def __init__(self, client: redis.Redis, now: Callable[[], float] = time.monotonic) -> None:
        """client: from worker.contract.broker.connect_redis, with ANSWER_SECONDS."""
        self._client = client
        self._now = now
        self._not_before = 0.0

    def of(self, message: StepMessage) -> Callable[[str], None]:
        """A function that publishes a step's hints: "PHASE", or "PHASE DETAIL".

        Skips details that follow each other closely, because hints must not slow down a step.
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
            logger.debug("lost a progress hint: %s", error)
            self._not_before = self._now() + _PAUSE_SECONDS
