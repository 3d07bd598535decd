"""The cost of one submission and of a student's pages: processor time, statements and transactions.

With BEFORE=folder, another checkout of Tilelab is measured in the same run.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import Engine, event, text
from werkzeug.test import TestResponse

from bench.portal.pages import ASSIGNMENT, DEVICE_CLASS, WORK, public_id, real_report
from bench.portal.web_server import COOKIE, sign_in, tokens
from bench.queue.ground import COURSE, ROOT, Ground, Terms
from bench.queue.rows import Full, grade, made
from bench.table import table
from server.accounts.cookies import CSRF_FIELD, csrf_token
from server.bounded_work import bounded_seconds
from server.settings import Settings
from server.web.app import create_app

BEFORE = "BEFORE"
_LISTED = ("submission by a program", "submission by the form", "result, 10 attempts")
_FEW, _MANY = 10, 1_000
_EACH = 10
"""Submissions of each person. The portal looks up who they are once for all."""

_SOURCE = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{ /* {} */ }}\n"


@dataclass(slots=True)
class Cost:
    """What one request takes.

    processor: seconds of the portal, the median
    callers: each statement with the functions that caused it
    """

    processor: float
    transactions: int
    statements: int
    callers: list[tuple[str, str]] = field(default_factory=list)


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    figures = {"now": _in_process(folder / "now", ROOT, quick=quick)}
    if before := os.environ.get(BEFORE):
        figures["before"] = _in_process(folder / "before", Path(before).resolve(), quick=quick)
    return figures, _text(figures)


def _in_process(folder: Path, checkout: Path, *, quick: bool) -> dict[str, Any]:
    """Measure a checkout in its own process. This file measures both."""
    folder.mkdir()
    command = [sys.executable, "-P", __file__, str(folder), "quick" if quick else "whole"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    printed = subprocess.run(command, stdout=subprocess.PIPE, cwd=checkout, env=environment, check=True).stdout
    found: dict[str, Any] = json.loads(printed)
    return found


def measured(folder: Path, *, looks: int) -> dict[str, Cost]:
    """Measure the tree that this process imports."""
    with Ground(folder, students=1) as ground:
        people = 2 * looks + 20 + _MANY // _FEW
        full = _full(ground, people)
        url = full.engine.url.render_as_string(hide_password=False)
        app = create_app(Settings(url, ground.redis.url, under_way=1_000))
        found = {name: _cost(app, ask, looks) for name, ask in _requests(app, full).items()}
        app.extensions["tilelab"].engine.dispose()
        full.engine.dispose()
    return found


def _full(ground: Ground, people: int) -> Full:
    """Create students with ten submissions each. The first one also has those of a hundred others."""
    full = made(ground.add_database("costs"), people, Terms(device_class=DEVICE_CLASS))
    grade(full, people * _FEW)
    given = {"report": real_report(), "many": full.people[0], "low": full.people[2], "high": full.people[_MANY // _FEW]}
    with full.engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in (_REPORTS, *_MOVED, _TERMS):
            asked = text(statement)
            connection.execute(asked, {name: given[name] for name in asked.compile().params})
    with full.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE)"))
    return full


Ask = Callable[[int], TestResponse]


def _requests(app: Flask, full: Full) -> Mapping[str, Ask]:
    """The requests, each with its number."""
    client = app.test_client(use_cookies=False)
    keys, cookies = tokens(full.sessions, full.people), sign_in(full.sessions, full.people)
    app.add_url_rule("/nothing-at-all", view_func=lambda: "")
    people, moved = len(full.people), _MANY // _FEW - 1

    def by_program(number: int, person: int) -> TestResponse:
        source = _SOURCE.format(f"{person} {number}")
        asked = {"assignment": f"{COURSE}/{ASSIGNMENT}", "source": source, "mode": "check"}
        return client.post("/api/v1/submissions", json=asked, headers={"Authorization": f"Bearer {keys[person]}"})

    def by_form(number: int, person: int) -> TestResponse:
        sent = {
            CSRF_FIELD: csrf_token(cookies[person]), "source": _SOURCE.format(f"{person} form {number}"),
            "mode": "rank", "key": f"{number:032x}",
        }  # fmt: skip
        return client.post(f"{WORK}/submissions", data=sent, headers={"Cookie": f"{COOKIE}={cookies[person]}"})

    def page(path: str, person: int, _number: int) -> TestResponse:
        return client.get(path, headers={"Cookie": f"{COOKIE}={cookies[person]}"})

    def first_look(number: int) -> TestResponse:
        return page(f"/submissions/{public_id(2 + number % moved + people * (number // moved))}", 0, number)

    many, few = people * 2, people * 2 + 1  # submission n is of person n % people
    return {
        "a view that does nothing": partial(page, "/nothing-at-all", 1),
        "submission by a program": lambda number: by_program(number, -1 - number // _EACH),
        "submission by a program, its first": lambda number: by_program(number, moved + 2 + number),
        "submission by the form": lambda number: by_form(number, -1 - number // _EACH),
        "result, 10 attempts": partial(page, f"/submissions/{public_id(few)}", 1),
        "result, 1,000 attempts": partial(page, f"/submissions/{public_id(many)}", 0),
        "result, first look": first_look,
        "home, 10 attempts": partial(page, "/", 1),
        "home, 1,000 attempts": partial(page, "/", 0),
        "own submissions, 10 attempts": partial(page, f"{WORK}/history", 1),
        "own submissions, 1,000 attempts": partial(page, f"{WORK}/history", 0),
        "assignment, 10 attempts": partial(page, f"{WORK}/", 1),
        "assignment, 1,000 attempts": partial(page, f"{WORK}/", 0),
    }


def _cost(app: Flask, ask: Ask, looks: int) -> Cost:
    engine: Engine = app.extensions["tilelab"].engine
    for number in range(2):
        _asked(ask, number)
    with watched(engine) as seen:
        _asked(ask, 2)
    times = []
    for number in range(3, 3 + looks):
        began = _processor()
        _asked(ask, number)
        times.append(_processor() - began)
    return Cost(sorted(times)[looks // 2], seen.count(_BEGIN), len(seen) - seen.count(_BEGIN), seen)


def _processor() -> float:
    return time.thread_time() + bounded_seconds()


def _asked(ask: Ask, number: int) -> None:
    answer = ask(number)
    if answer.status_code not in {200, 202, 303} or "sign-in" in (answer.location or ""):
        raise RuntimeError(f"{answer.status} {answer.get_data()[:300]!r}")
    answer.get_data()


_BEGIN = ("BEGIN", "")


@contextmanager
def watched(engine: Engine) -> Iterator[list[tuple[str, str]]]:
    """Statements meanwhile, each with its caller; a transaction's begin is one too."""
    seen: list[tuple[str, str]] = []

    def begun(_connection: object) -> None:
        seen.append(_BEGIN)

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith(("PRAGMA", "BEGIN", "SET ")):
            seen.append((" ".join(statement.split()), _caller()))

    event.listen(engine, "begin", begun)
    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "begin", begun)
    event.remove(engine, "before_cursor_execute", note)


def _caller() -> str:
    """The nearest functions of the server, the innermost first."""
    names: list[str] = []
    frame = inspect.currentframe()
    while frame is not None and len(names) < 3:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("server.") and not module.startswith("server.database"):
            names.append(f"{module.removeprefix('server.')}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names)


def _text(figures: Mapping[str, Any]) -> str:
    now, before = figures["now"], figures.get("before", {})
    rows = []
    for name, each in now.items():
        old = before.get(name)
        row = [name]
        for part, show in _PARTS:
            row += [show(each[part]), show(old[part]) if old else ""]
        rows.append((*row, f"{each['processor'] / old['processor']:.2f}" if old else ""))
    head = ["one request", *(words for part, _ in _PARTS for words in (part, "before")), "processor by before"]
    listed = [
        (name if place == 0 else "", *line)
        for name in _LISTED
        for place, line in enumerate((_short(statement), caller) for statement, caller in now[name]["callers"])
    ]
    return f"{table(head, rows)}\n\n{table(('request', 'statement', 'callers, the nearest first'), listed)}"


def _short(statement: str) -> str:
    """The verb and the table, or the beginning of a transaction."""
    table_of = re.search(r"(?:FROM|INTO|UPDATE) ([a-z_]+)", statement)
    return statement if table_of is None else f"  {statement.partition(' ')[0]} {table_of[1]}"


_PARTS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("processor", lambda seconds: f"{seconds * 1e3:.1f} ms"),
    ("transactions", str),
    ("statements", str),
)

_REPORTS = "UPDATE results SET report = :report"
_TERMS = "UPDATE assignments SET min_interval_seconds = 0, attempts = NULL, checks_per_hour = 1000000"
_MOVED = [
    *(
        f"UPDATE {name} SET person_id = :many WHERE person_id BETWEEN :low AND :high"  # noqa: S608 - names of our own
        for name in ("submissions", "jobs", "steps")
    )
]


if __name__ == "__main__":
    costs = measured(Path(sys.argv[1]), looks=20 if sys.argv[2] == "quick" else 100)
    print(json.dumps({name: asdict(cost) for name, cost in costs.items()}))
