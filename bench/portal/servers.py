"""The portal with its own web server and with others of this machine: pages a second, and pages during attacks.

`pip install granian waitress` adds two. With nginx on PATH, it is measured as a buffering proxy before gunicorn.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.portal.attacks import HOST, Target, allow_files
from bench.portal.crowds import Span, beside, page, read
from bench.portal.web_server import COOKIE, PROCESSES, Web, answers, sign_in
from bench.queue.ground import COURSE, Ground
from bench.table import table
from tests.services import tethered
from tests.services.redis_server import free_port

ATTACKS = (
    "1,000 half-sent requests",
    "1,000 slow bodies",
    "30 clients that read without pause",
    "1,000 clients that read without pause",
)
_STUDENTS = 50
_READERS = 16
_THREADS = 300
_STARTS_SECONDS = 60
_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
worker_processes 2;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/bodies;
  proxy_temp_path {folder}/answers;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_header_timeout 10s;
  client_body_timeout 10s;
  send_timeout 20s;
  client_max_body_size 1m;
  upstream portal.example {{ server 127.0.0.1:{portal}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{
      proxy_pass "http://portal.example";
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
    }}
  }}
}}
"""


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    allow_files()
    seconds, rounds = (4.0, 1) if quick else (10.0, 3)
    figures = {}
    for name, start in _servers():
        with Ground(folder / name.replace(" ", "-"), students=_STUDENTS + 1) as ground:
            port = start(ground)
            ground.wait_for(lambda port=port: answers(port, "/readyz"), name, _STARTS_SECONDS)  # type: ignore[misc]
            *cookies, hostile = sign_in(ground.sessions, ground.people)
            asyncio.run(read(port, cookies, seconds, Span()))
            target = Target(port, f"{COOKIE}={hostile}", "", "", [])
            rate = asyncio.run(_rate(port, cookies, seconds))
            attacked = {attack: beside(attack, target, cookies, rounds, seconds) for attack in ATTACKS}
            figures[name] = {"pages_per_second": rate, "attacks": attacked}
    return figures, table(_HEAD, list(_rows(figures)))


def _servers() -> Iterator[tuple[str, Callable[[Ground], int]]]:
    yield "Tilelab's own", _own
    yield "gunicorn with threads", _gunicorn
    if shutil.which("nginx"):
        yield "nginx before gunicorn", _nginx
    for name, start in (("granian", _granian), ("waitress", _waitress)):
        if find_spec(name):
            yield name, start


def _own(ground: Ground) -> int:
    web = Web(ground, ground.database_url)
    web.start()
    return web.port


def _gunicorn(ground: Ground) -> int:
    words = ("-k", "gthread", "-w", PROCESSES, "--threads", _THREADS, "--worker-connections", 4_000)
    return _started(ground, "gunicorn", *words, "--no-control-socket", "-b", f"{HOST}:{{port}}")


def _granian(ground: Ground) -> int:
    words = ("--interface", "wsgi", "--workers", PROCESSES, "--blocking-threads", _THREADS, "--backpressure", 1_000)
    return _started(ground, "granian", *words, "--no-ws", "--host", HOST, "--port", "{port}")


def _waitress(ground: Ground) -> int:
    words = (f"--threads={_THREADS}", "--connection-limit=6000", "--channel-timeout=20", "--asyncore-use-poll")
    return _started(ground, "waitress", *words, f"--listen={HOST}:{{port}}")


def _nginx(ground: Ground) -> int:
    """Buffers requests, so that a thread of gunicorn sees only whole ones."""
    portal, port = _gunicorn(ground), free_port()
    settings = ground.folder / "nginx.conf"
    settings.write_text(_NGINX.format(folder=ground.folder, portal=portal, port=port))
    program = shutil.which("nginx") or ""
    ground.parts["nginx"] = tethered.start(
        (program, "-p", str(ground.folder), "-c", str(settings)), ground.folder / "n.log"
    )
    return port


def _started(ground: Ground, module: str, *words: object) -> int:
    port = free_port()
    given = ["-m", module, *(str(word).format(port=port) for word in words), "bench.portal.wsgi:app"]
    ground.start("web", given, DATABASE_URL=ground.database_url, TILELAB_UNDER_WAY="1000000")
    return port


async def _rate(port: int, cookies: Sequence[str], seconds: float) -> float:
    """Pages a second for readers without a pause, each a person of its own."""
    until = time.monotonic() + seconds

    async def reader(cookie: str) -> int:
        done = 0
        while time.monotonic() < until:
            done += await page(port, cookie, f"/courses/{COURSE}/") == 200
        return done

    return sum(await asyncio.gather(*map(reader, cookies[:_READERS]))) / seconds


_HEAD = ("server", "pages a second", "50 students during", "pages", "no answer", "p50, ms", "p95", "quiet p95")


def _rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, found in figures.items():
        first = (name, f"{found['pages_per_second']:.0f}")
        for attack, each in found["attacks"].items():
            crowded, quiet = each["beside"], each["quiet"]
            times = (f"{part * 1e3:.0f}" for part in (crowded["p50"], crowded["p95"], quiet["p95"]))
            yield (*first, attack, str(crowded["pages"]), str(sum(crowded["refused"].values())), *times)
            first = ("", "")
