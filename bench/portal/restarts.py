"""Live pages in a real browser while web server and Redis are killed and restarted. Each must end up correct."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, Response, async_playwright
from playwright.async_api import TimeoutError as Late

from bench.portal.course import Waiting
from bench.portal.web_server import COOKIE, Web, percentile, sign_in
from bench.queue.ground import Ground
from bench.table import table
from tests.browser.chromium import launch_options

_PAGES = 50
_AWAY_SECONDS = 4.0
_ENDS_SECONDS = 120


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    figures = {}
    for name in ("the web server",) if quick else ("the web server", "Redis", "both"):
        with Ground(folder / name.replace(" ", "-"), students=_PAGES) as ground:
            figures[name] = asyncio.run(_measure(ground, name))
    return figures, _text(figures)


async def _measure(ground: Ground, what: str) -> dict[str, Any]:
    waiting = Waiting.of_all(ground)
    web = Web(ground, ground.database_url)
    await asyncio.to_thread(web.start)
    async with opened(web.port, sign_in(ground.sessions, ground.people), waiting.ids) as tabs:
        ending = asyncio.gather(*(tab.ends(_ENDS_SECONDS) for tab in tabs))
        back, last = await _go_through(ground, web, waiting, what)
        ended = await ending
    third = len(tabs) // 3
    waits = [
        max(0.0, end - (last if number >= 2 * third else back)) for number, end in enumerate(ended) if end is not None
    ] or [math.nan]
    return {
        "pages": len(tabs), "true": sum(end is not None for end in ended), "streams": sum(tab.streams for tab in tabs),
        "loads": sum(tab.loads for tab in tabs) - len(tabs), "p50": percentile(waits, 0.5), "last": max(waits),
    }  # fmt: skip


async def _go_through(ground: Ground, web: Web, waiting: Waiting, what: str) -> tuple[float, float]:
    """Go through one failure. Return when everything was back, and when the last submissions ended."""
    third = len(waiting.numbers) // 3
    waiting.begin(waiting.numbers)
    waiting.finish(waiting.numbers[:third])  # some end just before
    if what != "Redis":
        web.kill()
    if what != "the web server":
        ground.redis.kill()
    await asyncio.sleep(_AWAY_SECONDS / 2)
    waiting.finish(waiting.numbers[third : 2 * third])  # some end meanwhile
    await asyncio.sleep(_AWAY_SECONDS / 2)
    if what != "the web server":
        await asyncio.to_thread(ground.redis.start)
    if what != "Redis":
        await asyncio.to_thread(web.start)
    back = time.monotonic()
    await asyncio.sleep(2)
    last = time.monotonic()
    waiting.finish(waiting.numbers[2 * third :])  # and some end after
    return back, last


def _text(figures: dict[str, Any]) -> str:
    rows = [
        (
            name, f"{each['true']} of {each['pages']}", str(each["streams"]), str(each["loads"]), f"{each['p50']:.1f}",
            f"{each['last']:.1f}",
        )
        for name, each in figures.items()
    ]  # fmt: skip
    head = (
        "killed and restarted",
        "true at the end",
        "streams",
        "reloaded themselves",
        "p50 s until true",
        "the last, s",
    )
    return table(head, rows)


_LOADS_MS = 120_000
_TRUE = "() => document.title.startsWith('Accepted') && document.querySelector('[data-live]') === null"


@dataclass  # without slots, because Playwright sets an attribute on the object of a callback
class Tab:
    """The page of one submission, which no one touches.

    streams: how often it began to listen; loads: how often it loaded itself
    """

    page: Page
    streams: int = 0
    loads: int = 0

    @classmethod
    async def open(cls, browser: Browser, port: int, cookie: str, submission: str) -> Tab:
        """Open a tab that listens."""
        context = await browser.new_context()
        address = f"http://127.0.0.1:{port}/submissions/{submission}"
        await context.add_cookies([{"name": COOKIE, "value": cookie, "url": address}])
        tab = cls(await context.new_page())
        tab.page.on("response", tab._count)
        async with tab.page.expect_response(lambda answer: answer.url.endswith("/events"), timeout=_LOADS_MS):
            await tab.page.goto(address, timeout=_LOADS_MS)
        return tab

    async def ends(self, seconds: float) -> float | None:
        """Return the time.monotonic when it showed the verdict; None if it didn't within `seconds`."""
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
    """Open one live tab for each submission."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options())
        try:
            yield [
                await Tab.open(browser, port, cookie, submission)
                for cookie, submission in zip(cookies, submissions, strict=True)
            ]
        finally:
            await browser.close()
