"""Errors of requests to the portal. Each text is one line that says what to do, safe for a terminal."""

from __future__ import annotations

from kernels.rendering.text_safety import safe

_LONGEST = 600


class PortalError(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


class NoAnswer(PortalError):
    """The portal is down or unreachable, so a retry may work. retry_after: seconds to wait, if the portal says."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class NotTrusted(PortalError):
    """The server's certificate is not trusted."""


class Unreadable(PortalError):
    """The answer doesn't look like a portal's."""


class NotDone(PortalError):
    """The portal refused the request. status, code: see the API's description; retry_after: seconds, if given."""

    def __init__(self, text: str, status: int, code: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.retry_after = retry_after


def one_line(text: str) -> str:
    """Untrusted text as one short line without control characters."""
    line = " ".join(safe(text.replace("\n", " ").replace("\r", " ")).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
