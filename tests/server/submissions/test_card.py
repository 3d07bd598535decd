"""The card of a result, with its buttons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernels.report import Report
from kernels.report.explanation import explained
from kernels.verdict import Finding, Verdict
from server.submissions.verdicts import SYSTEM_ERROR
from server.web.notices import NOTICES
from tests.kernels.facts_of import at
from tests.server.submissions.graded import given_up, graded, handed_in

PAST_M = Finding(Verdict.OUT_OF_BOUNDS, "So it is.", 7, example=at("M[1][0]"))
CORPUS = Path(__file__).parents[2] / "corpus" / "wrong"


def card(page: str) -> str:
    """The first thing on the page of one that is over."""
    return re.split(r'class="verdict[ "]', page)[1].partition("</section>")[0]


@pytest.mark.parametrize(
    ("kernel", "finding", "line"),
    [
        ("naive_guard_less_equal", PAST_M, 5),
        ("accumulator_reset_each_phase", Finding(Verdict.WRONG_ANSWER, "So it is."), 9),
    ],
    ids=["the cause", "the line to look at"],
)  # fmt: skip
def test_the_editor_opens_at_the_line_that_the_card_names(portal, ada, kernel, finding, line):
    source = (CORPUS / f"{kernel}.cu").read_bytes()
    name, job = handed_in(portal.course, "ada", source=source)
    report = Report(finding.kind, finding.message, "naive", "cpu", "sm_90", 16, findings=(finding,))
    explanation = explained(report, source.decode().splitlines())
    graded(portal.course, job, verdict=finding.kind, findings=(finding,), explanation=explanation)
    page = ada.page(f"/submissions/{name}")
    assert f'#line-{line}" data-editor-line="{line}">Show in editor</a>' in page
    assert f'<p class="where">look at <a class="to" href="#L{line}">' in page


def test_a_fault_of_ours_is_ours_and_can_be_tried_again(portal, ada):
    name, job = handed_in(portal.course, "ada")
    given_up(portal.course, job)
    page = ada.page(f"/submissions/{name}")
    assert '<span class="stamp">system error</span>' in page
    assert page.count(SYSTEM_ERROR) == page.count("on our side") == 1
    assert page.count(f"<p>{Verdict.SYSTEM_ERROR.advice}</p>") == 1
    assert 'id="findings"' not in page
    assert f'action="/submissions/{name}/retry"' in card(page)
    assert "Show in editor" not in page, "the kernel has no fault to repair"
    assert "<dt>Tile</dt>" not in page
    answer = ada.post_form(f"/submissions/{name}/retry")
    assert NOTICES["tried-again"] in ada.page(answer.headers["Location"])
    # what waits is not queued twice
    assert "already-over" in ada.post_form(f"/submissions/{name}/retry").headers["Location"]
