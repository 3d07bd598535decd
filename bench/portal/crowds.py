"""How long pages take for 50 students during attacks, compared with quiet spans of the same run.

The attacking clients run at lowest priority, so that their own work doesn't slow down the server.
"""

from __future__ import annotations

import asyncio
import json
import random
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.portal.attacks import CLIENTS, HOST, Target, allow_files
from bench.portal.course import finish
from bench.portal.web_server import COOKIE, Web, percentile, sign_in, tokens
from bench.queue.ground import COURSE, ROOT, Ground
from bench.table import table
from kernels.report import Report
from kernels.verdict import Example, Finding, Verdict
from server.submissions.models import Mode
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source

MOST = 2.0
"""The most that a page may slow down during an attack."""

_STUDENTS = 50
_PAUSE_SECONDS = 6.0
_PATIENCE_SECONDS = 20.0
_HEALTH_PAUSE_SECONDS = 0.25
_SETTLE_SECONDS = 2.0
_SPAN_SECONDS = 12.0
_ROUNDS = 3
NEWLINES = "\n" * 60_000
_PAGES = ("/", f"/courses/{COURSE}/", f"/courses/{COURSE}/tiled-own/")


@dataclass(slots=True)
class Span:
    """The students' results during a span.

    times, health: of pages and of health checks, in seconds
    refused: other answers by status; 0 for no answer
    """

    times: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    refused: dict[int, int] = field(default_factory=dict)

    def add(self, status: int, seconds: float) -> None:
        if status == 200:
            self.times.append(seconds)
        else:
            self.refused[status] = self.refused.get(status, 0) + 1

    def figures(self) -> dict[str, Any]:
        times = self.times or [float("inf")]
        return {
            "pages": len(self.times), "p50": percentile(times, 0.5), "p95": percentile(times, 0.95),
            "refused": self.refused, "health": max(self.health),
        }  # fmt: skip


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    rounds = 1 if quick else _ROUNDS
    allow_files()
    with Ground(folder, students=_STUDENTS + 1) as ground:
        web = Web(ground, ground.database_url)
        web.start()
        *cookies, hostile = sign_in(ground.sessions, ground.people)
        result, known = _blank_lines(ground), tokens(ground.sessions, ground.people[-2:])
        target = Target(web.port, f"{COOKIE}={hostile}", _crafted(ground), result, known)
        asyncio.run(read(web.port, cookies, _SPAN_SECONDS, Span()))
        figures = {name: beside(name, target, cookies, rounds) for name in CLIENTS}
    return figures, _text(figures)


def beside(
    name: str, target: Target, cookies: list[str], rounds: int, seconds: float = _SPAN_SECONDS
) -> dict[str, Any]:
    """Alternate quiet spans and attacks, so that other load on the machine falls on both."""
    quiet, crowded = Span(), Span()
    for _ in range(rounds):
        asyncio.run(read(target.port, cookies, seconds, quiet))
        with _clients(name, target):
            time.sleep(_SETTLE_SECONDS)
            asyncio.run(read(target.port, cookies, seconds, crowded))
        time.sleep(_SETTLE_SECONDS)
    return {"quiet": quiet.figures(), "beside": crowded.figures()}


@contextmanager
def _clients(name: str, target: Target) -> Iterator[None]:
    words = [name, json.dumps(target.as_json())]
    process = subprocess.Popen([sys.executable, "-m", "bench.portal.attacks", *words], cwd=ROOT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def _blank_lines(ground: Ground) -> str:
    """Return the address of an incorrect result of the last person, whose source has 60,000 blank lines."""
    assignment = next(iter(ground.assignments.values()))
    head = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {"
    text = f"{head}{NEWLINES}P[0] = 1.0f;\n}}\n"
    submitted = SubmissionInput(ground.people[-1], assignment, read_source(text.encode()), Mode.CHECK)
    made = accept(ground.sessions, submitted).submission
    message = "`P[0][0]` is 1, not 4 (1 of 1 element incorrect)."
    finding = Finding(Verdict.WRONG_ANSWER, message, example=Example(element="P[0][0]"))
    finish(ground, [made.id], Report(finding.kind, message, "tiled", "cpu", "sm_90", 16, findings=(finding,)))
    return f"/submissions/{made.public_id}"


def _crafted(ground: Ground) -> str:
    """Return the address that compares two sources of the last person. All their lines share some words."""
    chance, assignment = random.Random(1), next(iter(ground.assignments.values()))
    words = [first + second for first in string.ascii_letters for second in "abcde"]
    names = []
    for _ in range(2):
        source = "\n".join(" ".join(chance.sample(words, 150)) for _ in range(99)).encode()
        handed_in = SubmissionInput(ground.people[-1], assignment, read_source(source), Mode.CHECK)
        names.append(accept(ground.sessions, handed_in).submission.public_id)
    return f"/courses/{COURSE}/tiled-own/compare?left={names[0]}&right={names[1]}&whole=yes"


async def read(port: int, cookies: list[str], seconds: float, span: Span) -> None:
    """Let all students read pages for `seconds`."""
    until = time.monotonic() + seconds
    await asyncio.gather(_health(port, until, span), *(_student(port, cookie, until, span) for cookie in cookies))


async def _health(port: int, until: float, span: Span) -> None:
    """Check the server's health without a pause of more than a quarter of a second."""
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                status = await page(port, "", "/healthz")
        except (OSError, EOFError, TimeoutError):
            status = 0
        span.health.append(time.perf_counter() - began if status == 200 else float("inf"))
        await asyncio.sleep(_HEALTH_PAUSE_SECONDS)


async def _student(port: int, cookie: str, until: float, span: Span) -> None:
    chance = random.Random(cookie)
    await asyncio.sleep(chance.uniform(0, _PAUSE_SECONDS))
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                status = await page(port, cookie, chance.choice(_PAGES))
        except (OSError, EOFError, TimeoutError):
            status = 0
        span.add(status, time.perf_counter() - began)
        await asyncio.sleep(chance.uniform(0.5, 1.5) * _PAUSE_SECONDS)


async def page(port: int, cookie: str, path: str) -> int:
    """Return the status of the answer, once it is complete."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {COOKIE}={cookie}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        status = int((await reader.readuntil(b"\r\n")).split()[1])
        await reader.read(-1)
        return status
    finally:
        writer.close()


def _text(figures: dict[str, Any]) -> str:
    rows = []
    for name, each in figures.items():
        quiet, beside = each["quiet"], each["beside"]
        refused = beside["refused"].items()
        times = [f"{span[part] * 1e3:.0f}" for part in ("p50", "p95") for span in (quiet, beside)]
        rows.append((
            name, str(beside["pages"]), *times, f"{beside['p95'] / quiet['p95']:.2f}x", f"<= {MOST:g}",
            f"{beside['health'] * 1e3:.0f}",
            ", ".join(f"{count} x {status or 'no answer'}" for status, count in refused) or "none",
        ))  # fmt: skip
    head = (
        "50 students during", "pages", "quiet p50, ms", "p50", "quiet p95", "p95", "p95 by quiet", "goal",
        "/healthz, most", "refused",
    )  # fmt: skip
    return table(head, rows)
