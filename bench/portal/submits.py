"""The submissions and result pages per second, compared with an empty view and a bare INSERT."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import func, select

from bench.portal.pages import furnished, public_id, real_report
from bench.portal.web_server import COOKIE, PROCESSES, Web, percentile, sign_in, tokens
from bench.queue.ground import COURSE, Ground
from bench.table import table
from server.submissions.models import Submission
from server.web.web_server import THREADS
from tests.services.redis_server import free_port

_CLIENTS = 8
_RESULTS = 37
"""Read in turn, each by its own student: the portal lets nine students rest who read without a pause. Not a multiple of
the clients, so each of them reads all."""
_FIRST_LOOKS = 10 * _RESULTS
_PATH = "/api/v1/submissions"
_SOURCE = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{ /* {} */ }}\n"


@dataclass(slots=True)
class Load:
    """The work of several clients at once. answers: seconds of each accepted request; refused: by status."""

    seconds: float = 0.0
    answers: list[float] = field(default_factory=list)
    refused: dict[int, int] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return len(self.answers) / self.seconds


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    seconds, students = (4.0, 100) if quick else (20.0, 1_000)
    with Ground(folder, students=students) as ground:
        loads = {"result pages": _read_results(ground, seconds)}
        web = Web(ground, ground.database_url)
        web.start()
        submit = _submitting(tokens(ground.sessions, ground.people))
        _press(ground, web.port, submit, 2.0)
        loads["submissions"] = _press(ground, web.port, submit, seconds)
        with ground.sessions() as session:
            stored = session.scalar(select(func.count()).select_from(Submission)) or 0
        ground.stop("web")
        loads["a view that does nothing"] = _press(ground, _start_bare(ground), submit, seconds / 2)
        ground.stop("bare")
        loads["a bare INSERT and its commit"] = _insert(ground, seconds / 2)
    figures = {
        name: {
            "a second": load.rate, "p50": percentile(load.answers, 0.5), "p99": percentile(load.answers, 0.99),
            "refused": load.refused, "cores": {part: spent / load.seconds for part, spent in load.cpu.items()},
            "processor": {part: spent / len(load.answers) for part, spent in load.cpu.items()},
        }
        for name, load in loads.items()
    }  # fmt: skip
    return {"stored": stored, **figures}, _text(figures, stored)


Ask = Callable[[HTTPConnection, int], None]
"""Sends the request with this number."""


def _submitting(keys: list[str]) -> Ask:
    """Submit another kernel each time, as another student."""

    def ask(connection: HTTPConnection, number: int) -> None:
        headers = {"Authorization": f"Bearer {keys[number % len(keys)]}", "Content-Type": "application/json"}
        asked = {"assignment": f"{COURSE}/tiled-own", "source": _SOURCE.format(number), "mode": "check"}
        connection.request("POST", _PATH, json.dumps(asked), headers)

    return ask


def _read_results(ground: Ground, seconds: float) -> Load:
    """Let students read graded results, compressed as for browsers. Each process has rendered each result before."""
    full, _, shown = furnished(ground, "results", 1_000, real_report())
    cookies = sign_in(full.sessions, full.people)
    web = Web(ground, full.engine.url.render_as_string(hide_password=False))

    def ask(connection: HTTPConnection, number: int) -> None:
        submission = shown[number % _RESULTS]
        headers = {"Cookie": f"{COOKIE}={cookies[submission % len(cookies)]}", "Accept-Encoding": "gzip"}
        connection.request("GET", f"/submissions/{public_id(submission)}", headers=headers)

    web.start()
    looks = 0
    while looks < _FIRST_LOOKS:
        looks += len(_press(ground, web.port, ask, 2.0).answers)
    load = _press(ground, web.port, ask, seconds)
    ground.stop("web")
    full.engine.dispose()
    return load


def _press(ground: Ground, port: int, ask: Ask, seconds: float) -> Load:
    """Let clients send one request after the other."""
    load, lock = Load(), threading.Lock()
    until = time.perf_counter() + seconds

    def work(client: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        number, answers = client, []
        while time.perf_counter() < until:
            began = time.perf_counter()
            ask(connection, number)
            number += _CLIENTS
            answer = connection.getresponse()
            answer.read()
            if answer.status in {200, 202}:
                answers.append(time.perf_counter() - began)
            else:
                with lock:
                    load.refused[answer.status] = load.refused.get(answer.status, 0) + 1
        connection.close()
        with lock:
            load.answers += answers

    _together(ground, load, work)
    return load


def _insert(ground: Ground, seconds: float) -> Load:
    load, lock = Load(), threading.Lock()
    assert ground.postgres is not None
    postgres = ground.postgres
    with postgres.connect("tilelab") as connection:
        connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, source text)")
    until = time.perf_counter() + seconds

    def insert(client: int) -> None:
        with postgres.connect("tilelab") as connection:
            answers = _inserted(connection, until)
        with lock:
            load.answers += answers

    _together(ground, load, insert)
    return load


def _inserted(connection: psycopg.Connection[Any], until: float) -> list[float]:
    answers: list[float] = []
    while (began := time.perf_counter()) < until:
        connection.execute("INSERT INTO bare (source) VALUES (%s)", (_SOURCE.format(len(answers)),))
        answers.append(time.perf_counter() - began)
    return answers


def _together(ground: Ground, load: Load, work: Callable[[int], None]) -> None:
    """Run the work in as many threads as clients. Record the processor time of each part."""
    before, own = ground.cpu_seconds(), time.process_time()
    began = time.perf_counter()
    threads = [threading.Thread(target=work, args=(client,)) for client in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.seconds = time.perf_counter() - began
    after = ground.cpu_seconds()
    load.cpu = {name: after[name] - before.get(name, 0.0) for name in after}
    load.cpu["the clients"] = time.process_time() - own


def _start_bare(ground: Ground) -> int:
    """Run Flask and gunicorn as the portal does."""
    port = free_port()
    words = ["-b", f"127.0.0.1:{port}", "-w", str(PROCESSES), "-k", "gthread", "--threads", str(THREADS)]
    ground.start("bare", ["-m", "gunicorn", *words, "--no-control-socket", "bench.portal.bare_app:app"])
    ground.wait_for(lambda: _listens(port), "the bare application")
    return port


def _listens(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 404
    except OSError:
        return False
    finally:
        connection.close()


def _text(figures: dict[str, Any], stored: int) -> str:
    rows = [
        (
            name, f"{each['a second']:,.0f}", f"{each['p50'] * 1e3:.1f}", f"{each['p99'] * 1e3:.1f}",
            ", ".join(f"{status}: {count}" for status, count in each["refused"].items()) or "none",
            ", ".join(f"{part} {cores:.2f}" for part, cores in each["cores"].items() if cores >= 0.01),
            ", ".join(f"{part} {each['processor'][part] * 1e3:.1f}" for part, cores in each["cores"].items()
                      if cores >= 0.01),
        )
        for name, each in figures.items()
    ]  # fmt: skip
    head = (f"{_CLIENTS} clients at a time", "a second", "p50 ms", "p99 ms", "refused", f"cores of {os.cpu_count()}",
            "processor ms each")  # fmt: skip
    return f"{table(head, rows)}\n\n{stored:,} submissions are in the database."
