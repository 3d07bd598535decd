"""Whatever is sent to whatever address, as whoever: the answer is never a fault of ours, and tells none of its insides.

TILELAB_FORM_CASES sets how many requests are made up, for a longer run.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st
from sqlalchemy import delete, update
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.cookies import CSRF_FIELD, csrf_token
from server.accounts.models import Person, RateCount
from server.courses.models import Course, Membership, Role
from server.submissions.models import Mode
from server.submissions.progress.streams import hub_of
from tests.server.databases import ON_POSTGRESQL
from tests.server.standings.results import public_id, ranked
from tests.server.submissions.graded import graded, handed_in, taken
from tests.server.web.conftest import Portal
from tests.server.web.hostile import (
    BOUNDARY,
    RAW,
    TYPES,
    VALUES,
    FormReader,
    FoundForm,
    Part,
    field_names,
    in_path,
    multipart,
    query,
    text,
    urlencoded,
)
from tests.server.web.signed_in import COOKIE, BrowserClient, stranger

# PostgreSQL refuses more than SQLite does; the many tries here are made on one of them.
pytestmark = ON_POSTGRESQL

CASES = int(os.environ.get("TILELAB_FORM_CASES", "40"))
ROLES = ("nobody", "student", "other", "assistant", "instructor", "root", "outsider")
_IN_COURSE = {
    "student": Role.STUDENT,
    "other": Role.STUDENT,
    "assistant": Role.ASSISTANT,
    "instructor": Role.INSTRUCTOR,
}
_NAMES = field_names()
_FAULTS = ("server.http.problems", "flask.app", "server.web")


@dataclass
class Battered:
    """A portal to be asked for anything. forms: of its pages; addresses: of its pages, as they were found"""

    portal: Portal
    ids: dict[str, list[str]]
    faults: list[str] = field(default_factory=list)
    forms: list[FoundForm] = field(default_factory=list)

    @property
    def rules(self) -> list[Rule]:
        kept = [rule for rule in self.portal.app.url_map.iter_rules() if not rule.rule.startswith("/assets/")]
        return sorted(kept, key=lambda rule: (rule.rule, sorted(rule.methods or ())))

    def browser(self, role: str) -> BrowserClient:
        """Of somebody with that role, who has it again if it was lost, and no limit against them."""
        client = stranger(self.portal)
        with self.portal.course.sessions.begin() as session:
            session.execute(delete(RateCount))
            session.execute(update(Person).values(disabled_at=None))
            session.execute(update(Course).values(archived_at=None))
            for name, number in self.portal.course.people.items():
                given = {"dropped_at": None, "role": _IN_COURSE.get(name, Role.STUDENT)}
                session.execute(update(Membership).where(Membership.person_id == number).values(**given))
            if role != "nobody":
                person = session.get_one(Person, self.portal.course.people[role])
                client.set_cookie(COOKIE, browser_sessions.begin(session, person, "test"))
        return client

    def ask(self, role: str, method: str, path: str, **more: Any) -> None:
        """One request; fails the test for a fault, with what the server's log says of it."""
        client = self.browser(role)
        if method == "POST" and more.pop("known", True):
            more = _with_token(client, more)
        headers = {}
        if path.startswith("/api/"):
            headers["Authorization"] = f"Bearer {self.portal.tokens.get(role, 'none')}"
        self.faults.clear()
        answer = client.open(path, method=method, headers=headers, **_sendable(more))
        self._judge(answer, f"{role}: {method} {path} {more}")

    def _judge(self, answer: TestResponse, asked: str) -> None:
        status = answer.status_code
        shown = b"" if answer.mimetype == "text/event-stream" else answer.get_data()
        answer.close()
        told = "\n".join(self.faults)[-3000:]
        assert status < 500, f"{asked[:600]}\n{status}\n{told}"
        assert not self.faults, f"{asked[:600]}\n{status}\n{told}"
        assert b"Traceback (most recent call last)" not in shown, asked[:600]


class _Faults(logging.Handler):
    """What the server logs of its own mistakes, with the way to them."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(logging.Formatter().format(record))


@pytest.fixture
def battered(portal: Portal) -> Iterator[Battered]:
    """A course with everything in it that an address may name."""
    course = portal.course
    for role in ROLES[1:]:
        course.person(role, _IN_COURSE.get(role))
        portal.token(role)
    with course.sessions.begin() as session:
        session.get_one(Person, course.people["root"]).admin = True
    waits, _ = handed_in(course, "student")
    at_work, job = handed_in(course, "student", Mode.CHECK, source=b"// at work\n")
    taken(course, job)
    done, job = handed_in(course, "student", Mode.CHECK, source=b"// wrong\n")
    graded(course, job, verdict=Verdict.WRONG_ANSWER)
    best = public_id(course, ranked(course, "student", 900.0))
    ranked(course, "other", 950.0)
    numbers = [str(number) for number in course.people.values()]
    ids = {
        "slug": ["gpu"], "course": ["gpu"], "assignment": ["tiled"], "name": ["tiled", "starter.cu"],
        "device_class": ["h200", "cpu"], "public_id": [waits, at_work, done, best], "person": numbers,
        "number": ["1", "2", "3"], "purpose": ["invitation", "reset"],
    }  # fmt: skip
    found = Battered(portal, ids)
    handler = _Faults(found.faults)
    for name in _FAULTS:
        logging.getLogger(name).addHandler(handler)
    _find_forms(found)
    yield found
    for name in _FAULTS:
        logging.getLogger(name).removeHandler(handler)
    hub_of(portal.app).close()


@pytest.mark.long("the short suite has requests that are made up")
def test_no_field_of_any_address_gives_a_fault(battered: Battered) -> None:
    """Each address with each strange value, in all of its fields at once and in a part of itself."""
    dice = random.Random(6)
    values = dice.sample(VALUES, 24)
    for rule in battered.rules:
        methods = [name for name in ("GET", "POST") if name in (rule.methods or ())]
        for number, value in enumerate(dice.sample(values, 4)):
            parts = [Part(name, value) for name in _NAMES]
            role = "root" if number % 2 == 0 else dice.choice(ROLES)
            for method in methods:
                more = {"query_string": query(parts)} if method == "GET" else _form(parts)
                hostile = {dice.choice(sorted(rule.arguments))} if rule.arguments and number == 0 else set()
                battered.ask(role, method, _path(battered, rule, dict.fromkeys(hostile, value), dice), **more)


@pytest.mark.long("the short suite looks for the forms where it makes up requests")
def test_there_are_forms_to_try(battered: Battered) -> None:
    check_forms(battered)


def check_forms(battered: Battered) -> None:
    posted = {form.action for form in battered.forms if form.posted}
    assert {"/sign-in", "/account", "/staff/gpu/roster"} <= posted, sorted(posted)
    assert {"email", "role", "next", "text"} <= set(_NAMES)


def test_no_request_that_is_made_up_gives_a_fault(battered: Battered) -> None:
    check_forms(battered)

    @trying(
        max_examples=CASES, deadline=None, derandomize=CASES < 1000, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        role = data.draw(st.sampled_from(["root", "root", "root", *ROLES]))
        if data.draw(st.booleans()):
            _send_form(battered, role, data)
        else:
            _send_anything(battered, role, data)

    ask()


def _send_form(battered: Battered, role: str, data: st.DataObject) -> None:
    """A form of a page, as it is but for a few fields."""
    form = data.draw(st.sampled_from(battered.forms))
    fields = dict(form.fields)
    for name in data.draw(st.lists(st.sampled_from(sorted(fields) or _NAMES), max_size=3)):
        fields[name] = data.draw(text)
    parts = [Part(name, value) for name, value in fields.items() if name != CSRF_FIELD]
    doubled = data.draw(st.booleans())
    if parts and doubled:
        parts.append(Part(data.draw(st.sampled_from(parts)).name, data.draw(text), data.draw(st.none() | text)))
    if not form.posted:
        battered.ask(role, "GET", form.action, query_string=query(parts))
    elif any(part.file is not None for part in parts) or data.draw(st.booleans()):
        battered.ask(role, "POST", form.action, **_form(parts, as_multipart=True))
    else:
        battered.ask(role, "POST", form.action, **_form(parts))


def _send_anything(battered: Battered, role: str, data: st.DataObject) -> None:
    """Any address, with fields that are somebody's, and bodies that are nobody's."""
    rule = data.draw(st.sampled_from(battered.rules))
    method = data.draw(st.sampled_from(sorted({"GET", "POST"} & (rule.methods or set())) or ["GET"]))
    hostile = data.draw(st.sets(st.sampled_from(sorted(rule.arguments)), max_size=1)) if rule.arguments else set()
    path = _path(
        battered, rule, {name: data.draw(text) for name in hostile}, random.Random(data.draw(st.integers(0, 9)))
    )
    parts = data.draw(st.lists(st.builds(Part, st.sampled_from(_NAMES), text, st.none()), max_size=8))
    more: dict[str, Any] = {"query_string": query(parts)}
    if method == "POST":
        if data.draw(st.integers(0, 3)) == 0:
            more |= {
                "data": data.draw(st.sampled_from(RAW)),
                "content_type": data.draw(st.sampled_from(TYPES)),
                "known": False,
            }
        else:
            more |= _form(parts, as_multipart=data.draw(st.booleans()))
            if data.draw(st.integers(0, 5)) == 0:
                more["content_type"] = data.draw(st.sampled_from(TYPES))
    battered.ask(role, method, path, **more)


def _form(parts: Sequence[Part], *, as_multipart: bool = False) -> dict[str, Any]:
    return {"parts": list(parts), "as_multipart": as_multipart}


def _with_token(client: BrowserClient, more: dict[str, Any]) -> dict[str, Any]:
    """With the field that shows that the form is one of ours: what comes after is not reached without."""
    token = Part(CSRF_FIELD, csrf_token(client.session_token))
    return {**more, "parts": [token, *more.get("parts", [])]}


def _sendable(more: dict[str, Any]) -> dict[str, Any]:
    """As the client takes it."""
    more = dict(more)
    more.pop("known", None)
    parts, as_multipart = more.pop("parts", None), more.pop("as_multipart", False)
    if parts is None:
        return more
    content_type = f"multipart/form-data; boundary={BOUNDARY}" if as_multipart else TYPES[0]
    return {"data": multipart(parts) if as_multipart else urlencoded(parts), "content_type": content_type, **more}


def _path(battered: Battered, rule: Rule, hostile: dict[str, str], dice: random.Random) -> str:
    """The rule's path with things that there are, but for what is hostile."""
    path = rule.rule
    for name in rule.arguments:
        given = in_path(hostile[name]) if name in hostile else dice.choice(battered.ids.get(name, ["1"]))
        start = min(path.find(f"<{name}>") % 10**6, path.find(f":{name}>") % 10**6)
        begin, end = path.rfind("<", 0, start + 1), path.index(">", start) + 1
        path = path[:begin] + given + path[end:]
    return path


def _find_forms(battered: Battered) -> None:
    """Of the pages that these see: others see no more."""
    dice = random.Random(0)
    seen: dict[tuple[str, bool, tuple[str, ...]], FoundForm] = {}
    for role in ("nobody", "student", "root"):
        client = battered.browser(role)
        for rule in battered.rules:
            if "GET" not in (rule.methods or ()) or rule.rule.endswith("/events"):
                continue
            path = _path(battered, rule, {}, dice)
            answer = client.get(path)
            assert answer.status_code < 500, f"{role}: {path}\n{battered.faults}"
            if answer.mimetype != "text/html":
                continue
            reader = FormReader()
            reader.feed(answer.get_data(as_text=True))
            for form in reader.forms:
                form.action = (form.action or path).partition("?")[0]
                seen.setdefault((form.action, form.posted, tuple(form.fields)), form)
    battered.forms.extend(seen.values())
