"""Why the portal did not do what was asked. Each text is one line that says what to do, fit for a terminal."""

from __future__ import annotations

from kernels.rendering.text_safety import safe

_LONGEST = 600


class PortalError(Exception):
    """The portal did not do it."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


class NoAnswer(PortalError):
    """It is away, or cannot be reached from here: another try may work. retry_after: seconds that it asked for."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class NotTrusted(PortalError):
    """Who answers cannot show that it is the portal."""


class Unreadable(PortalError):
    """It answered, and not as a portal does."""


class NotDone(PortalError):
    """It refused. status, code: as the API's description has them; retry_after: seconds, where it said so."""

    def __init__(self, text: str, status: int, code: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.retry_after = retry_after


def one_line(text: str) -> str:
    """Text from elsewhere, as one line that can neither move the cursor nor fill the screen."""
    line = " ".join(safe(text.replace("\n", " ").replace("\r", " ")).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
