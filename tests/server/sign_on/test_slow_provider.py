"""A provider that sends its answer byte by byte and never ends, or that doesn't answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from server.sign_on import fetch
from server.sign_on.fetch import ProviderFault, get_json
from server.sign_on.openid import Client, Request
from tests.server.sign_on.forger import forging

STARTS = {
    "status": b"",
    "header": b"HTTP/1.1 200 OK\r\nX: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
    "chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "refusal": b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n",
}


@pytest.fixture
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that sends this start, and then a byte from time to time."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(request.param)
                try:
                    while True:
                        connection.sendall(b"0")
                        time.sleep(0.05)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join()


@pytest.mark.parametrize("dripping", STARTS.values(), ids=list(STARTS), indirect=True)
def test_a_dripping_answer_ends(dripping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_SECONDS", 0.3)
    with pytest.raises(ProviderFault):
        get_json(dripping)


def test_a_silent_provider_holds_three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.sign_on.openid._WAIT_SECONDS", 0.1)
    asked, answer = threading.Semaphore(0), threading.Event()
    with forging() as forger:

        def silent(*_: object) -> str:
            asked.release()
            answer.wait()
            return "late"

        forger.token = silent
        client = Client(forger.provider)
        client.metadata()

        def sign_in() -> None:
            with pytest.raises(ProviderFault, match="isn't valid"):
                client.claims("c", Request.new(), "http://localhost/")

        waiting = [threading.Thread(target=sign_in) for _ in range(3)]
        for each in waiting:
            each.start()
            asked.acquire()
        with pytest.raises(ProviderFault, match="others are waiting"):
            client.claims("c", Request.new(), "http://localhost/")
        answer.set()
        for each in waiting:
            each.join()
