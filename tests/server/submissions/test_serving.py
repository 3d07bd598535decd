"""Streams of a real web process: many at once, beside ordinary requests, and through its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

import pytest

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.models import Person
from server.http.concurrency_limit import READ_SLOTS
from server.web.web_server import listen
from tests.server.databases import ON_POSTGRESQL
from tests.server.submissions.graded import graded, handed_in
from tests.worker.workplaces import wait_until

pytestmark = ON_POSTGRESQL

LONG = 60.0
PEOPLE, EACH = 6, 5


@dataclass
class Stream:
    """A stream on a socket, read as it comes."""

    connection: http.client.HTTPConnection
    answer: http.client.HTTPResponse
    states: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, port: int, name: str, cookie: str) -> Stream:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
        connection.request("GET", f"/submissions/{name}/events", headers={"Cookie": f"tilelab={cookie}"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return cls(connection, answer)

    def read_on(self) -> bool:
        """One more line; False at the end."""
        line = self.answer.readline()
        if line.startswith(b"data: ") and line != b"data: {}\n":
            self.states.append(json.loads(line.removeprefix(b"data: ")))
        return bool(line)

    def read_all(self) -> None:
        while self.read_on():
            pass

    def close(self) -> None:
        self.connection.close()


@contextmanager
def web(bound: socket.socket, database_url: str, tmp_path, tell: int | None = None):
    """`tilelab serve web` with one process, on a socket that outlives it."""
    settings = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    command = [
        sys.executable, "-P", "-m", "worker.commands", "serve", "web", "--processes", "1", "--descriptor",
        str(bound.fileno()), *([] if tell is None else ["--tell", str(tell)]),
    ]  # fmt: skip
    inherited = (bound.fileno(),) if tell is None else (bound.fileno(), tell)
    with (tmp_path / "web.log").open("ab") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, pass_fds=inherited, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=log,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()


def half_sent(port: int, header: str) -> socket.socket:
    """A form whose sender goes on no more."""
    connection = socket.create_connection(("127.0.0.1", port), LONG)
    connection.sendall(
        f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"{header}\r\n\r\n1f4\r\nemail=".encode()
    )
    return connection


def signed_in(portal, name: str) -> str:
    number = portal.course.person(name)
    with portal.course.sessions.begin() as session:
        return browser_sessions.begin(session, session.get_one(Person, number), "test")


@pytest.fixture
def bound():
    with listen("127.0.0.1", 0) as bound:
        os.set_inheritable(bound.fileno(), True)
        yield bound


@pytest.mark.long("the short suite has many streams at once")
def test_the_process_that_looks_after_the_others_beats_itself(bound, database_url, tmp_path):
    heard, tell = os.pipe()
    os.set_blocking(heard, False)
    with web(bound, database_url, tmp_path, tell) as process:
        wait_until(lambda: beats(heard) > 0)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        beats(heard)
        time.sleep(2.5)
        assert beats(heard) == 0
        with urlopen(f"http://127.0.0.1:{bound.getsockname()[1]}/healthz", timeout=LONG) as answer:
            assert answer.status == 200, "those that answer go on"
        os.kill(process.pid, signal.SIGCONT)
        wait_until(lambda: beats(heard) > 0)
    os.close(heard)
    os.close(tell)


def beats(descriptor: int) -> int:
    """Beats since the last call."""
    try:
        return len(os.read(descriptor, 65_536))
    except BlockingIOError:
        return 0


def test_many_streams_lose_nothing_and_leave_room_for_others(portal, database_url, bound, tmp_path):
    jobs = {f"s{n}": handed_in(portal.course, f"s{n}") for n in range(PEOPLE)}
    port = bound.getsockname()[1]
    with web(bound, database_url, tmp_path), ExitStack() as open_ones:
        streams = []
        for person, (name, _) in jobs.items():
            cookie = signed_in(portal, person)
            for _ in range(EACH):
                streams.append(Stream.open(port, name, cookie))
                open_ones.callback(streams[-1].close)
        for stream in streams:
            while not stream.states:
                assert stream.read_on()
        for number in range(2 * READ_SLOTS):
            open_ones.enter_context(
                half_sent(port, "Content-Length: 500" if number % 2 else "Transfer-Encoding: chunked")
            )
        begun = time.monotonic()
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
        other.request("GET", "/join")
        assert other.getresponse().status == 200
        assert time.monotonic() - begun < LONG / 2
        other.close()
        for _, job in jobs.values():
            graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
        for stream in streams:
            stream.read_all()
        assert all(stream.states[-1]["final"] for stream in streams)


@pytest.mark.long("the short suite has many streams at once")
def test_a_process_that_is_told_to_stop_does_not_wait_for_its_streams(portal, database_url, bound, tmp_path):
    name, job = handed_in(portal.course, "ada")
    cookie = signed_in(portal, "ada")
    port = bound.getsockname()[1]
    with web(bound, database_url, tmp_path) as process:
        stream = Stream.open(port, name, cookie)
        while not stream.states:
            assert stream.read_on()
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        stream.read_all()
        assert time.monotonic() - begun < 7, "the process waits eight seconds for what is under way"
        process.wait(30)
        stream.close()
    graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
    with web(bound, database_url, tmp_path):
        again = Stream.open(port, name, cookie)
        again.read_all()
        assert again.states[-1]["final"] is True
        again.close()
