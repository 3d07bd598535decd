"""Pages in a real browser, each in a profile of its own: what stands on the screens of as many students."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Browser, Page, Response, async_playwright
from playwright.async_api import TimeoutError as Late

from bench.portal.house import COOKIE
from tests.browser.chromium import launch_options

_LOADS_MS = 120_000
_TRUE = "() => document.title.startsWith('Accepted') && document.querySelector('[data-live]') === null"


@dataclass  # without slots: Playwright leaves a mark on whose method it calls
class Tab:
    """The page of one submission, which nobody touches.

    streams: how often it began to listen; loads: how often it loaded itself
    """

    page: Page
    streams: int = 0
    loads: int = 0

    @classmethod
    async def open(cls, browser: Browser, port: int, cookie: str, submission: str) -> Tab:
        """One that listens."""
        context = await browser.new_context()
        address = f"http://127.0.0.1:{port}/submissions/{submission}"
        await context.add_cookies([{"name": COOKIE, "value": cookie, "url": address}])
        tab = cls(await context.new_page())
        tab.page.on("response", tab._count)
        async with tab.page.expect_response(lambda answer: answer.url.endswith("/events"), timeout=_LOADS_MS):
            await tab.page.goto(address, timeout=_LOADS_MS)
        return tab

    async def ends(self, seconds: float) -> float | None:
        """When it showed the verdict, of time.monotonic; None where it did not within so long."""
        try:
            await self.page.wait_for_function(_TRUE, timeout=1000 * seconds, polling=100)
        except Late:
            return None
        return time.monotonic()

    def _count(self, answer: Response) -> None:
        self.streams += answer.url.endswith("/events")
        self.loads += answer.request.is_navigation_request()


@asynccontextmanager
async def opened(port: int, cookies: Sequence[str], submissions: Sequence[str]) -> AsyncIterator[list[Tab]]:
    """One tab for each, all of them live."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options())
        try:
            yield [
                await Tab.open(browser, port, cookie, submission)
                for cookie, submission in zip(cookies, submissions, strict=True)
            ]
        finally:
            await browser.close()
