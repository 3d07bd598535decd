"""Extensions from a CSV file on a page: what the preview shows is what is applied."""

from __future__ import annotations

import html
import io
import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.courses.models import Extension, Role
from tests.server.course import later
from tests.server.staff.graded import handed_in
from tests.server.staff.test_corrections import confirmed, grade_of
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PAGE = "/staff/gpu/assignments/tiled/extensions"
HEAD = "email,due,closes,attempts,reason\n"
ADA, BOB = "ada@example.edu,2026-05-02T12:00,,2,was ill\n", "bob@example.edu,2026-05-03T12:00\n"
DUE_ADA = datetime(2026, 5, 2, 12, tzinfo=UTC)


@pytest.fixture
def ina(portal: Portal) -> BrowserClient:
    for name in ("ada", "bob"):
        portal.course.person(name)
    portal.course.change(due_at=datetime(2026, 5, 1, tzinfo=UTC), attempts=3, device_class="", points=10.0)
    return client_of(portal, "ina", Role.INSTRUCTOR)


def granted(portal: Portal) -> dict[int, datetime | None]:
    return {one.person_id: one.due_at for one in portal.course.rows(select(Extension))}


def applied(ina: BrowserClient, preview: TestResponse) -> TestResponse:
    """The answer to the form under a preview."""
    (digest,) = re.findall(r'name="digest" value="(\w+)"', preview.text)
    (text,) = re.findall(r"<textarea name=\"text\" hidden[^>]*>\n([^<]*)<", preview.text)
    return ina.post_form(f"{PAGE}/apply", digest=digest, text=html.unescape(text))


def changes(page: TestResponse) -> list[str]:
    return re.findall(r'<tr><td><span class="badge \w+">(\w+)<', page.text)


def test_extensions_of_a_file_are_previewed_and_then_granted(portal: Portal, ina: BrowserClient) -> None:
    assert f'href="{PAGE}/import"' in ina.page("/staff/gpu/assignments/tiled")
    ina.page(f"{PAGE}/import")
    preview = ina.post_form(f"{PAGE}/import", file=(io.BytesIO((HEAD + ADA + BOB).encode()), "extensions.csv"))
    assert (preview.status_code, changes(preview), granted(portal)) == (200, ["new", "new"], {})
    assert applied(ina, preview).status_code == 303
    ada, bob = (portal.course.people[name] for name in ("ada", "bob"))
    assert granted(portal) == {ada: DUE_ADA, bob: datetime(2026, 5, 3, 12, tzinfo=UTC)}
    assert "was ill" in ina.page("/staff/gpu/assignments/tiled")
    later_bob = BOB.replace("05-03", "05-04")
    again = ina.post_form(f"{PAGE}/import", text=HEAD + ADA + later_bob)
    assert changes(again) == ["replaced"]
    assert applied(ina, again).status_code == 303
    assert granted(portal)[bob] == datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_mistakes_of_a_file_are_named_by_line_and_nothing_is_granted(portal: Portal, ina: BrowserClient) -> None:
    eve = "eve@example.edu,2026-05-02T12:00\n"
    for text, lines in ((HEAD + ADA + eve, ["3"]), (HEAD + BOB.replace("05-03", "04-03") + "?\n", ["2", "3"])):
        answer = ina.post_form(f"{PAGE}/import", text=text)
        assert (answer.status_code, re.findall(r'data-line="(\d+)"', answer.text)) == (422, lines)
        assert ina.post_form(f"{PAGE}/apply", text=text, digest="x").status_code == 422
    for text in ("", "who\nx\n", f"{HEAD}{'x' * 130 * 2**10}"):
        assert ina.post_form(f"{PAGE}/import", text=text).status_code == 422
    assert granted(portal) == {}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_file_of_a_spreadsheet_is_taken_as_it_is(portal: Portal, ina: BrowserClient, encoding: str) -> None:
    text = 'Reason\tAttempts\tE-Mail-Adresse\n"für\nAda"\t2\tADA@example.edu\n'
    preview = ina.post_form(f"{PAGE}/import", file=(io.BytesIO(text.encode(encoding)), "extensions.xls"))
    assert (preview.status_code, changes(preview)) == (200, ["new"])
    assert applied(ina, preview).status_code == 303
    assert portal.course.row(select(Extension)).reason == "für Ada"


def test_exported_extensions_come_back_unchanged(portal: Portal, ina: BrowserClient) -> None:
    portal.course.extend("ada", due_at=DUE_ADA.replace(second=7), extra_attempts=2, reason="=1+1, was ill")
    portal.course.extend("bob", due_at=datetime(2026, 4, 1, tzinfo=UTC))
    portal.course.change_course(time_zone="Europe/Vienna")
    exported = ina.get(f"{PAGE}.csv").data
    assert b"2026-05-02T14:00:07+02:00" in exported
    answer = ina.post_form(f"{PAGE}/import", file=(io.BytesIO(exported), "extensions.csv"))
    assert (answer.status_code, changes(answer)) == (200, [])
    assert len(granted(portal)) == 2


def test_a_preview_that_is_outdated_is_shown_again(portal: Portal, ina: BrowserClient) -> None:
    preview = ina.post_form(f"{PAGE}/import", text=HEAD + ADA)
    ada = portal.course.people["ada"]
    ina.post_form(PAGE, person=str(ada), extended_due_at="2026-05-05T12:00")
    answer = applied(ina, preview)
    assert (answer.status_code, changes(answer)) == (409, ["replaced"])
    assert granted(portal)[ada] == datetime(2026, 5, 5, 12, tzinfo=UTC)
    assert applied(ina, answer).status_code == 303
    assert granted(portal)[ada] == DUE_ADA


def test_points_that_a_file_lowers_are_shown_first(portal: Portal, ina: BrowserClient) -> None:
    portal.course.change(due_at=later(-3_600), late_percent_per_day=20.0)
    handed_in(portal.course, "ada", Verdict.ACCEPTED)
    soon, past = (f"ada@example.edu,{later(seconds):%Y-%m-%dT%H:%M}\n" for seconds in (3_600, -1_800))
    applied(ina, ina.post_form(f"{PAGE}/import", text=HEAD + soon))
    assert grade_of(portal, "ada").points == 10.0
    asked = applied(ina, ina.post_form(f"{PAGE}/import", text=HEAD + past))
    assert "ada@example.edu" in asked.text
    assert grade_of(portal, "ada").points == 10.0
    assert confirmed(ina, asked).status_code == 303
    assert grade_of(portal, "ada").points == 8.0
