"""A portal that answers anything: one line, without control characters, and never more memory than a portal needs."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from worker.client import follower
from worker.client import http as portal_http
from worker.client.account import Account, AccountError, find_account, keep_account, portal_url, read_account
from worker.client.answers import Submission, read
from worker.client.errors import NoAnswer, NotDone, NotTrusted, PortalError, Unreadable
from worker.client.follower import Follower
from worker.client.http import Connection
from worker.client.portal import Portal, id_of
from worker.commands.portal.wait_display import wait_for

HTTP = "http:" + "//"
PROBLEM = "application/problem+json"
FOUND = {"id": "a1", "assignment": "gpu/tiled", "mode": "rank", "state": "done", "verdict": "accepted"}


class Hostile(ThreadingHTTPServer):
    """Answers what it is told to, to whatever it is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.answer: tuple[int, str, bytes, dict[str, str]] = (200, "application/json", b"{}", {})
        self.by_path: dict[str, tuple[int, str, bytes, dict[str, str]]] = {}
        self.asked: list[str] = []

    def says(self, body: Any, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answer = (status, kind, text, {name.replace("_", "-"): value for name, value in headers.items()})

    @property
    def portal(self) -> Portal:
        return Portal(Connection(Account(f"http://127.0.0.1:{self.server_port}", "tl_secret")))


class _Answers(BaseHTTPRequestHandler):
    server: Hostile

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status, kind, body, headers = self.server.by_path.get(self.path, self.server.answer)
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - as the standard library calls it

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def refusal(server: Hostile) -> PortalError:
    with pytest.raises(PortalError) as caught:
        server.portal.me()
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) <= 600
    assert "tl_secret" not in text
    return caught.value


def test_a_detail_can_neither_move_the_cursor_nor_fill_the_screen(hostile: Hostile):
    hostile.says({"detail": "a\x1b[2J\r\nb\u202e" + "x" * 9_000, "code": "c"}, 403, PROBLEM)
    error = refusal(hostile)
    assert isinstance(error, NotDone)
    assert str(error).startswith("a\\x1b[2J b\\u202ex")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[" * 100_000, b"1" * 5_000, b"null", b"[]", b'{"name": 1}', b"\xff", b'{"name": {}}']
)
def test_what_is_no_answer_is_told_so(hostile: Hostile, body: bytes):
    hostile.says(body)
    assert isinstance(refusal(hostile), Unreadable)
    hostile.says(body, 500)
    assert isinstance(refusal(hostile), Unreadable)
    hostile.says(body, 403, PROBLEM)
    refusal(hostile)


def test_an_answer_is_bounded_in_bytes_and_in_values(hostile: Hostile, monkeypatch: pytest.MonkeyPatch):
    hostile.says(b'{"name": [' + b"1," * 700_000 + b"1]}")
    assert "too many values" in str(refusal(hostile))
    monkeypatch.setattr(portal_http, "ANSWER_BYTES", 2**20)
    hostile.says(b" " * (2**20 + 1))
    assert "exceeds 1 MiB" in str(refusal(hostile))


def test_a_token_is_not_sent_on(hostile: Hostile):
    hostile.says(b"", 302, Location=f"http://127.0.0.1:{hostile.server_port}/there")
    assert "redirects to http://127.0.0.1" in str(refusal(hostile))
    assert hostile.asked == ["/api/v1/me"]


def test_who_is_away_is_told_from_who_refuses(hostile: Hostile):
    hostile.says({"detail": "It is away."}, 503, PROBLEM, Retry_After="7")
    error = refusal(hostile)
    assert isinstance(error, NoAnswer)
    assert error.retry_after == 7
    hostile.says(b"", 429, PROBLEM, Retry_After="9" * 400)
    refusal(hostile)


def test_fields_of_a_newer_portal_are_passed_over():
    found = read(Submission, {**FOUND, "new": 1, "steps": [{"name": "check", "state": "done", "newer": []}]})
    assert found.over
    assert found.steps[0].seconds is None
    with pytest.raises(Unreadable, match="can't read the portal's answer"):
        read(Submission, {**FOUND, "state": 7})


def event(**said: Any) -> bytes:
    told = {"final": False, "headline": "Checking", "phases": []} | said
    return b"event: state\ndata: " + json.dumps(told).encode() + b"\n\n"


def test_events_say_more_and_asking_says_what_holds(hostile: Hostile):
    hostile.says(FOUND)
    stream_of = event(headline="Checking\x1b[2J") + b": comment\nevent: beat\ndata: {}\n\n" + event(final=True)
    hostile.by_path["/api/v1/submissions/a1/events"] = (200, "text/event-stream", stream_of, {})
    told: list[str] = []
    states = Follower(hostile.portal, "a1", told=lambda progress: told.append(progress.headline)).states()
    assert [found.state for found in states] == ["done"]
    assert told == ["Checking\x1b[2J", "Checking"]


def test_the_output_of_a_kernel_is_shown_once_while_it_is_checked(hostile: Hostile, capsys: pytest.CaptureFixture[str]):
    hostile.says(FOUND)
    printing = event(printed="one\ntwo\x1b[2J\n", printed_case="Width=1 real")
    hostile.by_path["/api/v1/submissions/a1/events"] = (200, "text/event-stream", printing * 2 + event(final=True), {})
    wait_for(hostile.portal, "a1")
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("two\\x1b[2J") == 1
    assert "case Width=1, real numbers" in lines[lines.index("two\\x1b[2J") - 2]


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (404, PROBLEM, b"{}"), (200, "text/html", b"<html>"), (200, "text/event-stream", b""),
        (200, "text/event-stream", b"event: state\ndata: no json\n\n"), (503, PROBLEM, b"{}"),
        (200, "text/event-stream", b"event: state\ndata: {}\n\n"), (200, "text/event-stream", b"data: x" * 400_000),
    ],
)  # fmt: skip
def test_without_a_stream_the_submission_is_asked_for(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, status: int, kind: str, body: bytes
):
    monkeypatch.setattr(follower, "_LINE_BYTES", 2**20)
    hostile.says(FOUND)
    hostile.by_path["/api/v1/submissions/a1/events"] = (status, kind, body, {})
    assert [found.verdict for found in Follower(hostile.portal, "a1").states()] == ["accepted"]


def test_a_certificate_that_nobody_vouches_for_is_not_trusted():
    error = ssl.SSLCertVerificationError(1, "self-signed")
    error.verify_message = "self-signed certificate"
    told = Connection(Account("https://tilelab.example", "tl_x"))._away(error)
    assert isinstance(told, NotTrusted)
    assert "SSL_CERT_FILE" in str(told)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("tilelab.example", "https://tilelab.example"), ("localhost:8000", "http://localhost:8000"),
        ("https://Tilelab.example:443/courses/x?y#z", "https://tilelab.example"),
        (" http://127.0.0.1:80/ ", "http://127.0.0.1"), (f"{HTTP}[::1]:8000", f"{HTTP}[::1]:8000"),
    ],
)  # fmt: skip
def test_an_address_may_be_typed_or_copied(typed: str, url: str):
    assert portal_url(typed) == url


@pytest.mark.parametrize(
    "typed", ["", "ftp:" + "//x", "https://", "https://a@b.example", f"{HTTP}x:99999", "a b", "file:" + "///x"]
)
def test_what_is_no_address_is_refused(typed: str):
    with pytest.raises(AccountError, match="is not an address"):
        portal_url(typed)


def test_what_is_kept_comes_back_and_what_is_broken_is_told(tmp_path: Path):
    file = tmp_path / "deep" / "config.toml"
    keep_account(file, Account("https://tilelab.example", 'tl_"\\x'))
    assert read_account(file) == Account("https://tilelab.example", 'tl_"\\x')
    assert list(file.parent.iterdir()) == [file]
    for text in ("", "url = 1", "\xff", 'url = "https://a.example"', "[", 'url = "x y"\ntoken = "t"'):
        file.write_text(text, "latin-1")
        with pytest.raises(AccountError):
            read_account(file)
    with pytest.raises(AccountError, match="TILELAB_TOKEN is set, but TILELAB_URL is not"):
        find_account({"TILELAB_TOKEN": "tl_x", "TILELAB_CONFIG": str(tmp_path / "none")})


def test_an_id_is_found_in_an_address():
    assert id_of("abc1") == id_of("https://t.example/submissions/abc1?x=1") == id_of("/api/v1/submissions/abc1/source")
    assert id_of("a/b") is None
    assert id_of("\x1b[2J") is None


def test_asking_a_portal_loads_nothing_of_the_server():
    script = (
        "import sys, worker.commands.root as r, click\n"
        "for verb in ('submit', 'login', 'status', 'log', 'leaderboard', 'open', 'cancel', 'logout'):\n"
        "    r.tilelab.get_command(click.Context(r.tilelab), verb)\n"
        "import worker.commands.portal.text, worker.commands.portal.wait_display\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"server", "flask", "sqlalchemy", "celery", "redis", "requests"}
