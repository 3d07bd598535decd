"""The time of pages with few and with very many submissions by the same people, on PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import math
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from bench.portal.web_server import Browser, Web, percentile, sign_in
from bench.queue.ground import COURSE, ROOT, Ground, Terms
from bench.queue.rows import Full, grade, made
from bench.table import table
from server.accounts.models import Person

MOST = 1.3
"""The most that a page may slow down with so many more submissions."""

_PEOPLE = 1_000
DEVICE_CLASS = "h200"
ASSIGNMENT = "tiled-own"
_REPORTS = 200
_SECONDS_A_PAGE = 25.0
_SOLUTION = ROOT / "kernels" / "exercises" / "tiled" / "solution.cu"


@dataclass(slots=True)
class Side:
    """A portal with a database of a number of submissions.

    shown: numbers of submissions with a whole report; times: in seconds, by page
    """

    number: int
    full: Full
    web: Web
    cookies: list[str]
    staff: str
    shown: list[int]
    times: dict[str, list[float]] = field(default_factory=dict)

    def browser_of(self, submission: int) -> Browser:
        """Return the browser of the person who made a submission."""
        return Browser(self.web.port, self.cookies[submission % _PEOPLE])


Page = Callable[[Side, int], tuple[Browser, str]]
"""Returns the browser and the address. The number differs with each look, but is the same on all sides."""

WORK = f"/courses/{COURSE}/{ASSIGNMENT}"


def _by_staff(path: str) -> Page:
    return lambda side, number: (Browser(side.web.port, side.staff), path)


def _by_student(path: str) -> Page:
    return lambda side, number: (side.browser_of(number), path)


def _result(side: Side, number: int) -> tuple[Browser, str]:
    submission = side.shown[number % len(side.shown)]
    return side.browser_of(submission), f"/submissions/{public_id(submission)}"


PAGES: Mapping[str, Page] = {
    "nothing at all (/healthz)": _by_student("/healthz"),
    "result": _result,
    "leaderboard": _by_student(f"{WORK}/board/{DEVICE_CLASS}"),
    "home": _by_student("/"),
    "assignment": _by_student(f"{WORK}/"),
    "own submissions": _by_student(f"{WORK}/history"),
    "staff: submissions": _by_staff(f"/staff/{COURSE}/submissions"),
    "staff: gradebook": _by_staff(f"/staff/{COURSE}/grades"),
    "staff: overview": _by_staff(f"/staff/{COURSE}/"),
}
_GOALS = {"result", "leaderboard"}


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    sizes, looks = ((1_000, 20_000), 20) if quick else ((1_000, 1_000_000), 300)
    report = real_report()
    with Ground(folder, students=1) as ground:
        sides = [_side(ground, size, report) for size in sizes]
        for name, page in PAGES.items():
            _look(sides, name, page, looks)
    figures = {
        name: {
            str(side.number): {
                "looks": len(side.times[name]),
                "p50": percentile(side.times[name] or [math.nan], 0.5),
                "p99": percentile(side.times[name] or [math.nan], 0.99),
            }
            for side in sides
        }
        for name in PAGES
    }
    return figures, _text(figures, sizes, len(report))


def public_id(submission: int) -> str:
    """Return the public id as bench.queue.rows makes it."""
    return hashlib.md5(f"s{submission}".encode(), usedforsecurity=False).hexdigest()[:16]


def real_report() -> bytes:
    """Return the stored report of the exercise's own solution, graded now."""
    command = [sys.executable, "-m", "worker.commands", "grade", str(_SOLUTION), "--exercise", "tiled", "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True).stdout
    return zlib.compress(json.dumps(json.loads(printed), separators=(",", ":")).encode(), 6)


def furnished(ground: Ground, name: str, size: int, report: bytes) -> tuple[Full, str, list[int]]:
    """Create graded submissions. Return the database, a staff cookie, and the submissions with a whole report."""
    full = made(ground.add_database(name), _PEOPLE, Terms(device_class=DEVICE_CLASS))
    grade(full, size)
    shown = sorted(random.Random(size).sample(range(1, size + 1), min(_REPORTS, size)))
    with full.engine.begin() as connection:
        kept = {"report": report, "shown": shown}
        connection.execute(text("UPDATE results SET report = :report WHERE job_id = ANY(:shown)"), kept)
        connection.execute(
            text("UPDATE sources SET content = :content || content"), {"content": _SOLUTION.read_bytes()}
        )
    with full.sessions.begin() as session:
        person = session.get_one(Person, full.people[0])
        staff = Person(email="staff@example.edu", name="Staff", admin=True, created_at=person.created_at)
        session.add(staff)
        session.flush()
        number = staff.id
    return full, sign_in(full.sessions, [number])[0], shown


def _side(ground: Ground, size: int, report: bytes) -> Side:
    _say(f"{size:,} submissions")
    full, staff, shown = furnished(ground, f"portal_{size}", size, report)
    web = Web(ground, full.engine.url.render_as_string(hide_password=False), f"web-{size}")
    web.start()
    return Side(size, full, web, sign_in(full.sessions, full.people), staff, shown)


def _look(sides: list[Side], name: str, page: Page, looks: int) -> None:
    """Look at a page repeatedly, on all sides in turn. The first few looks don't count."""
    _say(name)
    began = time.monotonic()
    dice = random.Random(name)
    browsers: dict[tuple[int, str], Browser] = {}
    for side in sides:
        side.times[name] = []
    for look in range(-5, looks):
        number = dice.randrange(10**6)
        for side in sides if look % 2 else sides[::-1]:
            if side.times[name] == [math.inf]:
                continue  # it was refused and would be refused again
            whose, path = page(side, number)
            # one connection for all: only the cookie changes
            browser = browsers.setdefault((side.number, ""), whose)
            browser.cookie = whose.cookie
            try:
                seconds, _ = browser.get(path)
            except (RuntimeError, TimeoutError) as error:
                _say(f"{side.number:,}: {error}")
                side.times[name] = [math.inf]
                continue
            if look >= 0:
                side.times[name].append(seconds)
        if look >= 4 and time.monotonic() - began > _SECONDS_A_PAGE:
            return


def _say(what: str) -> None:
    print(f"pages: {what}", file=sys.stderr, flush=True)


def _text(figures: Mapping[str, Any], sizes: tuple[int, ...], report: int) -> str:
    small, large = map(str, sizes)
    rows = []
    for name, each in figures.items():
        least, most = each[small], each[large]
        rows.append((
            name, *(f"{side[part] * 1e3:.1f}" for side in (least, most) for part in ("p50", "p99")),
            f"{most['p50'] / least['p50']:.2f}x", f"<= {MOST}" if name in _GOALS else "",
        ))  # fmt: skip
    head = ["ms a page", *(f"{part}, {size:,}" for size in sizes for part in ("p50", "p99")), "p50 by p50", "goal"]
    return f"{table(head, rows)}\n\nA stored report has {report:,} bytes."
