"""A live page without its browser: it listens, polls if it can't listen, and reconnects, like live.ts."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from typing import Any

from bench.portal.web_server import COOKIE

_SILENCE_SECONDS = 45.0
_FIRST_WAIT, _LONGEST_WAIT, _GROWTH = 2.0, 15.0, 1.5
_ANSWER_SECONDS = 10.0
_CONNECT_SECONDS = 30.0
_FAILED = (OSError, EOFError, ValueError, TimeoutError)


class Closed(Exception):
    """The server answered with an error. A browser doesn't reconnect such a stream by itself."""


@dataclass(slots=True)
class LivePage:
    """One person's page of one submission.

    opened: time.monotonic of the stream's first event
    ended: time.monotonic of the last state
    events, streams, polls: counts
    """

    port: int
    cookie: str
    submission: str
    opened: float | None = None
    ended: float | None = None
    events: int = 0
    streams: int = 0
    polls: int = 0
    _retry: float = 3.0

    async def run(self) -> None:
        """Run until the state is final."""
        wait = _FIRST_WAIT
        while not self._over():
            try:
                await self._listen()
                pause = self._retry  # it ended regularly, so a browser reconnects by itself
            except Closed:
                pause = None
            except _FAILED:
                pause = self._retry
            if self._over():
                return
            # While the browser reconnects, the page also polls the state. The first answer counts.
            await asyncio.sleep(min(_or_never(pause), wait * random.uniform(0.5, 1.5)))
            wait = await self._ask(wait)

    def _over(self) -> bool:
        return self.ended is not None

    async def _ask(self, wait: float) -> float:
        self.polls += 1
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                self._take(await self._state())
        except (*_FAILED, Closed):
            return min(wait * _GROWTH, _LONGEST_WAIT)
        return _FIRST_WAIT

    async def _state(self) -> Any:
        reader, writer = await self._request("state", close=True)
        try:
            return json.loads(await reader.read())
        finally:
            writer.close()

    async def _listen(self) -> None:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await self._request("events")
        self.streams += 1
        name = ""
        try:
            while self.ended is None:
                async with asyncio.timeout(_SILENCE_SECONDS):
                    line = (await reader.readuntil(b"\n")).decode().strip()
                if line.startswith("retry: "):
                    self._retry = int(line[7:]) / 1000
                elif line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: ") and name == "state":
                    self.events += 1
                    self._take(json.loads(line[6:]))
        finally:
            writer.close()

    def _take(self, state: Any) -> None:
        if self.opened is None:
            self.opened = time.monotonic()
        if state["final"]:
            self.ended = time.monotonic()

    async def _request(self, what: str, *, close: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request and read the head of its answer. Raise Closed for an error."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        lines = [
            f"GET /submissions/{self.submission}/{what} HTTP/1.{0 if close else 1}",
            "Host: 127.0.0.1",
            f"Cookie: {COOKIE}={self.cookie}",
            "",
            "",
        ]
        try:
            writer.write("\r\n".join(lines).encode())
            await writer.drain()
            _check(await reader.readuntil(b"\r\n\r\n"))
        except BaseException:
            writer.close()
            raise
        return reader, writer


def _check(head: bytes) -> None:
    """Raise Closed if the head of an answer isn't a success."""
    if head.split(b" ", 2)[1] != b"200":
        raise Closed(head[:60])


def _or_never(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds
