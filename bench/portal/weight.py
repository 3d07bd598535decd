"""The cost of the first view of each page: compressed bytes on the wire, and requests."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from bench.portal.pages import ASSIGNMENT, DEVICE_CLASS, WORK, furnished, public_id, real_report
from bench.portal.web_server import COOKIE, Web, sign_in
from bench.queue.ground import COURSE, Ground
from bench.table import table

_SUBMISSIONS = 2_000
_IMPORTED = re.compile(rb"\b(?:import|from)\s*\(?\s*[\"']([./][^\"']+\.js)[\"']")
_SIGN_IN = "/sign-in"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An answer. wire: bytes, including its head; kind: its media type."""

    status: int
    wire: int
    body: bytes
    kind: str


class Needs(HTMLParser):
    """The files that a page needs: styles, scripts, pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("href") if tag == "link" else given.get("src")
        wanted = tag in {"script", "img"} or given.get("rel") in {"stylesheet", "icon", "modulepreload"}
        if wanted and address and not address.startswith("data:") and address not in self.found:
            self.found.append(address)


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    with Ground(folder, students=1) as ground:
        full, staff, shown = furnished(ground, "weighed", _SUBMISSIONS, real_report())
        web = Web(ground, full.engine.url.render_as_string(hide_password=False))
        web.start()
        student = sign_in(full.sessions, [full.people[shown[0] % len(full.people)]])[0]
        figures = {
            name: _view(web.port, staff if name.startswith("staff") else student, path)
            for name, path in _pages(shown[0]).items()
        }
        figures["sign in"] = _view(web.port, "", _SIGN_IN)
        full.engine.dispose()
    return figures, _text(figures)


def _pages(submission: int) -> Mapping[str, str]:
    staff = f"/staff/{COURSE}"
    return {
        "home": "/",
        "course": f"/courses/{COURSE}/",
        "assignment": f"{WORK}/",
        "result": f"/submissions/{public_id(submission)}",
        "history": f"{WORK}/history",
        "leaderboard": f"{WORK}/board/{DEVICE_CLASS}",
        "account": "/account",
        "staff: overview": f"{staff}/",
        "staff: roster": f"{staff}/roster",
        "staff: assignment": f"{staff}/assignments/{ASSIGNMENT}",
        "staff: submissions": f"{staff}/submissions",
        "staff: gradebook": f"{staff}/grades",
        "staff: audit": f"{staff}/audit",
        "staff: fleet": "/fleet",
    }


def _view(port: int, cookie: str, path: str) -> dict[str, Any]:
    """Load the page and all files that it needs, each once."""
    page = _load(port, path, cookie)
    if page.status != 200:
        raise RuntimeError(f"{path}: {page.status}")
    needs = Needs()
    needs.feed(page.body.decode())
    sizes: dict[str, int] = {}
    waiting = [urljoin(path, address) for address in needs.found]
    while waiting:
        address = waiting.pop()
        if address in sizes:
            continue
        found = _load(port, address, cookie)
        sizes[address] = found.wire
        if "javascript" in found.kind:
            waiting += [urljoin(address, name.decode()) for name in _IMPORTED.findall(found.body)]
    return {
        "page": page.wire, "unpacked": len(page.body), "requests": 1 + len(sizes),
        "bytes": page.wire + sum(sizes.values()),
        "needs": {urlsplit(address).path.rpartition("/")[2]: size for address, size in sizes.items()},
    }  # fmt: skip


def _load(port: int, path: str, cookie: str) -> Loaded:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Accept-Encoding": "gzip", "Cookie": f"{COOKIE}={cookie}"}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    head = sum(len(name) + len(value) + 4 for name, value in answer.getheaders()) + 19
    body = answer.read()
    connection.close()
    plain = gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else body
    return Loaded(answer.status, head + len(body), plain, answer.getheader("Content-Type", ""))


def _text(figures: Mapping[str, Any]) -> str:
    ordered = sorted(figures.items(), key=lambda item: -item[1]["bytes"])
    rows = [
        (
            name, f"{each['bytes'] / 1000:.1f}", str(each["requests"]), f"{each['page'] / 1000:.1f}",
            f"{each['unpacked'] / 1000:.1f}",
            ", ".join(f"{part} {size / 1000:.1f}" for part, size in each["needs"].items()),
        )
        for name, each in ordered
    ]  # fmt: skip
    head = ("first view", "kB in all", "requests", "the page", "unpacked", "what it needs")
    return f"{table(head, rows)}\n\nThe heaviest: {ordered[0][0]}."
