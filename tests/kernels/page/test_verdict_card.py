"""The first lines of a result."""

from __future__ import annotations

from dataclasses import replace

from kernels.evidence import Advice, Evidence, GoalResult, LineEvidence
from kernels.facts import Diagnosed, Facts, Mistake
from kernels.rendering.page.report_page import ReportContext, render_sections
from kernels.rendering.page.verdict_card import NEXT_IDEA, NEXT_STEP
from kernels.verdict import Finding, Verdict
from tests.kernels.explanations import card_of, with_source
from tests.kernels.facts_of import at, of_race
from tests.kernels.test_report_text import RACE, SOURCE, report

LINES = SOURCE.split("\n")
WRONG = "`P[0][0]` is 0, not 5 (Width=1). 1 of 1 element is incorrect."


def test_a_race_shows_both_accesses_among_their_neighbours():
    card = card_of(report(RACE), LINES)
    assert [line.number for line in card.excerpt] == list(range(10, 16))
    assert {line.number: line.label for line in card.excerpt if line.hit} == {11: "write", 14: "read"}
    assert (card.state, card.line, card.count) == ("poor", 14, "240 access pairs across all cases")
    for kind in (Verdict.WRONG_ANSWER, Verdict.RESOURCE_LIMIT):
        assert card_of(report(Finding(kind, WRONG, count=9), verdict=kind), LINES).count == ""


def test_accesses_far_apart_leave_a_gap():
    alone = card_of(report(replace(RACE, other_line=RACE.line)), LINES).excerpt
    assert [line.label for line in alone if line.hit] == ["read and write"]
    both = replace(RACE, other_line=14, facts=of_race("write", together=True))
    assert [line.label for line in card_of(report(both), LINES).excerpt if line.hit] == ["both write"]
    assert [line.label for line in card_of(report(replace(both, facts=Facts())), LINES).excerpt if line.hit] == [
        "both accesses"
    ]
    started = replace(both, facts=Facts(Mistake.UNFINISHED))
    card = card_of(report(started), LINES)
    assert [line.label for line in card.excerpt if line.hit] == ["starts here"]
    assert card.sentence == started.meaning != RACE.meaning
    assert "operation" in card_of(report(replace(started, count=2)), LINES).count
    far = card_of(report(replace(RACE, other_line=30)), LINES).excerpt
    assert [(line.number, line.after_gap) for line in far] == [
        (13, False), (14, False), (15, False), (29, True), (30, False), (31, False),
    ]  # fmt: skip


def test_a_diagnosis_leads_and_the_element_follows():
    facts = Facts(example=WRONG, diagnoses=(Diagnosed("turned", "All rows are upside down."),))
    wrong = Finding(Verdict.WRONG_ANSWER, "", facts=facts)
    card = card_of(report(wrong, verdict=Verdict.WRONG_ANSWER), LINES)
    assert (card.sentence, card.detail) == ("All rows are upside down.", WRONG)
    plain = card_of(
        report(replace(wrong, message=WRONG, facts=Facts()), verdict=Verdict.WRONG_ANSWER, checks=()), LINES
    )
    assert (plain.sentence, plain.detail) == (Verdict.WRONG_ANSWER.headline, WRONG)


def test_an_error_of_the_compiler_is_the_sentence():
    error = Finding(Verdict.COMPILE_ERROR, "A `;` is missing at the end of this line.", 3)
    card = card_of(report(error, verdict=Verdict.COMPILE_ERROR), LINES)
    assert (card.sentence, card.detail, card.line) == (error.message, "", 3)


def test_an_accepted_kernel_gets_the_next_idea():
    found = report(verdict=Verdict.ACCEPTED, evidence=Evidence(advice=(Advice("Coarsen.", 7),)))
    card = card_of(found, LINES)
    assert (card.label, card.step, card.step_line, card.where) == (NEXT_STEP, "Coarsen.", 7, "line 7")
    assert [line.number for line in card.excerpt if line.hit] == [7]
    assert card_of(found, LINES, "Unroll.").step == "Coarsen."
    card = card_of(replace(found, evidence=Evidence(advice=(Advice("Fine."),))), LINES, "Unroll.")
    assert (card.label, card.step, card.excerpt) == (NEXT_IDEA, "Unroll.", ())
    lines = (LineEvidence(3, 64, 2, 0), LineEvidence(9, 640, 20, 0))
    card = card_of(replace(found, evidence=Evidence(advice=(Advice("Fine."),), lines=lines)), LINES)
    assert (card.role, card.where, card.state) == ("", "", "good"), "the line with the most work isn't a flaw"
    assert [line.label for line in card.excerpt if line.hit] == ["most work"]
    goal = GoalResult("No conflicts", "shared_load_conflicts", 4, 0, met=False)
    evidence = Evidence(advice=(Advice(f"{goal.missed} Pad.", 7, goal.missed),), goals=(goal,))
    card = card_of(replace(found, evidence=evidence), LINES)
    assert (card.role, card.where, card.state) == ("goal missed at", "line 7", "fair")
    assert (card.detail, card.step) == (goal.missed, "Pad.")


def test_a_finding_in_the_card_is_not_listed_again_and_unused_tabs_are_left_out():
    html = str(render_sections(report(RACE), SOURCE, ReportContext("my.cu", worth="0/10 points")))
    assert 'id="findings"' not in html
    assert '<p class="worth">0/10 points</p>' in html
    assert 'href="#tab-source"' in html
    assert 'href="#tab-performance"' not in html
    two = str(render_sections(report(RACE, replace(RACE, line=20)), SOURCE, ReportContext("my.cu")))
    assert 'id="findings"' in two


def test_the_common_indentation_is_left_out_and_a_lost_update_is_named():
    source = "__global__ void K(float* total) {\n        {\n            total[0] += 1;\n        }\n}\n"
    update = replace(RACE, line=3, other_line=3, example=at("total[0]"))
    html = str(render_sections(with_source(report(update), source.splitlines()), source, ReportContext()))
    assert '<code><i class="deeper">    </i>total[0] += 1;</code>' in html
    assert "one change is lost" in html


def test_all_errors_of_the_compiler_are_on_the_card():
    first, *others = (
        Finding(Verdict.COMPILE_ERROR, f"`{name}` is undefined.", line) for name, line in (("a", 3), ("b", 4), ("c", 9))
    )
    shown = report(first, *others, verdict=Verdict.COMPILE_ERROR)
    assert card_of(shown, LINES).also == tuple(others)
    html = render_sections(shown, SOURCE, ReportContext())
    assert 'href="#L9"' in html
    assert 'id="findings"' not in html
