"""Why a submission is not taken: one class for each reason, and a sentence that says when it would be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

_AT = "{at}"


class NotAccepted(ValueError):
    """The submission cannot be taken; the text says why, to whoever handed it in.

    code: for programs, one for each kind
    seconds: until it is worth another try; 0 where time changes nothing
    at: a moment that the text speaks of; it stands there in UTC, and in `told` as the reader writes times
    """

    code = "invalid"
    seconds = 0

    def __init__(self, text: str, at: datetime | None = None) -> None:
        super().__init__(_with(text, at, _in_utc))
        self._text = text
        self.at = at

    def told(self, moment: Callable[[datetime], str]) -> str:
        return _with(self._text, self.at, moment)


class NoSuchAssignment(NotAccepted):
    """There is none, or none that this person may see: the two are told alike."""

    code = "no_such_assignment"


class NotOpen(NotAccepted):
    """Its course is over."""

    code = "not_open"


class Closed(NotAccepted):
    """The last moment for late ones has passed."""

    code = "closed"


class NoAttemptsLeft(NotAccepted):
    """All that this person has were used."""

    code = "no_attempts_left"


class TooOften(NotAccepted):
    """A limit that time lifts."""

    code = "too_often"

    def __init__(self, text: str, seconds: float, at: datetime | None = None) -> None:
        super().__init__(text, at)
        self.seconds = max(1, -int(-seconds // 1))


class DiskFull(NotAccepted):
    """The server's disk has no room for more; an operator makes some."""

    code = "disk_full"
    seconds = 60


class UnusableRequest(NotAccepted):
    """What was asked for beside the source cannot be had."""


class IdempotencyConflict(NotAccepted):
    """The key was used before, for something else."""

    code = "key_used"


def _with(text: str, at: datetime | None, moment: Callable[[datetime], str]) -> str:
    return text if at is None else text.replace(_AT, moment(at))


def _in_utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
