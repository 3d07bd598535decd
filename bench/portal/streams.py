"""Hundreds of people who watch their submissions: what each sees, what it costs, and how other pages slow down."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.portal.course import Waiting
from bench.portal.live import LivePage
from bench.portal.web_server import Browser, Web, percentile, sign_in
from bench.queue.ground import COURSE, Ground
from bench.table import table

_AT_A_TIME = 25
_PAUSE_SECONDS = 0.5
_ALL_OPEN_SECONDS = 120
_ALL_TOLD_SECONDS = 120
_PAGE = f"/courses/{COURSE}/"


@dataclass(slots=True)
class Looks:
    """A person who reads pages meanwhile. times: in seconds."""

    browser: Browser
    times: list[float] = field(default_factory=list)

    async def go_on(self, over: asyncio.Event) -> None:
        """Read one page after the other."""
        while not over.is_set():
            seconds, _ = await asyncio.to_thread(self.browser.get, _PAGE)
            self.times.append(seconds)
            await asyncio.sleep(0.05)


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    number = 60 if quick else 500
    with Ground(folder, students=number) as ground:
        waiting = Waiting.of_all(ground)
        cookies = sign_in(ground.sessions, ground.people)
        web = Web(ground, ground.database_url)
        web.start()
        figures = asyncio.run(_measure(ground, web, waiting, cookies))
    return figures, _text(figures)


async def _measure(ground: Ground, web: Web, waiting: Waiting, cookies: list[str]) -> dict[str, Any]:
    reader = Browser(web.port, cookies[0])
    quiet = [(await asyncio.to_thread(reader.get, _PAGE))[0] for _ in range(60)][10:]
    memory, began = web.megabytes(), time.monotonic()
    pages = [LivePage(web.port, cookie, name) for cookie, name in zip(cookies, waiting.ids, strict=True)]
    tasks = [asyncio.create_task(page.run()) for page in pages]
    await until(lambda: all(page.opened is not None for page in pages), _ALL_OPEN_SECONDS, "streams to open")
    opened = time.monotonic() - began
    still, over = Looks(reader), asyncio.Event()
    looking = asyncio.create_task(still.go_on(over))
    spent = ground.cpu_seconds()
    await asyncio.sleep(10)
    idle = {name: (each - spent.get(name, 0)) / 10 for name, each in ground.cpu_seconds().items()}
    over.set()
    await looking
    held = web.megabytes()
    changing, over = Looks(reader), asyncio.Event()
    looking = asyncio.create_task(changing.go_on(over))
    finished = await _grade_all(waiting)
    await until(lambda: all(page.ended is not None for page in pages), _ALL_TOLD_SECONDS, "last states")
    over.set()
    await asyncio.gather(looking, *tasks)
    late = [(page.ended or 0) - finished[name] for page, name in zip(pages, waiting.ids, strict=True)]
    return {
        "streams": len(pages), "told the last state": sum(page.ended is not None for page in pages),
        "reconnected": sum(page.streams != 1 for page in pages), "polls": sum(page.polls for page in pages),
        "events": sum(page.events for page in pages), "seconds to open all": opened,
        "seconds from the commit to the page": {"p50": percentile(late, 0.5), "p99": percentile(late, 0.99)},
        "megabytes before": memory, "megabytes with all open": held, "cores while nothing happens": idle,
        "seconds a page": {
            name: {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
            for name, times in {
                "without streams": quiet, "with all open": still.times, "while all are graded": changing.times
            }.items()
        },
    }  # fmt: skip


async def _grade_all(waiting: Waiting) -> dict[str, float]:
    """Let workers grade all, some at a time. Return when each was done."""
    finished: dict[str, float] = {}
    for first in range(0, len(waiting.numbers), _AT_A_TIME):
        some = waiting.numbers[first : first + _AT_A_TIME]
        await asyncio.to_thread(waiting.begin, some)
        await asyncio.sleep(_PAUSE_SECONDS)
        await asyncio.to_thread(waiting.finish, some)
        finished |= dict.fromkeys(waiting.ids[first : first + _AT_A_TIME], time.monotonic())
    return finished


async def until(holds: Any, seconds: float, what: str) -> None:
    """Wait until a condition holds. Raise RuntimeError."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out waiting for {what}")
        await asyncio.sleep(0.1)


def _text(figures: dict[str, Any]) -> str:
    late, idle = figures["seconds from the commit to the page"], figures["cores while nothing happens"]
    rows = [
        (name, f"{each['p50'] * 1e3:.1f}", f"{each['p99'] * 1e3:.1f}")
        for name, each in figures["seconds a page"].items()
    ]
    count, before, held = figures["streams"], figures["megabytes before"], figures["megabytes with all open"]
    told = (
        f"{count} streams, open after {figures['seconds to open all']:.1f} s; {figures['told the last state']} got "
        f"the last state, {figures['reconnected']} had to reconnect, {figures['polls']} also polled. "
        f"They got {figures['events']} states in all.\n"
        f"From the commit to the page: p50 {late['p50']:.2f} s, p99 {late['p99']:.2f} s.\n"
        f"Memory of the portal: {before:.0f} MB before, {held:.0f} MB with all open, "
        f"{(held - before) * 1024 / count:.0f} KB a stream.\n"
        f"Cores while only one person reads: "
        + ", ".join(f"{name} {cores:.2f}" for name, cores in idle.items() if cores >= 0.005)
    )
    return f"{table(('ms a page of a course', 'p50', 'p99'), rows)}\n\n{told}"
