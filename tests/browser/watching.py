"""What a browser complains about while it shows a page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playwright.sync_api import ConsoleMessage, Page, Request, Response


@dataclass
class Complaints:
    """Errors and warnings on the console (a refused policy is one), scripts that fail, requests without an answer."""

    heard: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """What this test is about: a regular expression that is found in the complaint."""
        self.allowed.append(pattern)

    def left(self) -> list[str]:
        """Those that nobody expected."""
        return [text for text in self.heard if not any(re.search(each, text) for each in self.allowed)]

    def listen(self, page: Page) -> None:
        """To this page from now on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.heard.append(f"script: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.heard.append(f"console: {message.text} ({message.location['url']})")

    def _failed(self, request: Request) -> None:
        # a page that is left gives up what it still loads
        if request.failure != "net::ERR_ABORTED":
            self.heard.append(f"request: {request.method} {request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.heard.append(f"answer: {response.status} for {response.request.method} {response.url}")
