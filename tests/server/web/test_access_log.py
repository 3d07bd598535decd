"""The access log says what was asked for by our own rules, and nothing that a client chose."""

from __future__ import annotations

import io
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from urllib.parse import quote

import pytest

from server.settings import AccessLogField, SettingError, read_settings
from server.web.access_log import AccessLog, Lines, access_logger
from tests.services import tethered
from tests.services.redis_server import free_port

FIELDS = {"at", "logger", "process", "method", "route", "status", "ms", "bytes"}
NEEDED = {"DATABASE_URL": "sqlite://", "REDIS_URL": "redis://127.0.0.1:1/0"}
HEX = b"5e" * 16
FORGED = '{"at": "2026-01-01", "logger": "access", "status": 200, "route": "/forged"}'


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Its port, and the file with what it writes."""
    folder, port = tmp_path_factory.mktemp("access"), free_port()
    settings = {
        **NEEDED, "DATABASE_URL": f"sqlite:///{folder}/none.sqlite3", "TILELAB_ACCESS_LOG": "request",
        "TILELAB_PROXIES": "1",
    }  # fmt: skip
    words = [sys.executable, "-m", "worker.commands", "serve", "web", "--port", str(port), "--processes", "1"]
    log = folder / "log"
    process = tethered.start(["/usr/bin/env", *(f"{k}={v}" for k, v in settings.items()), *words], log)
    tethered.wait_until(lambda: _opens(port), process, log)
    yield port, log
    process.terminate()
    process.wait()


def _opens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def _said(portal: tuple[int, Path], request: bytes) -> tuple[dict[str, object], str]:
    """The line that a request leaves, and all that it left in the log."""
    port, log = portal
    before = len(log.read_text())
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(request)
        while connection.recv(2**16):
            pass
    while not (text := log.read_text()[before:]).endswith("}\n"):
        time.sleep(0.01)
    (line,) = [json.loads(each) for each in text.splitlines() if each.startswith("{")]
    return line, text


def _request(target: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    return b"\r\n".join([method + b" " + target + b" HTTP/1.1", b"Host: h", b"Connection: close", *headers, b"", b""])


OPEN = b"/healthz"
HOSTILE = {
    "a query": (_request(OPEN + b"?token=" + HEX), "GET", "/healthz", 200),
    "a cookie": (_request(OPEN, b"Cookie: tilelab=" + HEX), "GET", "/healthz", 200),
    "a token": (_request(OPEN, b"Authorization: Bearer " + HEX), "GET", "/healthz", 200),
    "bytes that are no text": (_request(OPEN, b"User-Agent: " + HEX + b"\xff\xe2\x80\xa8"), "GET", "/healthz", 200),
    "an address": (_request(OPEN, b"X-Forwarded-For: " + HEX), "GET", "/healthz", 200),
    "a path": (_request(b"/" + HEX), "GET", None, 404),
    "a path with line ends": (_request(b"/" + HEX + b"%0d%0a" + quote(FORGED).encode()), "GET", None, 404),
    "a part of a rule": (_request(b"/api/v1/submissions/" + HEX), "GET", "/api/v1/submissions/<public_id>", 401),
    "a method": (_request(OPEN, method=b"FORGE5E5E"), "other", None, 405),
    "a line end in the address": (b"GET /" + HEX + b"\n" + FORGED.encode() + b"\r\n\r\n", None, None, 400),
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_line_has_nothing_that_a_client_chose(portal, hostile):
    request, method, route, status = HOSTILE[hostile]
    line, text = _said(portal, request)
    assert line.keys() - {"request"} == FIELDS
    assert ("request" in line) is (method is not None)
    assert (line["method"], line["route"], line["status"]) == (method, route, status)
    assert "5e5e" not in text.lower()
    assert "forged" not in text


@pytest.mark.parametrize(
    ("text", "fields"),
    [("", ""), ("request", "request"), ("person", "person"), (" person, address ", "address person")],
)
def test_the_setting_names_what_a_line_has(text, fields):
    assert read_settings({**NEEDED, "TILELAB_ACCESS_LOG": text}).access_log == set(fields.split())


def test_an_unknown_field_is_refused():
    with pytest.raises(SettingError, match="TILELAB_ACCESS_LOG"):
        read_settings({**NEEDED, "TILELAB_ACCESS_LOG": "person,cookie"})


def waiting(log: AccessLog) -> Queue[logging.LogRecord]:
    (handler,) = log.logger.handlers
    assert isinstance(handler, Lines)
    return handler.queue


class Stalled(io.StringIO):
    """A stream that nobody reads until `again` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.again = threading.Event()

    def write(self, text: str) -> int:
        self.again.wait(20)
        return super().write(text)


def test_no_request_waits_for_a_reader_that_stalls(monkeypatch):
    monkeypatch.setattr("server.web.access_log._MOST_WAITING", 5)
    stream = Stalled()
    log = AccessLog(frozenset(), lambda _: None, access_logger(stream))
    for _ in range(20):
        log.ended("GET", {}, None)
    stream.again.set()
    waiting(log).join()
    log.ended("GET", {}, None)
    waiting(log).join()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    dropped = sum(line.get("dropped", 0) for line in lines)
    assert dropped >= 14
    assert dropped + sum("ms" in line for line in lines) == 21


@pytest.mark.parametrize("wanted", [set(), {"person"}, {"address"}, {"person", "address"}])
def test_a_person_and_an_address_are_there_only_where_they_are_wanted(wanted):
    written = io.StringIO()
    log = AccessLog(frozenset(map(AccessLogField, wanted)), {"Bearer t0": 7}.get, access_logger(written))
    address = "192.0.2.1" + "x" * 100
    log.ended("GET", {"REMOTE_ADDR": address, "HTTP_AUTHORIZATION": "Bearer t0", "PATH_INFO": "/me"}, None)
    waiting(log).join()
    line = json.loads(written.getvalue())
    assert line.keys() & {"person", "address"} == wanted
    assert line.get("person", 7) == 7
    assert line.get("address", address[:45]) == address[:45]
    assert line["status"] is None
