"""How many statements and transactions a student's most frequent requests take."""

from __future__ import annotations

from tests.server.databases import ON_BOTH
from tests.server.staff.graded import counted_queries
from tests.server.submissions.course_pages import FORM, KERNEL
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

TRANSACTIONS = 3
"""Of a submission: who sends it, how often, and its rows."""


@ON_BOTH
def test_a_submission_takes_few_statements_by_the_form_and_by_a_program(portal: Portal, ada: BrowserClient):
    portal.course.change(checks_per_hour=1_000, attempts=1_000)
    engine = portal.app.extensions["tilelab"].engine

    def by_form(turn: int) -> int:
        return ada.post_form(FORM, source=f"{KERNEL}// {turn}", mode="rank", key=f"{turn:032x}").status_code

    def by_program(turn: int) -> int:
        return portal.post("bob", {"source": f"{KERNEL}// own {turn}"}, key=f"{turn}").status_code

    for send, status, most in ((by_form, 303, 13), (by_program, 202, 15)):
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
