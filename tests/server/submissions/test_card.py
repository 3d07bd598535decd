"""The card of a result, with its buttons."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from kernels.report import Report
from kernels.report.explanation import explained
from kernels.report.model import Explanation, LineNote
from kernels.verdict import Finding, Verdict
from server.courses.models import HintStep
from server.operations.own_data import own_data
from server.submissions.verdicts import SYSTEM_ERROR
from server.web.notices import NOTICES
from tests.kernels.facts_of import at
from tests.server.submissions.graded import given_up, graded, handed_in
from tests.server.web.conftest import Portal

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


def test_each_hint_comes_once_its_student_asks_for_it(portal, ada, ina):
    parts = ("Guard it.", "So it is.", "Does it exist?")
    portal.course.change(first_hint=HintStep.QUESTION)
    name, job = handed_in(portal.course, "ada")
    source, found = Explanation(step=parts[0], clues=(LineNote(1, parts[1]),)), replace(PAST_M, line=1)
    graded(portal.course, job, verdict=found.kind, findings=(found,), message=parts[1], explanation=source)
    about, api = f"/submissions/{name}", f"/api/v1/submissions/{name}"
    task = "/courses/gpu/tiled"

    def ada_sees() -> list[tuple[bool, ...]]:
        pages = [ada.page(f"{about}{more}") for more in ("", "/report.html", "/report.json", "/comments")]
        pages += [ada.page(f"{task}/?from={name}"), ada.page(f"{task}/compare?left={name}&right={name}")]
        pages += [portal.get("ada", api).get_data(as_text=True), "".join(_own_copy(portal, name))]
        return [tuple(part in text for part in parts) for text in pages]

    whole = (0, 1, 2, 6, 7)
    for hint, shown in (("question", 0), ("finding", 1), ("edit", 2)):
        assert portal.get("ada", api).get_json()["hint"] == hint
        for place, (edit, finding, question) in enumerate(ada_sees()):
            assert edit == (shown == 2 and place in whole), (hint, place)
            assert finding == (shown >= 1), (hint, place)
            assert question == (place in whole), (hint, place)
        following = {"question": "finding", "finding": "edit"}.get(hint)
        assert (f'action="{about}/hints/' in card(ada.page(about))) == bool(following)
        if following:
            ina.post_form(f"{about}/hints/{following}")
            assert "data-asked-for" not in ina.page(about) or hint == "finding", "only its student asks"
            ada.post_form(f"{about}/hints/{following}")
    assert "data-asked-for" in ina.page(about)
    assert parts[0] in ina.page(about)


def _own_copy(portal: Portal, name: str) -> list[str]:
    with (
        portal.course.sessions.begin() as session,
        ZipFile(BytesIO(own_data(session, portal.course.person("ada")))) as archive,
    ):
        return [archive.read(each).decode() for each in archive.namelist() if name in each]


def test_a_program_asks_for_the_edit_with_the_hints_before(portal, ada):
    portal.course.change(first_hint=HintStep.QUESTION)
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, verdict=PAST_M.kind, findings=(PAST_M,), explanation=Explanation(step="Edit."))
    url = f"/api/v1/submissions/{name}/hints/edit"
    asked = portal.client.post(url, headers={"Authorization": f"Bearer {portal.token('ada')}"}).get_json()
    assert (asked["hint"], asked["result"]["explanation"]["step"]) == ("edit", "Edit.")


def test_a_compile_error_is_never_held_back(portal, ada):
    portal.course.change(first_hint=HintStep.QUESTION)
    name, job = handed_in(portal.course, "ada")
    found = Finding(Verdict.COMPILE_ERROR, "Expected a ;", 2)
    graded(portal.course, job, verdict=found.kind, findings=(found,), explanation=Explanation(step="Add it."))
    shown = portal.get("ada", f"/api/v1/submissions/{name}").get_json()
    assert (shown["hint"], shown["result"]["findings"][0]["line"]) == ("finding", 2)
    assert shown["result"]["explanation"]["step"] == ""


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
