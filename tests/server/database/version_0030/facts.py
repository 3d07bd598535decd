"""What the pages of a portal say, as data: the same questions for the version that made the dump, and for this one.

`python -m tests.server.database.version_0030.facts DATABASE` prints it; README.md says when.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

STUDENTS = ("ada", "ben", "cem", "dana", "eva", "tom")
ASSIGNMENTS = ("tiled", "naive", "reduction", "matrix")
_BOARDS = ("gpu/tiled/h200", "gpu/naive/cpu", "gpu/reduction/h200", "gpu/matrix/cpu")
_DESK = (
    "audit", "submissions", "submissions?lateness=late", "regrades", "assignments/tiled", "assignments/naive",
    "roster?dropped=yes", "grades", "grades.csv", "roster.csv",
)  # fmt: skip
_PAGES = {
    name: tuple(f"/courses/gpu/{slug}/{page}" for slug in ASSIGNMENTS for page in ("history", "board/"))
    for name in ("ada", "ben", "cem", "dana")
} | {"ina": tuple(f"/staff/gpu/{path}" for path in _DESK)}

# Links to submissions, moments, badges, numbers at the start of a text: what stays when sentences are rewritten.
_DATA = re.compile(r'/submissions/([0-9a-f]{16})"|datetime="([^"]+)"|class="(badge \w+)"|>\s*(\d[\d,.]*)')

# Later versions show the way through the course on these pages, too.
_LATER = re.compile(r'<nav class="neighbours".*?</nav>', re.DOTALL)

# Which numbers an axis names is a matter of its look.
_AXIS = re.compile(r'<svg class="chart axis".*?</svg>', re.DOTALL)


def facts(app: Flask) -> dict[str, Any]:
    """All of it, by what was asked for."""
    client = app.test_client()
    return {
        "answers": {name: _answers(client, name) for name in STUDENTS},
        "boards": {f"{path} {name}": _board(client, name, path) for path in _BOARDS for name in ("ada", "ina")},
        "pages": {f"{name} {path}": page for name in _PAGES for path, page in _pages(app, name)},
    }


def signed_in(client: FlaskClient, email: str, password: str) -> bool:
    """Whether the form takes them; the client is then signed in."""
    page = client.get("/sign-in").text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    answer = client.post("/sign-in", data={**hidden, "email": email, "password": password})
    return answer.status_code == 303 and client.get("/account").status_code == 200


def _get(client: FlaskClient, name: str, path: str) -> Any:
    answer = client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer tl_{name}"})
    assert answer.status_code == 200, (name, path, answer.text)
    return answer.get_json()


def _answers(client: FlaskClient, name: str) -> dict[str, Any]:
    own = _get(client, name, "submissions?limit=100")
    return {
        "me": _get(client, name, "me"),
        "assignments": _get(client, name, "assignments"),
        "own": own,
        "submissions": [_submission(_get(client, name, f"submissions/{line['id']}")) for line in own["submissions"]],
    }


def _submission(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Without what depends on the workers that there are; a hash of the report, which stays as it was recorded."""
    found = {key: value for key, value in answer.items() if key not in {"wait", "position", "result"}}
    text = json.dumps(answer["result"], sort_keys=True).encode()
    return found | {"result": hashlib.sha256(text).hexdigest() if answer["result"] else None}


def _board(client: FlaskClient, name: str, path: str) -> Any:
    return _get(client, name, f"leaderboards/{path}")


def _pages(app: Flask, name: str) -> Iterator[tuple[str, list[str]]]:
    client = app.test_client()
    assert signed_in(client, f"{name}@example.edu", f"password of {name}")
    for path in _PAGES[name]:
        answer = client.get(path, follow_redirects=True)
        assert answer.status_code == 200, (name, path)
        main = _AXIS.sub("", _LATER.sub("", answer.text.partition("<main")[2]))
        found = [next(filter(None, found)) for found in _DATA.findall(main)]
        yield path, answer.text.splitlines() if path.endswith(".csv") else found


if __name__ == "__main__":
    from server.settings import Settings
    from server.web.app import create_app

    app = create_app(Settings(database_url=f"sqlite:///{sys.argv[1]}", redis_url="redis://127.0.0.1:1/0"))
    print(json.dumps(facts(app), indent=1))
