"""A process that answers, with few threads: slow and half-sent requests take none. tests/fuzz_api has the rest."""

from __future__ import annotations

import errno
import http.client
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from select import select
from selectors import DefaultSelector
from typing import Any

import pytest
from gunicorn.config import Config

from server.http.arrival import BodySizes
from server.web.connections import Connection, HeldBack, Phase, PiecewiseSocket, WaitingConnections
from server.web.web_server import listen, url_of
from server.web.web_worker import ACCEPT_PAUSE_SECONDS, WebWorker
from tests.services.redis_server import free_port
from tests.services.tethered import start, wait_until

ROOT = Path(__file__).resolve().parents[3]
OF_ADDRESS = 4
OPEN_OF_ADDRESS = 8
CONNECTIONS = 12
SHORT, PATIENT = (0.4, 2.0), (60.0, 60.0)
"""Seconds for what is sent, and for each piece of an answer."""
LARGE = 8 * 2**20
HELD = 100_000
_BARE = f"""
import sys
import time
from pathlib import Path
from dataclasses import replace
from server.http.arrival import BodySizes
from server.http.concurrency_limit import ConcurrencyLimit
from server.settings import Settings
from server.web import web_server

class Bare(web_server._Gunicorn):
    def __init__(self):
        bound = web_server.listen("127.0.0.1", int(sys.argv[1]))
        super().__init__(Settings("sqlite://", "redis://127.0.0.1:1"), bound, 1)

    def load_config(self):
        super().load_config()
        self.cfg.set("threads", int(sys.argv[4]))
        self.cfg.set("worker_connections", {CONNECTIONS})
        self.cfg.set("post_worker_init", bound)

    def load(self):
        return answer if sys.argv[4] == "1" else ConcurrencyLimit(answer, BodySizes(), person_of)

person_of = {{"greedy": 1, "other": 2}}.get

def bound(worker):
    worker.person_of = person_of
    worker.bounds = replace(
        worker.bounds, held={HELD}, of_address={OF_ADDRESS}, open_of_address={OPEN_OF_ADDRESS},
        head_seconds=float(sys.argv[2]), body_seconds=float(sys.argv[2]), answer_seconds=float(sys.argv[3]),
        threads_of_client=int(sys.argv[5]), held_back=2, held_back_seconds=float(sys.argv[6]))

def answer(environ, start_response):
    given = environ["wsgi.input"]
    told = getattr(given, "why", None) or given.read().decode()
    told += " ".join(environ[name] for name in ("SCRIPT_NAME", "PATH_INFO", "wsgi.url_scheme"))
    while environ["PATH_INFO"] == "/wait" and not Path(environ["QUERY_STRING"]).exists():
        time.sleep(0.01)
    if environ["PATH_INFO"] == "/large":
        told = "x" * {LARGE}
    if environ["PATH_INFO"] == "/stream":
        start_response("200 OK", [])
        return stream(Path(environ["QUERY_STRING"]))
    start_response("200 OK", [("X-Broken", "one\\nline")] if environ["PATH_INFO"] == "/broken" else [
        ("Content-Length", str(len(told)))])
    return [told.encode()]

def stream(end):
    yield b"begun"
    while not end.exists():
        time.sleep(0.01)

Bare().run()
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server whose deadlines pass in no test."""
    with _bare(tmp_path_factory, *PATIENT) as number:
        yield number


@pytest.fixture(scope="module")
def hasty_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with _bare(tmp_path_factory, *SHORT) as number:
        yield number


@contextmanager
def _bare(
    tmp_path_factory: pytest.TempPathFactory, *seconds: float, threads: int = 1, of_client: int = CONNECTIONS,
    held_back_seconds: float = 60.0,
) -> Iterator[int]:  # fmt: skip
    number, log = free_port(), tmp_path_factory.mktemp("bare") / "log"
    arguments = map(str, (number, *seconds, threads, of_client, held_back_seconds))
    process = start(["/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable, "-P", "-c", _BARE, *arguments], log)
    try:
        wait_until(lambda: _answers(number), process, log)
        yield number
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.one_in(2, "two of three")
@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-Half", b"408", b"too_slow"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf", b"200", b"slow"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", b"200", b"slow"),
    ],
    ids=["headers", "body", "chunks"],
)
def test_what_is_half_sent_ends_at_its_deadline_and_takes_no_thread(hasty_port, sent, status, told):
    with _sent(hasty_port, sent) as half:
        assert _ask(hasty_port, "/")[0] == 200
        answer = _all(half)
    assert answer.split(b" ")[1] == status
    assert told in answer


def test_an_address_has_so_many_connections_that_wait_and_the_oldest_end(port):
    with ExitStack() as opened:
        half = [opened.enter_context(_sent(port, b"GET / HTTP/1.1\r\n")) for _ in range(2 * OF_ADDRESS)]
        assert _ask(port, "/")[0] == 200
        # with no word of being slow
        assert [_all(each) for each in half[:OF_ADDRESS]] == [b""] * OF_ADDRESS


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_browser_on_this_machine_finds_what_listens(host):
    with listen(host, 0) as bound:
        assert url_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_idle_connections_end_first_then_heads_then_bodies():
    waiting = WaitingConnections(3, 3)
    phases = [Phase.BODY, Phase.HEAD, Phase.IDLE, Phase.IDLE]
    with PiecewiseSocket() as unused:
        body, head, idle, new = each = [
            Connection(Config(), unused, ("127.0.0.1", 1), None, BodySizes()) for _ in phases
        ]
    for connection, phase in zip(each, phases, strict=True):
        connection.wait(phase, 1)
    idle.since -= 60
    assert [waiting.add(connection) for connection in each] == [None, None, None, idle]
    ended = []
    while first := waiting.first_to_end("127.0.0.1", but=new):
        waiting.remove(first)
        ended.append(first)
    assert ended == [idle, head, body]


def test_of_too_many_bytes_that_wait_the_largest_request_is_given_up(port):
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    with _sent(port, head % 11 + b"small ") as small, ExitStack() as opened:
        large = [opened.enter_context(_sent(port, head % HELD + b"x" * (HELD // 2 + 1))) for _ in range(2)]
        small.sendall(b"again")
        assert b"small again" in _all(small)
        (given_up,) = select(large, [], [], 60)[0]
        assert b"busy" in _all(given_up)


def test_whoever_keeps_a_closed_connection_open_holds_nobody_up(port):
    with ExitStack() as opened:
        for _ in range(OF_ADDRESS):
            opened.enter_context(_sent(port, b"GET / HTTP/1.0\r\n\r\n"))
        begun = time.monotonic()
        assert _ask(port, "/")[0] == 200
        assert time.monotonic() - begun < 1.5 * OF_ADDRESS, "2 s for each of them"


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param(["127.0.0.2"], marks=pytest.mark.long("the short suite has two addresses")),
        ["127.0.0.2", "127.0.0.3"],
    ],
)
def test_addresses_with_a_request_in_every_connection_shut_nobody_out(port, addresses):
    over = threading.Event()
    askers = [
        threading.Thread(target=_ask_without_end, args=(port, address, over))
        for address in addresses
        for _ in range(2 * CONNECTIONS)
    ]
    try:
        for each in askers:
            each.start()
        time.sleep(1)
        assert _ask(port, "/")[0] == 200
    finally:
        over.set()
        for each in askers:
            each.join()


def test_connections_being_answered_count_for_their_address(port, tmp_path):
    rest = b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    go = tmp_path / "go"
    with ExitStack() as opened:
        asked = [opened.enter_context(_sent(port, f"GET /wait?{go}".encode() + rest))]
        asked += [opened.enter_context(_sent(port, b"GET /" + rest)) for _ in range(CONNECTIONS - 1)]
        while len(select(asked, [], [])[0]) < CONNECTIONS - OPEN_OF_ADDRESS:  # nothing is answered meanwhile
            time.sleep(0.01)
        go.touch()
        assert [_all(each) for each in asked].count(b"") == CONNECTIONS - OPEN_OF_ADDRESS


def _greedy(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: tilelab=greedy\r\n\r\n".encode()


@pytest.mark.one_in(2, "one kind of clients")
@pytest.mark.parametrize(("seconds", "status"), [(60.0, b"200"), (0.4, b"429")], ids=["follows", "refused"])
def test_a_client_with_more_requests_than_its_threads_waits_for_itself(tmp_path_factory, tmp_path, seconds, status):
    go = tmp_path / "go"
    limits = {"threads": 3, "of_client": 2, "held_back_seconds": seconds}
    with _bare(tmp_path_factory, *PATIENT, **limits) as port, ExitStack() as opened:
        waiting = [opened.enter_context(_sent(port, _greedy(f"/wait?{go}"))) for _ in range(2)]
        _sent(port, _greedy(f"/wait?{go}")).close()
        held_back = opened.enter_context(_sent(port, _greedy(f"/wait?{go}")))
        # "1" is the number of the greedy person
        for cookie in ("tilelab=other", "tilelab=unknown", "tilelab=1", ""):
            assert _ask(port, "/", Cookie=cookie)[0] == 200
        if status == b"429":
            assert select([held_back], [], [], 60)[0]
        go.touch()
        assert _all(held_back).split()[1] == status
        assert [_all(each).split()[1] for each in waiting] == [b"200"] * 2
        assert _ask(port, "/", Cookie="tilelab=greedy")[0] == 200


def test_others_at_an_address_get_answers_while_one_client_has_all_its_connections(tmp_path_factory, tmp_path):
    go = tmp_path / "go"
    threads = OPEN_OF_ADDRESS - 2
    with _bare(tmp_path_factory, *PATIENT, threads=threads + 1, of_client=threads) as port, ExitStack() as opened:
        asked = [opened.enter_context(_sent(port, _greedy(f"/wait?{go}"))) for _ in range(threads)]
        held_back = [opened.enter_context(_sent(port, _greedy(f"/wait?{go}"))) for _ in range(2)]
        assert _ask(port, "/", Cookie="tilelab=other")[0] == 200
        go.touch()
        assert [_all(each).split()[1] for each in asked] == [b"200"] * threads
        assert sorted(_all(each).split()[1] for each in held_back) == [b"200", b"429"]


def test_a_stream_lets_the_next_request_of_its_client_follow(tmp_path_factory, tmp_path):
    end = tmp_path / "end"
    with _bare(tmp_path_factory, *PATIENT, threads=3, of_client=1) as port, ExitStack() as opened:
        streams = [opened.enter_context(_sent(port, _greedy(f"/stream?{end}"))) for _ in range(2)]
        assert _ask(port, "/", Cookie="tilelab=greedy")[0] == 200
        end.touch()
        assert all(b"begun" in _all(each) for each in streams)


def test_of_all_that_is_held_back_the_last_of_the_longest_queue_is_refused_first():
    held_back = HeldBack(2, 1, 60)
    with PiecewiseSocket() as unused:
        first, second, third, other, last = each = [
            Connection(Config(), unused, ("127.0.0.1", 1), None, BodySizes()) for _ in range(5)
        ]
    clients = ["greedy", "greedy", "greedy", "other", "other"]
    entered = [held_back.enter(connection, client) for connection, client in zip(each, clients, strict=True)]
    assert entered == [True, False, False, True, False]
    assert [held_back.surplus(), held_back.surplus()] == [third, None]
    assert held_back.leave(first) is second
    assert held_back.leave(first) is None, "its answer began, and later it ended"
    assert list(held_back.late(time.monotonic())) == []
    assert list(held_back.late(time.monotonic() + 61)) == [last]
    assert held_back.leave(second) is held_back.leave(other) is None
    assert held_back.enter(first, "greedy")


def test_a_large_answer_is_sent_whole_while_its_reader_goes_on(hasty_port):
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        slow.connect(("127.0.0.1", hasty_port))
        slow.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = 0
        while piece := slow.recv(2**18, socket.MSG_WAITALL):
            got += len(piece)
            time.sleep(0.12)
    assert got > LARGE


def test_no_peer_is_believed_where_no_proxy_is_set(port):
    given = {"SCRIPT_NAME": "/there", "X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "on"}
    assert _ask(port, "/there/it/is", **given)[2] == b" /there/it/is http"


def test_requests_in_one_piece_are_answered_in_order(port):
    pieces = b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nyo\r\n0\r\n\r\n"
    length = b"POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nyes"
    last = b"GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with _sent(port, pieces + length + last) as connection:
        answer = _all(connection)
    told = [answer.index(each) for each in (b"yo /a http", b"yes /b http", b" /c http")]
    assert told == sorted(told)


@pytest.mark.parametrize("expected", [b"100-continue", b"100-Continue"])
def test_whoever_waits_for_leave_to_send_gets_it_once(port, expected):
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: " + expected + b"\r\nContent-Length: 2\r\n\r\n"
    with _sent(port, head) as asked:
        assert asked.recv(100).startswith(b"HTTP/1.1 100 ")
        asked.sendall(b"yo")
        answer = _all(asked)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"yo / http" in answer


def test_an_answer_that_cannot_be_sent_is_no_fault_of_who_asks(port):
    assert _ask(port, "/broken")[0] == 500
    assert _ask(port, "/" + "x" * 9000)[:2] == (414, "application/problem+json")


def _sent(port: int, text: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 30)
    connection.sendall(text)
    return connection


class _NoDescriptorLeft(socket.socket):
    def accept(self) -> tuple[socket.socket, object]:
        raise OSError(errno.EMFILE, "Too many open files")


def test_accepting_pauses_while_there_is_no_file_descriptor():
    none: Any = None
    worker = WebWorker(0, 0, [], none, 1, Config(), none)
    worker.tmp.close()
    with _NoDescriptorLeft() as listener, DefaultSelector() as worker.poller:
        worker.sockets = [listener]
        worker.set_accept_enabled(True)
        worker.accept(listener)
        worker.set_accept_enabled(True)
        assert not worker.poller.get_map()
        time.sleep(ACCEPT_PAUSE_SECONDS)
        worker.set_accept_enabled(True)
        assert len(worker.poller.get_map()) == 1


def _ask_without_end(port: int, address: str, over: threading.Event) -> None:
    """Keep 20 requests on their way in one connection, and connect again when it ends."""
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    while not over.is_set():
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 5, (address, 0)) as connection,
            connection.makefile("rb") as answers,
        ):
            connection.sendall(20 * request)
            for line in answers:
                if over.is_set():
                    break
                if b"HTTP/1.1 " in line:
                    connection.sendall(request)


def _all(connection: socket.socket) -> bytes:
    """What is answered until the connection ends."""
    found = b""
    try:
        while piece := connection.recv(2**16):
            found += piece
    except ConnectionResetError:
        pass
    return found


def _answers(port: int) -> bool:
    try:
        return _ask(port, "/")[0] == 200
    except OSError:
        time.sleep(0.05)
        return False


def _ask(port: int, path: str, **headers: str) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()
    finally:
        connection.close()
