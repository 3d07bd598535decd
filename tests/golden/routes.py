"""What each role gets at each address: pages, forms as pages hold them, and the API with bodies that it describes."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from werkzeug.test import TestResponse

from server.accounts.cookies import CSRF_FIELD
from tests.golden.fixed import plain
from tests.golden.page import PageReader, Sendable
from tests.golden.world import World
from tests.server.web.house import SENT
from tests.server.web.matrix import routes

_EXAMPLES: Mapping[str, Any] = {
    "answer": "Because it helps.", "assignment": "tiled", "closes_at": "2026-05-01T12:00:00+00:00", "confirm": "",
    "course": "gpu", "due_at": "2026-04-01T12:00:00+00:00", "email": "new@example.edu", "exercise": "tiled",
    "extended_due_at": "2026-04-01T12:00", "late_days": 2, "name": "A new name", "note": "Came to the lab.",
    "override": 3.5, "person": "1", "points_aa": 2, "reason": "It is right.", "score": 3.5, "section": "B2",
    "slug": "next", "student": "ada", "submission": "", "text": "email,name\nnew@example.edu,New Person\n",
    "title": "A new title", "until": "2026-04-01T12:00", "wanted": "2026-04-01T12:00", "way": "refuse",
}  # fmt: skip
"""Values for fields of forms and of the API."""

_Forms = dict[tuple[str, str], dict[str, dict[str, Any]]]
_MOST_FORMS = 8
"""Of one address: a list has a form in each of its lines."""


def recorded_routes(world: World, only: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Method and address, and what each role gets. only: the beginning of addresses"""
    described = json.loads(world.ask("nobody", "GET", "/api/v1/openapi.json").get_data())
    forms: _Forms = {}
    there = sorted((method, path) for method, path, _, _ in routes() if path.startswith(only))
    for method, path in there:
        if method == "GET":
            yield f"{method} {path}", {role: _read(world, role, path, forms) for role in world.roles}
            world.restore()
    for method, path in there:
        if method == "POST":
            bodies = _bodies(described, path) if path.startswith("/api/") else {"empty": {}}
            own = {role: bodies | forms.get((role, world.house.named(path)), {}) for role in world.roles}
            yield f"{method} {path}", {role: _changes(world, role, path, own[role]) for role in world.roles}


def _read(world: World, role: str, path: str, forms: _Forms) -> dict[str, Any]:
    """What a role gets. Keeps a page's forms for their addresses, filled in."""
    page = PageReader()
    found = _recorded(world, world.ask(role, "GET", path), page)
    for each in page.sendable if found["status"] == 200 else ():
        if each.form.posted:
            known = forms.setdefault((role, each.form.action or path), {})
            if len(known) < _MOST_FORMS:
                known.setdefault(_name_of(each), each.filled(_EXAMPLES))
                known.setdefault(f"changed {_name_of(each)}", each.filled(_EXAMPLES, change=True))
    return found


def _changes(world: World, role: str, path: str, bodies: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to each body, and what it left behind; afterwards nothing has changed.

    If the answer asks for a confirmation, its form is sent, too.
    """
    found = {}
    for name, body in bodies.items():
        page = PageReader()
        answer = world.ask(role, "POST", path, body)
        said = answer.get_json(silent=True)
        found[name] = _recorded(world, answer, page)
        again = _confirming(body, page, said)
        if again is not None:
            found[name]["confirmed"] = _recorded(world, world.ask(role, "POST", again[0] or path, again[1]))
        if found[name]["status"] not in {401, 403, 404}:
            found[name]["left"] = world.left()
            world.restore()
    return found


def _confirming(body: Any, page: PageReader, said: Any) -> tuple[str, Any] | None:
    """The address and body that confirm a change which was refused, or a plan which was shown; "" for the same."""
    forms = [each for each in page.sendable if {"lowers", "digest"} & each.form.fields.keys()]
    if forms:
        return forms[0].form.action, forms[0].filled(_EXAMPLES)
    confirm = said.get("confirm") if isinstance(said, dict) else None
    return None if confirm is None else ("", (body or {}) | {"confirm": confirm})


def _name_of(form: Sendable) -> str:
    fields = [name for name in form.form.fields if name != CSRF_FIELD]
    return f"form {', '.join(fields)}" + ("" if form.button is None else f" [{'='.join(form.button)}]")


def _recorded(world: World, answer: TestResponse, page: PageReader | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"status": answer.status_code, "type": answer.mimetype}
    if answer.location:
        found["location"] = answer.location
    content = b"" if answer.mimetype == "text/event-stream" else answer.get_data()
    answer.close()
    if answer.mimetype == "text/html":
        page = page or PageReader()
        page.feed(content.decode())
        page.close()
        found["page"] = page.lines
    elif answer.is_json:
        found["json"] = json.loads(content)
    elif answer.mimetype == "application/zip":
        found["files"] = zipfile.ZipFile(io.BytesIO(content)).namelist()
    elif answer.mimetype == "text/csv":
        found["rows"] = [" | ".join(row) for row in csv.reader(io.StringIO(content.decode()))]
    else:
        found["lines"] = content.decode().splitlines()
    changed: dict[str, Any] = plain(found, world.names)
    return changed


def _bodies(described: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A body with nothing, one with what is required and one with all fields; None where there is no body."""
    address = path.partition("?")[0]
    for pattern, methods in described["paths"].items():
        if "post" in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), address):
            schema = methods["post"].get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is None:
                return {"nothing": None}
            every = {name: _example(name, each) for name, each in schema["properties"].items()}
            least = {name: every[name] for name in schema["required"]}
            own = {} if path not in SENT else {"own": SENT[path]}
            return {"empty": {}, "least": least, "all": every, **own}
    raise LookupError(f"{path} is not in the API's description")


def _example(name: str, schema: Mapping[str, Any]) -> Any:
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    if "anyOf" in schema:
        return _example(name, schema["anyOf"][0])
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if "enum" in schema:
        return schema["enum"][0]
    if name.startswith("extra_"):
        return 0
    return {"string": "a1", "integer": 1, "number": 1.5, "boolean": False, "object": {}, "array": []}[kind]
