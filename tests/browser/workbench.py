"""A server of one test's own pages, with the portal's policy, stylesheet and scripts, and answers as the test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kernels.rendering.page.render import stylesheet
from server.web.assets import _STATIC
from server.web.headers import _ALWAYS, _FRAMED_NOWHERE

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Workbench</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/style.css"><link rel="icon" href="data:,">
<script type="module" src="/site.js"></script>{scripts}</head>
<body><main id="main" class="page"><h1>Workbench</h1>{main}</main></body></html>
"""

Answerer = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request, to be answered."""

    bench: Workbench

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bench.sent.append({name: values[0] for name, values in parse_qs(body.decode()).items()})
        self._answer()

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        self.bench.asked.append(path)
        if answerer := self.bench.answers.get(path):
            answerer(self)
        elif path == "/style.css":
            self.give(stylesheet() + (_STATIC / "portal.css").read_text(), "text/css")
        elif path == "/code.woff2":
            font = (_STATIC / "fonts" / "code.woff2").read_bytes()
            self.begin("font/woff2", 200, {"Content-Length": str(len(font))})
            self.wfile.write(font)
        elif (file := _STATIC / "build" / path[1:]).is_file():
            self.give(file.read_text(), "text/javascript")
        else:
            self.give("nothing here", "text/plain", status=404)

    def give(self, body: str, media_type: str = "text/html; charset=utf-8", status: int = 200) -> None:
        """All of an answer."""
        content = body.encode()
        self.begin(media_type, status, {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def give_json(self, value: Any, status: int = 200) -> None:
        self.give(json.dumps(value), "application/json", status)

    def begin(self, media_type: str, status: int = 200, more: dict[str, str] | None = None) -> None:
        """The head of an answer whose body comes in pieces."""
        self.send_response(status)
        headers = {
            **_ALWAYS,
            **_FRAMED_NOWHERE,
            "Cache-Control": "no-store",
            "Content-Type": media_type,
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def event(self, name: str, data: Any) -> None:
        """A piece of a stream of events. Raises OSError where nobody listens any more."""
        self.wfile.write(f"event: {name}\nretry: 100\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the one it replaces
        """Not a word."""


@dataclass
class Workbench:
    """What it answers, and what it was asked and sent."""

    url: str = ""
    answers: dict[str, Answerer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)

    def page(self, main: str, *scripts: str, path: str = "/") -> str:
        """Lay out a page; gives its address."""
        tags = "".join(f'<script type="module" src="/{name}"></script>' for name in scripts)
        self.answers[path] = lambda exchange: exchange.give(_PAGE.format(main=main, scripts=tags))
        return self.url + path


@contextmanager
def workbench(port: int = 0) -> Iterator[Workbench]:
    """One that answers until it is left."""
    bench = Workbench()
    handler = type("OfOneBench", (Exchange,), {"bench": bench})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        server.daemon_threads = True
        bench.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield bench
        finally:
            server.shutdown()
            thread.join()
