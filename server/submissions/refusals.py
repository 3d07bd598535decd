"""Reasons to refuse a submission, one class for each. The sentence says what to do next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from kernels.wording import plural

_AT = "{at}"


class NotAccepted(ValueError):
    """The submission is refused; the text tells the student why.

    code: for programs, one for each reason
    seconds: until another try makes sense; 0 if waiting doesn't help
    at: a time in the text; in UTC, and in the reader's time zone by `told`
    """

    code = "invalid"
    seconds = 0

    def __init__(self, text: str, at: datetime | None = None) -> None:
        super().__init__(_with(text, at, _in_utc))
        self._text = text
        self.at = at

    def told(self, moment: Callable[[datetime], str]) -> str:
        """The text with its time in the reader's format."""
        return _with(self._text, self.at, moment)


class NoSuchAssignment(NotAccepted):
    """The assignment doesn't exist or isn't visible to this person; the answer is the same, to reveal nothing."""

    code = "no_such_assignment"


class NotOpen(NotAccepted):
    """The course is archived."""

    code = "not_open"


class Closed(NotAccepted):
    code = "closed"


class SpendsLateDays(NotAccepted):
    """The submission would spend late days, and the student hasn't confirmed that. needed: how many."""

    code = "late_days"

    def __init__(self, needed: int, left: int) -> None:
        super().__init__(f"This spends {needed:,} of your {plural(left, 'late day')}.")
        self.needed = needed


class NoAttemptsLeft(NotAccepted):
    """All attempts or checks are used."""

    code = "no_attempts_left"


class TooOften(NotAccepted):
    """A limit that ends by itself."""

    code = "too_often"

    def __init__(self, text: str, seconds: float, at: datetime | None = None) -> None:
        super().__init__(text, at)
        self.seconds = max(1, -int(-seconds // 1))


class DiskFull(NotAccepted):
    """The server's disk is almost full; an operator must free space."""

    code = "disk_full"
    seconds = 60


class UnusableRequest(NotAccepted):
    """The device class or the idempotency key is invalid."""


class IdempotencyConflict(NotAccepted):
    """The idempotency key was used before, for a different request."""

    code = "key_used"


def _with(text: str, at: datetime | None, moment: Callable[[datetime], str]) -> str:
    return text if at is None else text.replace(_AT, moment(at))


def _in_utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
