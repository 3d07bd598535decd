"""The card of a result, with its buttons."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from kernels.report import Report
from kernels.report.explanation import explained
from kernels.report.model import Explanation
from kernels.verdict import Finding, Verdict
from server.operations.own_data import own_data
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


def test_the_edit_comes_once_its_student_asks_for_it(portal, ada, ina):
    edit = "Put the edit after line 9."
    portal.course.change(edit_on_request=True)
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, verdict=Verdict.OUT_OF_BOUNDS, findings=(PAST_M,), explanation=Explanation(step=edit))

    def all_of_ada() -> tuple[bool, ...]:
        pages = [ada.page(f"/submissions/{name}{more}") for more in ("", "/report.html", "/report.json")]
        api = portal.get("ada", f"/api/v1/submissions/{name}").get_data(as_text=True)
        with (
            portal.course.sessions.begin() as session,
            ZipFile(BytesIO(own_data(session, portal.course.person("ada")))) as archive,
        ):
            copy = [archive.read(each).decode() for each in archive.namelist() if name in each]
        return tuple(edit in text for text in (*pages, api, "".join(copy)))

    assert all_of_ada() == (False,) * 5
    assert portal.get("ada", f"/api/v1/submissions/{name}").get_json()["edit_hidden"]
    assert edit in ina.page(f"/submissions/{name}")
    ina.post_form(f"/submissions/{name}/edit")
    assert all_of_ada() == (False,) * 5, "only its student asks for it"
    assert "data-edit-shown" not in ina.page(f"/submissions/{name}")
    assert f'action="/submissions/{name}/edit"' in card(ada.page(f"/submissions/{name}"))
    ada.post_form(f"/submissions/{name}/edit")
    assert all_of_ada() == (True,) * 5
    assert "data-edit-shown" in ina.page(f"/submissions/{name}")
    assert f'action="/submissions/{name}/edit"' not in ada.page(f"/submissions/{name}")


def test_a_program_asks_for_the_edit_of_its_own_submission(portal, ada):
    portal.course.change(edit_on_request=True)
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, verdict=Verdict.OUT_OF_BOUNDS, findings=(PAST_M,), explanation=Explanation(step="Edit."))
    url = f"/api/v1/submissions/{name}"
    asked = portal.client.post(f"{url}/edit", headers={"Authorization": f"Bearer {portal.token('ada')}"}).get_json()
    assert (asked["edit_hidden"], asked["result"]["explanation"]["step"]) == (False, "Edit.")


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
