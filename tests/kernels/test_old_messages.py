"""The facts of findings in reports of earlier versions."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kernels.evidence import Advice, Evidence
from kernels.facts import Diagnosed, Facts
from kernels.report.old_messages import with_facts
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from kernels.wire import from_plain
from tests.kernels.test_report_text import report

OLD = tomllib.loads(Path(__file__).with_name("old_messages.toml").read_text("utf-8"))["finding"]


@pytest.mark.parametrize("old", OLD)
def test_an_old_message_gives_the_facts_that_were_read_from_it(old):
    message = Finding(Verdict(old["kind"]), old["message"], 30, 26)
    (finding,) = with_facts(report(message, verdict=message.kind)).findings
    assert finding.facts == from_plain(Facts, old.get("facts", {}), lenient=True)
    told = " ".join([finding.facts.example, *(each.sentences for each in finding.facts.diagnoses)])
    assert finding.kind is not Verdict.WRONG_ANSWER or told == finding.message


def test_old_notes_and_goals_give_their_counts_and_sentences():
    check = CaseCheck("n=64 integers", CaseStatus.FAILED, "3,072 of 4,096 elements incorrect")
    goals = ("Goal of the exercise not met: Few. Counted 1,024 bytes; the limit is 1,000 bytes.", "Goal not met: Few.")
    evidence = Evidence(advice=tuple(Advice(f"{goal} Do less.") for goal in goals))
    found = with_facts(report(checks=(check,), evidence=evidence))
    assert (found.checks[0].incorrect, found.checks[0].elements) == (3072, 4096)
    assert [advice.goal for advice in found.evidence.advice] == [goals[0], ""]


def test_a_diagnosis_is_shown_with_its_cases_after_the_first_sentence():
    found = Diagnosed("key", "It is short.", "Why?", cases=4, failing=5)
    assert found.sentences == "In 4 of 5 failing cases: It is short. Why?"
    assert found.headline == "It is short (4 of 5 failing cases). Why?"
