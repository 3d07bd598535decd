"""What is answered before, or instead of, the application; tests/fuzz_api has the rest, through a whole portal."""

from __future__ import annotations

import http.client
import sys
import time
from pathlib import Path

import pytest

from tests.services.redis_server import free_port
from tests.services.tethered import start, wait_until

ROOT = Path(__file__).resolve().parents[3]
_BARE = """
import sys
from gunicorn.app.base import BaseApplication
from server.web.unreadable import AnsweringWorker

class Bare(BaseApplication):
    def load_config(self):
        for name, value in {"bind": [f"127.0.0.1:{sys.argv[1]}"], "worker_class": AnsweringWorker}.items():
            self.cfg.set(name, value)
        self.cfg.set("control_socket_disable", True)

    def load(self):
        return answer

def answer(environ, start_response):
    start_response("200 OK", [("X-Broken", "one\\nline")] if environ["PATH_INFO"] == "/broken" else [])
    return [b"fine"]

Bare().run()
"""


@pytest.fixture
def port(tmp_path):
    number, log = free_port(), tmp_path / "log"
    process = start(
        ["/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable, "-P", "-c", _BARE, str(number)], log
    )
    try:
        wait_until(lambda: _answers(number), process, log)
        yield number
    finally:
        process.terminate()
        process.wait(60)


def test_an_answer_that_cannot_be_sent_is_no_fault_of_who_asks(port):
    assert _ask(port, "/broken")[0] == 500
    assert _ask(port, "/" + "x" * 9000) == (414, "application/problem+json")


def _answers(port: int) -> bool:
    try:
        return _ask(port, "/")[0] == 200
    except OSError:
        time.sleep(0.05)
        return False


def _ask(port: int, path: str) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type")
    finally:
        connection.close()
