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

ENDED = "ended"
"""Sent on a job's channel in place of a hint once the database has the outcome of an attempt."""

KEPT_SECONDS = 600
"""How long the broker keeps a job's last hint with output, for a page that is opened later."""

_PAUSE_SECONDS = 5.0
_DETAIL_SECONDS = 0.2
_PREFIX = CHANNELS.removesuffix("*")
_KEPT = "tilelab:printed:"
_LONGEST = 120
_LONGEST_NUMBER = 18
_LONGEST_PRINTED = 1_000
# JSON has up to 12 characters for one.
_LONGEST_MESSAGE = 12 * (_LONGEST_PRINTED + 3 * _LONGEST)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint.

    attempt: number of the step's attempt
    at: time by the worker's clock
    phase: compiling, checking, counting or measuring
    detail: progress within the phase, such as "3 of 14: Width=17 real"
    printed: what the kernel printed in the test case `printed_case`, cut at a limit; both may be ""
    """

    job: int
    step: StepKind
    attempt: int
    at: float
    phase: str
    detail: str
    printed_case: str = ""
    printed: str = ""


def channel(job: int) -> str:
    """The channel for a job's hints. Each hint is {"step", "attempt", "at", "what"}; `Hints.of` describes "what"."""
    return f"{_PREFIX}{job}"


def kept_hint(client: redis.Redis, job: int) -> Hint | None:
    return read_hint(channel(job), client.get(f"{_KEPT}{job}"))


def ended_job(told_on: object, data: object) -> int | None:
    """The job whose attempt is over; None for any other message."""
    return _job(told_on) if data == ENDED else None


def _job(told_on: object) -> int | None:
    number = told_on.removeprefix(_PREFIX) if isinstance(told_on, str) else ""
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= _LONGEST_NUMBER else None


def read_hint(told_on: object, data: object) -> Hint | None:
    """The hint in a message, or None if it isn't valid. Messages from the broker are untrusted."""
    job = _job(told_on)
    if job is None or not isinstance(data, str) or len(data) > _LONGEST_MESSAGE:
        return None
    try:
        return _hint(job, json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _hint(job: int, told: Any) -> Hint | None:
    at, attempt = float(told["at"]), told["attempt"]
    what, case, printed = (*str(told["what"]).split("\n", 2), "", "")[:3]
    phase, _, detail = what[:_LONGEST].partition(" ")
    if not math.isfinite(at) or not isinstance(attempt, int) or not phase.isalpha():
        return None
    return Hint(job, StepKind(told["step"]), attempt, at, phase, detail, case[:_LONGEST], printed[:_LONGEST_PRINTED])


class Hints:
    """Publishes hints. If Redis is slow or away, pauses for a while."""

    def __init__(self, client: redis.Redis, now: Callable[[], float] = time.monotonic) -> None:
        """client: from worker.contract.broker.connect_redis, with ANSWER_SECONDS."""
        self._client = client
        self._now = now
        self._not_before = 0.0

    def of(self, message: StepMessage) -> Callable[[str], None]:
        """A function that publishes a step's hints: "PHASE", or "PHASE DETAIL".

        The name of a test case and its output may follow, each after a line break. Skips details that follow each other
        closely, because hints must not slow down a step.
        """
        last, printing = "", False
        quiet_until = 0.0

        def told(what: str) -> None:
            nonlocal last, quiet_until, printing
            phase, now, prints = what.partition(" ")[0], self._now(), "\n" in what
            if phase == last and now < quiet_until and (printing or not prints):
                return
            last, quiet_until, printing = phase, now + _DETAIL_SECONDS, prints
            self._publish(message, what)

        return told

    def _publish(self, message: StepMessage, what: str) -> None:
        if self._now() < self._not_before:
            return
        ticket = message.ticket
        hint = {"step": ticket.kind.value, "attempt": message.attempt, "at": round(time.time(), 3), "what": what}
        data = json.dumps(hint)
        try:
            self._client.publish(channel(ticket.job), data)
            if "\n" in what:
                self._client.set(f"{_KEPT}{ticket.job}", data, ex=KEPT_SECONDS)
        except (redis.RedisError, OSError) as error:
            logger.debug("lost a progress hint: %s", error)
            self._not_before = self._now() + _PAUSE_SECONDS
