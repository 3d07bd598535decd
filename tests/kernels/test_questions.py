"""Questions that lead to a mistake without giving it away."""

from __future__ import annotations

import pytest

from kernels.report import Report
from kernels.report.causes import Cause
from kernels.report.model import Explanation
from kernels.report.questions import QUESTIONS, question_of
from kernels.verdict import Finding, Verdict
from tests.kernels.facts_of import at


def test_each_cause_has_a_short_question_without_a_line():
    assert set(QUESTIONS) == set(Cause)
    long = [cause for cause, text in QUESTIONS.items() if len(text.split()) > 20]
    assert not long
    assert all(text.count("?") for text in QUESTIONS.values())


@pytest.mark.parametrize(("element", "named"), [("Nds[0][3]", "`Nds`"), ("", "the array")])
def test_it_names_the_array_of_the_finding_and_never_its_line(element, named):
    finding = Finding(Verdict.OUT_OF_BOUNDS, "So it is.", 7, example=at(element) if element else None)
    report = Report(
        finding.kind, finding.message, "tiled", "cpu", "sm_90", 16, findings=(finding,), explanation=Explanation()
    )
    assert named in question_of(report)
    assert "7" not in question_of(report)


def test_an_accepted_kernel_has_none():
    assert question_of(Report(Verdict.ACCEPTED, "", "tiled", "cpu", "sm_90", 16)) == ""
