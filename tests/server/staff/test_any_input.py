"""Nothing that is typed, sent or put into an address of the desk is answered with a fault."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from server.courses.models import Role
from tests.marks import some_of
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

TYPED = (
    "'; --", "%", "_", "\\", "1e400", "-1", "0", "9" * 60, "nan", "💥" * 30, "\r\n", "<b>", "{{7*7}}",
    "2026-02-30T00:00", "2026-03-01T23:59:59.999+99:00", "٣", "½", "student", "on",
)  # fmt: skip
NOT_TYPED = ("\x00", "\ud7ff", "\uffff", "a\u202e", "💥" * 300)
ODD = (*TYPED, *NOT_TYPED)
PAGES = ("", "roster.csv", "assignments", "submissions/state")
FREE = {
    "roster": ("text",), "submissions": ("student", "submission", "worker"), "audit": ("subject",), "grades": ("text",),
    "progress/tiled/students": ("text",),
}  # fmt: skip
"""Fields in which anything may stand that can be typed; the database is asked for it."""
FREE["regrade"] = FREE["submissions"]
CHOSEN = {
    "roster": ("section", "state"), "grades": ("section",), "grades.csv": ("section",), "audit": ("area", "by"),
    "submissions": ("assignment", "verdict", "state", "mode", "late", "since", "until"),
    "progress/tiled/students": ("part",), "progress/tiled/students.csv": ("part",),
}  # fmt: skip
CHOSEN["regrade"] = CHOSEN["submissions"]
OTHERS = {
    "roster": ("page",), "grades": ("by", "down", "dropped"), "grades.csv": ("dropped",), "audit": ("before",),
    "progress/tiled/students": ("page",), "students/1": ("after",),
    "submissions": ("device", "after"), "regrade": ("device", "after", "newest"),
}  # fmt: skip
SENT = {
    "roster": ("email", "name", "role", "section"), "roster/2": ("role", "section"), "roster/code": ("do",),
    "roster/import": ("text", "drop"), "roster/apply": ("text", "drop", "digest"),
    "assignments": (
        "exercise", "slug", "device_class", "arch", "tile", "title", "points", "opens_at", "due_at", "closes_at",
        "late_percent_per_day", "late_percent_most", "goals_percent", "speed_by", "speed_tiers",
        "attempts", "min_interval_seconds", "checks_per_hour", "counts", "board_frozen_at",
        "board_columns", "board_sort",
    ),
    "assignments/tiled": ("title", "points", "due_at", "attempts", "counts", "min_interval_seconds", "listed"),
    "assignments/tiled/extensions": ("person", "extended_due_at", "extended_closes_at", "extra_attempts", "reason"),
    "assignments/tiled/extensions/import": ("text",), "assignments/tiled/extensions/apply": ("text", "digest"),
    "regrade": ("assignment", "student", "verdict", "submission", "since", "newest", "after"),
    "settings": ("title", "zone", "archived"), "students/1/notes": ("note",),
}  # fmt: skip
RIGHT = {
    "exercise": "naive", "role": "student", "counts": "best", "first_hint": "edit", "title": "T", "person": "2",
    "extra_attempts": "1",
    "newest": "9", "zone": "UTC", "name": "N", "email": "n@example.edu", "attempts": "1", "slug": "lab",
    "text": "email,name\na@b.c,A\n",
}  # fmt: skip
PATHS = ("{}/", "gpu/assignments/{}", "gpu/regrades/{}", "gpu/roster/{}/drop", "gpu/{}", "gpu/exercises/{}")


@pytest.fixture
def ina(portal: Portal) -> BrowserClient:
    browser = client_of(portal, "ina", Role.INSTRUCTOR, admin=True)
    handed_in(portal.course, "ada", source=b"// 1")
    return browser


def odd_ones(
    fields: Mapping[str, tuple[str, ...]], values: tuple[str, ...], each: int = 2
) -> Iterator[tuple[str, str, str]]:
    """Page, field and value: one field at a time, as a second one may keep the first from being looked for."""
    rolls = random.Random(9)
    for page, names in fields.items():
        for name in names:
            yield from ((page, name, odd) for odd in rolls.sample(values, each))


@pytest.mark.one_in(3, "a third of the pages")
@pytest.mark.parametrize("page", FREE)
def test_whatever_can_be_typed_is_looked_for(ina: BrowserClient, page: str) -> None:
    for _, name, odd in odd_ones({page: FREE[page]}, TYPED, each=5):
        assert ina.get(f"/staff/gpu/{page}", query_string={name: odd}).status_code == 200, (page, name, odd)


@pytest.mark.one_in(3, "a third of the pages")
@pytest.mark.parametrize(("page", "free"), [*((page, True) for page in FREE), *((page, False) for page in CHOSEN)])
def test_what_nobody_can_type_or_choose_is_not(ina: BrowserClient, page: str, free: bool) -> None:
    names, values = (FREE[page], NOT_TYPED) if free else (CHOSEN[page], tuple(odd for odd in ODD if odd.strip()))
    for _, name, odd in odd_ones({page: names}, values):
        assert ina.get(f"/staff/gpu/{page}", query_string={name: odd}).status_code == 422, (page, name, odd)


@pytest.mark.long("test_forms_fuzz.py makes up addresses in the short suite")
def test_no_address_brings_a_fault(ina: BrowserClient) -> None:
    every = {field for fields in (FREE, CHOSEN, OTHERS) for names in fields.values() for field in names}
    for page, name, odd in odd_ones(OTHERS, ODD):
        answer = ina.get(f"/staff/gpu/{page}", query_string={name: odd})
        assert answer.status_code in {200, 422}, (page, name, odd)
    for page in PAGES:
        for odd in TYPED[:3]:
            assert ina.get(f"/staff/gpu/{page}", query_string=dict.fromkeys(every, odd)).status_code == 200, page


@pytest.mark.one_in(3, "a third of those here, and test_forms_fuzz.py makes up requests")
@pytest.mark.parametrize("page", some_of(SENT, 3, str, "the short suite has a third of the forms"))
def test_no_form_brings_a_fault(ina: BrowserClient, page: str) -> None:
    rolls = random.Random(page)
    for odd in ODD:
        given = {field: RIGHT.get(field, "") for field in SENT[page]}
        given[rolls.choice(SENT[page])] = odd
        answer = ina.post_form(f"/staff/gpu/{page}", **given)
        assert answer.status_code in {200, 303, 404, 409, 422}, (given, answer.status)


@pytest.mark.parametrize("path", some_of(PATHS, 3, str, "the short suite has a third of the paths"))
def test_no_path_brings_a_fault(ina: BrowserClient, path: str) -> None:
    for odd in ("%00", "%ff", "%E2%80%AE", "..%2f", "9" * 60, "-1", "'", "%0d%0a", "x" * 3000):
        where = f"/staff/{path.format(odd)}"
        assert ina.get(where).status_code in {200, 303, 308, 404}, where
        assert ina.post_form(where).status_code in {303, 308, 404, 405, 409, 422}, where
    assert ina.get("/courses/gpu/tiled/figures/%00.svg").status_code == 404
    for odd in ("%00", "x" * 3000, "'"):
        assert ina.post_form(f"/fleet/workers/{odd}", do="drain").status_code in {404, 503}


def test_a_file_that_is_too_large_is_told_in_its_own_words(ina: BrowserClient) -> None:
    answer = ina.post_form("/staff/gpu/roster/import", text="x" * 2**20)
    assert answer.status_code == 413
    assert "900,000 bytes" in answer.get_data(as_text=True)
