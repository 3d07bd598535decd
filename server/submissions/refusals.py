"""Why a submission is not taken: one class for each reason, and a sentence that says when it would be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

_AT = "{at}"


class NotAccepted(ValueError):
    """The submission cannot be taken; the text says why, to whoever handed it in.

    at: a moment that the text speaks of; it stands there in UTC, and in `told` as the reader writes times
    """

    def __init__(self, text: str, at: datetime | None = None) -> None:
        super().__init__(_with(text, at, _in_utc))
        self._text = text
        self._at = at

    def told(self, moment: Callable[[datetime], str]) -> str:
        return _with(self._text, self._at, moment)


class NoSuchAssignment(NotAccepted):
    """There is none, or none that this person may see: the two are told alike."""


class NotOpen(NotAccepted):
    """Its course is over."""


class Closed(NotAccepted):
    """The last moment for late ones has passed."""


class NoAttemptsLeft(NotAccepted):
    """All that this person has were used."""


class TooOften(NotAccepted):
    """A limit that time lifts; seconds: until it is worth another try."""

    def __init__(self, text: str, seconds: float, at: datetime | None = None) -> None:
        super().__init__(text, at)
        self.seconds = max(1, -int(-seconds // 1))


class DiskFull(NotAccepted):
    """The server's disk has no room for more; an operator makes some. seconds: until it is worth another try."""

    seconds = 60


class UnusableRequest(NotAccepted):
    """What was asked for beside the source cannot be had."""


class IdempotencyConflict(NotAccepted):
    """The key was used before, for something else."""


def _with(text: str, at: datetime | None, moment: Callable[[datetime], str]) -> str:
    return text if at is None else text.replace(_AT, moment(at))


def _in_utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
