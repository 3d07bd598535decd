"""What students are told to try next, by what was found."""

from __future__ import annotations

import pytest

from kernels.report import Report
from kernels.report.advice import ADVICE, advice_for
from kernels.verdict import Example, Finding, Verdict

LINES = ["__shared__ float Mds[16][16];", "Pvalue += Mds[ty][k];", "P[i] += Pvalue;"]


def after_unset(element):
    finding = Finding(Verdict.UNINITIALIZED_READ, "it is read", 2, example=Example(element=element))
    report = Report(finding.kind, "", "tiled", "cpu", "sm_90", 16, findings=(finding,))
    return advice_for(report, LINES)


@pytest.mark.parametrize(
    ("element", "words"), [("Mds[0][15]", "0 then adds nothing"), ("P[0][0]", "write it with `=`")]
)
def test_an_unwritten_element_gets_the_advice_of_its_array(element, words):
    assert words in after_unset(element)


def test_an_unwritten_variable_gets_the_advice_on_first_values():
    assert after_unset(None) == ADVICE[Verdict.UNINITIALIZED_READ]
