"""Clients that try to block others, on this machine's loopback address only. They run until they are stopped.

python -m bench.portal.attacks NAME TARGET-AS-JSON
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from urllib.parse import quote

COURSE, HOST = "bench", "127.0.0.1"
_FILES = 8_192
_DRIP_SECONDS = 2.0
_AGAIN_SECONDS = 0.5
_PER_SECOND = 100
_EMAIL = quote("\u0301\u0316" * 5_000)


@dataclass(frozen=True, slots=True)
class Target:
    """The target.

    cookie: of a signed-in person
    comparison, result: addresses that are expensive to answer
    tokens: of two students, for programs
    """

    port: int
    cookie: str
    comparison: str
    result: str
    tokens: list[str]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def allow_files() -> None:
    """Raise this process's limit of open connections to the system's maximum."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _half_sent(target: Target) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Slow: "
    await _together(1_000, lambda: _drip(target.port, head.encode()))


async def _slow_bodies(target: Target) -> None:
    head = f"POST /sign-in HTTP/1.1\r\nHost: {HOST}\r\n{_FORM}Content-Length: 5000\r\n\r\nemail="
    await _together(1_000, lambda: _drip(target.port, head.encode()))


async def _large_sign_ins(target: Target) -> None:
    body = f"email={_EMAIL}&password=12345678"
    head = f"POST /sign-in HTTP/1.1\r\nHost: {HOST}\r\n{_FORM}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    asked: set[asyncio.Task[None]] = set()
    while True:
        task = asyncio.create_task(_ask(target.port, (head + body).encode()))
        asked.add(task)
        task.add_done_callback(asked.discard)
        await asyncio.sleep(1 / _PER_SECOND)


async def _comparisons(target: Target) -> None:
    head = f"GET {target.comparison} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {target.cookie}\r\nConnection: close\r\n\r\n"
    await _together(30, lambda: _ask(target.port, head.encode()))


async def _results(target: Target) -> None:
    head = f"GET {target.result} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {target.cookie}\r\nConnection: close\r\n\r\n"
    await _together(4, lambda: _ask(target.port, head.encode()))


async def _experiments(target: Target) -> None:
    """Start experiments that no value meets, so that none uses the quota of started ones."""
    rule = " and ".join(["A1 > 0"] * 100)
    rules = "".join(f'r{number} = "{rule}"\n' for number in range(10))
    values = ", ".join(map(str, range(1, 101)))
    text = (
        f'[experiment]\nexercise = "tiled"\nkernels = ["a.cu"]\n[axes]\nA0 = [{values}]\nA1 = [{values}]\n'
        f'[constraints]\n{rules}end = "A1 < 0"\n'
    )
    kernel = "#define A0 1\n#define A1 1\n__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"
    body = json.dumps({"course": COURSE, "definition": text, "kernels": {"a.cu": kernel}}).encode()

    def asked(token: str) -> bytes:
        head = (
            f"POST /api/v1/experiments HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body

    await asyncio.gather(
        *(_together(3, lambda token=token: _ask(target.port, asked(token))) for token in target.tokens)  # type: ignore[misc]
    )


def _sign_in_pages(number: int) -> Callable[[Target], Awaitable[None]]:
    head = f"GET /sign-in HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    return lambda target: _together(number, lambda: _ask(target.port, head.encode()))


_FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
CLIENTS: Mapping[str, Callable[[Target], Awaitable[None]]] = {
    "1,000 half-sent requests": _half_sent,
    "1,000 slow bodies": _slow_bodies,
    "100 oversized sign-ins a second": _large_sign_ins,
    "30 crafted comparisons at once": _comparisons,
    "4 results with 60,000 blank lines at once": _results,
    "6 experiments with 1,000 comparisons at once": _experiments,
    "30 clients that read without pause": _sign_in_pages(30),
    "1,000 clients that read without pause": _sign_in_pages(1_000),
}


async def _together(number: int, once: Callable[[], Awaitable[None]]) -> None:
    """Run `number` loops of requests at once."""

    async def one() -> None:
        while True:
            await once()

    await asyncio.gather(*(one() for _ in range(number)))


async def _drip(port: int, begun: bytes) -> None:
    """Begin a request and send a byte now and then, until the server closes it."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begun)
        while not reader.at_eof():
            writer.write(b"x")
            await writer.drain()
            try:
                async with asyncio.timeout(_DRIP_SECONDS):
                    await reader.read(2**16)
            except TimeoutError:
                continue

    if await _connected(port, drip):
        await asyncio.sleep(_AGAIN_SECONDS)


async def _ask(port: int, request: bytes) -> None:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request)
        await reader.read(-1)

    await _connected(port, ask)


async def _connected(port: int, talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> bool:
    """Talk over a new connection until the server ends it. Return False, after a pause, without a connection."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        await asyncio.sleep(_AGAIN_SECONDS)
        return False
    try:
        await talk(reader, writer)
    except OSError:
        pass
    finally:
        writer.close()
    return True


async def _main(name: str, target: Target) -> None:
    task = asyncio.ensure_future(CLIENTS[name](target))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return


if __name__ == "__main__":
    os.nice(19)
    allow_files()
    asyncio.run(_main(sys.argv[1], Target(**json.loads(sys.argv[2]))))
