"""Live pages while the web server and Redis are killed and come back: each has to end with what is true."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from bench.portal.course import Waiting
from bench.portal.house import Browser, Web, percentile, sign_in
from bench.portal.live import LivePage
from bench.portal.streams import until
from bench.queue.ground import Ground
from bench.table import table
from kernels.verdict import Verdict

_PAGES = 50
_AWAY_SECONDS = 4.0
_ENDS_SECONDS = 120
_LAST = ">Done</strong>"


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Figures, and the same as text."""
    figures = {}
    for name in ("the web server",) if quick else ("the web server", "Redis", "both"):
        with Ground(folder / name.replace(" ", "-"), students=_PAGES) as ground:
            figures[name] = asyncio.run(_measure(ground, name))
    return figures, _text(figures)


async def _measure(ground: Ground, what: str) -> dict[str, Any]:
    waiting = Waiting.of_all(ground)
    web = Web(ground, ground.database_url)
    await asyncio.to_thread(web.start)
    cookies = sign_in(ground.sessions, ground.people)
    pages = [LivePage(web.port, cookie, name) for cookie, name in zip(cookies, waiting.ids, strict=True)]
    tasks = [asyncio.create_task(page.run()) for page in pages]
    await until(lambda: all(page.opened is not None for page in pages), _ENDS_SECONDS, "pages to be live")
    third = len(waiting.numbers) // 3
    waiting.begin(waiting.numbers)
    waiting.finish(waiting.numbers[:third])  # some end just before
    if what != "Redis":
        web.kill()
    if what != "the web server":
        ground.redis.kill()
    await asyncio.sleep(_AWAY_SECONDS / 2)
    waiting.finish(waiting.numbers[third : 2 * third])  # some meanwhile
    await asyncio.sleep(_AWAY_SECONDS / 2)
    if what != "the web server":
        await asyncio.to_thread(ground.redis.start)
    if what != "Redis":
        await asyncio.to_thread(web.start)
    back = time.monotonic()
    await asyncio.sleep(2)
    last = time.monotonic()
    waiting.finish(waiting.numbers[2 * third :])  # and some after
    await until(lambda: all(page.ended is not None for page in pages), _ENDS_SECONDS, "last states")
    await asyncio.gather(*tasks)
    true = sum([await asyncio.to_thread(_is_true, page) for page in pages])
    ends = [(page.ended or 0) - (last if number >= 2 * third else back) for number, page in enumerate(pages)]
    return {
        "pages": len(pages), "true": true, "streams": sum(page.streams for page in pages),
        "polls": sum(page.polls for page in pages), "p50": max(0.0, percentile(ends, 0.5)), "last": max(0.0, *ends),
    }  # fmt: skip


def _is_true(page: LivePage) -> bool:
    """Whether it ended with what the database says; then it loads itself anew, and shows the verdict."""
    _, loaded = Browser(page.port, page.cookie).get(f"/submissions/{page.submission}")
    return _LAST in page.html and Verdict.ACCEPTED.value in loaded.decode().casefold()


def _text(figures: dict[str, Any]) -> str:
    rows = [
        (
            name, f"{each['true']} of {each['pages']}", str(each["streams"]), str(each["polls"]), f"{each['p50']:.1f}",
            f"{each['last']:.1f}",
        )
        for name, each in figures.items()
    ]  # fmt: skip
    head = (
        "killed, and started again",
        "true at the end",
        "streams",
        "polls",
        "p50 s until true",
        "the last, s",
    )
    return table(head, rows)
