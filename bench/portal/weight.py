"""The cost of the first view of each page in a browser: compressed bytes on the wire, and requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser
from sqlalchemy import select

from bench.portal.pages import ASSIGNMENT, DEVICE_CLASS, WORK, furnished, public_id, real_report
from bench.portal.web_server import COOKIE, Web, sign_in
from bench.queue.ground import COURSE, Ground
from bench.table import table
from server.courses.models import Assignment
from server.database.engine import Sessions
from server.exercises.stored import installed_content, keep
from tests.browser.chromium import started
from tests.browser.viewports import WIDE

_SUBMISSIONS = 2_000
_EXERCISE = "tiled"
_SIGN_IN = "/sign-in"


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    with Ground(folder, students=1) as ground, started() as browser:
        full, staff, shown = furnished(ground, "weighed", _SUBMISSIONS, real_report())
        _add_handout(full.sessions)
        web = Web(ground, full.engine.url.render_as_string(hide_password=False))
        web.start()
        student = sign_in(full.sessions, [full.people[shown[0] % len(full.people)]])[0]
        origin = f"http://127.0.0.1:{web.port}"
        figures = {
            name: _view(browser, origin, staff if name.startswith("staff") else student, path)
            for name, path in _pages(shown[0]).items()
        }
        figures["sign in"] = _view(browser, origin, "", _SIGN_IN)
        full.engine.dispose()
    return figures, _text(figures)


def _add_handout(sessions: Sessions) -> None:
    """Give the assignment the exercise that comes with Tilelab, with its handout and figures."""
    with sessions.begin() as session:
        assignment = session.scalars(select(Assignment).where(Assignment.slug == ASSIGNMENT)).one()
        assignment.exercise = keep(session, installed_content(_EXERCISE), None, datetime.now(UTC))


def _pages(submission: int) -> Mapping[str, str]:
    staff = f"/staff/{COURSE}"
    return {
        "home": "/",
        "course": f"/courses/{COURSE}/",
        "assignment": f"{WORK}/",
        "result": f"/submissions/{public_id(submission)}",
        "own submissions": f"{WORK}/history",
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


def _view(browser: Browser, origin: str, cookie: str, path: str) -> dict[str, Any]:
    """Open the page without a cache. Scripts, fonts and pictures count if the browser loads them by itself."""
    context = browser.new_context(viewport=WIDE)
    if cookie:
        context.add_cookies([{"name": COOKIE, "value": cookie, "url": origin}])
    page = context.new_page()
    names: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def sent(event: dict[str, Any]) -> None:
        names[event["requestId"]] = event["request"]["url"]

    def loaded(event: dict[str, Any]) -> None:
        name = names[event["requestId"]]
        if not name.startswith("data:"):
            sizes[name] = round(event["encodedDataLength"])

    watch = context.new_cdp_session(page)
    watch.on("Network.requestWillBeSent", sent)
    watch.on("Network.loadingFinished", loaded)
    watch.send("Network.enable")
    answer = page.goto(origin + path, wait_until="networkidle")
    if answer is None or answer.status != 200:
        raise RuntimeError(f"{path}: {answer and answer.status}")
    unpacked = len(answer.body())
    context.close()
    alone = sizes.pop(origin + path)
    return {
        "page": alone, "unpacked": unpacked, "requests": 1 + len(sizes), "bytes": alone + sum(sizes.values()),
        "needs": {urlsplit(address).path.rpartition("/")[2]: size for address, size in sizes.items()},
    }  # fmt: skip


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
