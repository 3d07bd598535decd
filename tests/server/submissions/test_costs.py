"""How many statements and transactions a student's most frequent requests take."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from sqlalchemy import select, update

from kernels.rendering.page.report_page import render_sections
from kernels.verdict import Verdict
from server.accounts.models import ApiToken
from server.bounded_work import bounded
from server.courses.models import Role
from server.fixed_part import MARK, FixedPart
from server.grading.models import Job
from server.http.page_around import PageAround
from server.submissions.models import Mode
from server.submissions.result import report
from tests.server.databases import ON_BOTH, ON_SQLITE
from tests.server.staff.graded import counted_queries
from tests.server.submissions.course_pages import FORM, KERNEL
from tests.server.submissions.graded import graded, handed_in, overwritten
from tests.server.submissions.test_page import RACE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger

TRANSACTIONS = 2
"""Of a submission: who sends it, and its rows with the count of its person's requests."""


@ON_BOTH
def test_a_submission_takes_few_statements_by_the_form_and_by_a_program(portal: Portal, ada: BrowserClient):
    portal.course.change(checks_per_hour=1_000, attempts=1_000)
    engine = portal.app.extensions["tilelab"].engine

    def by_form(turn: int) -> int:
        return ada.post_form(FORM, source=f"{KERNEL}// {turn}", mode="rank", key=f"{turn:032x}").status_code

    def by_program(turn: int, name: str = "bob") -> int:
        return portal.post(name, {"source": f"{KERNEL}// by {name} {turn}"}, key=f"{turn}").status_code

    def by_stale_token(turn: int) -> int:
        with portal.course.sessions.begin() as session:
            session.execute(update(ApiToken).values(used_at=None))
        return by_program(turn, "eve")

    for send, status, most in ((by_form, 303, 9), (by_program, 202, 10), (by_stale_token, 202, 11)):
        for turn in range(3):
            with counted_queries(engine) as asked:
                assert send(turn) == status
        assert (asked.transactions, len(asked.statements)) == (TRANSACTIONS, most), "\n".join(asked.statements)


@ON_BOTH
def test_what_cannot_be_accepted_writes_nothing_but_its_count(portal: Portal, ada: BrowserClient):
    engine = portal.app.extensions["tilelab"].engine
    portal.course.change(attempts=1)
    tom = client_of(portal, "tim", role=None)
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    for client, source in ((ada, KERNEL), (tom, KERNEL), (ada, ""), (ada, "x" * 70_000), (tom, f"{KERNEL}int\u00a0a;")):
        with counted_queries(engine) as asked:
            assert client.post_form(FORM, source=source, mode="rank").status_code in {404, 422}
        written = [each for each in asked.statements if each.startswith(("INSERT", "UPDATE", "DELETE"))]
        assert all("rate_counts" in each for each in written), written


@ON_SQLITE
def test_the_use_of_a_token_is_recorded_even_if_its_request_is_refused(portal: Portal):
    assert portal.post("bob", {"source": 7}, key="1").status_code == 422
    with portal.course.sessions.begin() as session:
        used = session.scalars(select(ApiToken.used_at).where(ApiToken.person_id == portal.course.people["bob"])).all()
    assert any(used)


@ON_BOTH
def test_a_graded_result_takes_few_statements(portal: Portal, ada: BrowserClient):
    engine = portal.app.extensions["tilelab"].engine
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    ada.page(f"/submissions/{name}")
    with counted_queries(engine) as asked:
        ada.page(f"/submissions/{name}")
    assert (asked.transactions, len(asked.statements)) == (2, 4), "\n".join(asked.statements)


@ON_SQLITE
def test_a_result_is_rendered_once_and_never_for_a_stranger(portal: Portal, ada: BrowserClient, monkeypatch):
    rendered: list[object] = []

    def counted(*given: Any) -> Any:
        rendered.append(given)
        return bounded(*given)

    monkeypatch.setattr(report, "bounded", counted)
    monkeypatch.setattr(report, "_kept", report.KeptReports(2**20))
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    graded(portal.course, job, **RACE)
    tom, bob = client_of(portal, "tom", Role.ASSISTANT), client_of(portal, "bob")
    path = f"/submissions/{name}"
    for client in (ada, tom):
        assert _fixed(client.page(path)) == _fixed(client.page(path))
    assert (bob.get(path).status_code, stranger(portal).get(path).status_code, len(rendered)) == (404, 303, 2)
    seed = portal.course.row(select(Job.seed).where(Job.id == job))
    assert seed not in ada.page(path)
    before = ada.page(path)
    portal.course.correct("ada", score=0.25)
    portal.course.change(points=1.0)
    after = ada.page(path)
    assert ("0.25/1 points" in before, "0.25/1 points" in after) == (False, True)
    reads = RACE["findings"][0].message.partition(" ")[0]
    overwritten(portal.course, job, b"no report")
    assert (f"{reads} (1,0)" in after, f"{reads} (1,0)" in ada.page(path)) == (True, False)


@ON_SQLITE
def test_a_compressed_result_is_the_page_of_its_reader(portal: Portal, ada: BrowserClient):
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    graded(portal.course, job, **RACE)
    pages = []
    for client in (ada, client_of(portal, "tom", Role.ASSISTANT)) * 2:
        packed = client.get(f"/submissions/{name}", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        pages.append(_fixed(gzip.decompress(packed.get_data()).decode()))
        assert pages[-1] == _fixed(client.page(f"/submissions/{name}"))
    assert pages[:2] == pages[2:]
    assert ["/staff/gpu/regrade" in page for page in pages[:2]] == [False, True]


@pytest.mark.parametrize("around", [MARK, f"<p>Größe{MARK}</p>", f"{'a' * 70_000}{MARK}{'a' * 70_000}"])
@pytest.mark.parametrize("content", ["", "é", "a" * 200_000])
def test_a_page_around_a_fixed_part_is_one_gzip_file(around: str, content: str):
    answer = PageAround(around, FixedPart.of(content))
    assert gzip.decompress(answer.gzipped()) == answer.get_data()
    assert answer.get_data().decode() == around.replace(MARK, content)


@ON_SQLITE
def test_a_result_that_failed_to_render_is_rendered_again(portal: Portal, ada: BrowserClient, monkeypatch):
    left, rendered = [MemoryError()] * 3, list[int]()

    def failing(*given: Any) -> Any:
        rendered.append(1)
        if left:
            raise left.pop()
        return render_sections(*given)

    monkeypatch.setattr(report, "bounded", lambda call, *given: call(*given))
    monkeypatch.setattr(report, "render_sections", failing)
    monkeypatch.setattr(report, "_kept", report.KeptReports(2**20))
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    counts = []
    for _ in range(3):
        ada.page(f"/submissions/{name}")
        counts.append(len(rendered))
    assert counts == [4, 5, 5]


def _fixed(page: str) -> str:
    """A page without what is random in it."""
    return re.sub(r'(name="(?:csrf|key)" value)="\w+"', r"\1", page)


def test_only_the_reports_that_were_shown_last_are_kept():
    part = FixedPart.of("x" * 1_000)
    shown = report.ShownReport(Verdict.ACCEPTED, "", part, None, (), measured=False, marks="[]")
    kept = report.KeptReports(5_000)
    for key in range(10):
        kept.keep(b"%d" % key, shown)
        kept.find(b"0")
    assert [key for key in range(10) if kept.find(b"%d" % key)] == [0, 7, 8, 9]
