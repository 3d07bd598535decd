"""A whole report as a page."""

from __future__ import annotations

import re
from dataclasses import replace

from kernels.evidence import Advice
from kernels.launch import Launch
from kernels.occupancy.driver_answer import MeasuredOccupancy
from kernels.rendering.page.report_page import ReportContext, render_report
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus, Verdict
from tests.kernels.measured import measured_report
from tests.kernels.page.sample import EVIDENCE, SOURCE


def page_of(**more: object) -> str:
    given = {
        "verdict": Verdict.ACCEPTED, "message": "So it is.", "exercise": "tiled", "device": "cpu", "arch": "sm_90",
        "tile": 16, "seed": "0",
    }  # fmt: skip
    return render_report(Report(**(given | more)), SOURCE, ReportContext())  # type: ignore[arg-type]


def test_what_a_driver_works_out_is_modelled():
    page = page_of(measured_occupancy=MeasuredOccupancy(256, 32, 0, 0, 8, 48, 64))
    figure = page[page.index(">Occupancy<") :][:400]
    assert "75" in figure
    assert "computed by the driver" in figure
    assert ">modelled<" in figure
    assert ">measured<" not in figure


def test_output_that_is_cut_says_how_much_is_left_out_and_where_it_is():
    page = page_of(printed="\n".join(f"line {i}" for i in range(1_700)) + "\n")
    assert "line 399" in page
    assert "line 400" not in page
    assert "… and 1,300 more lines. The JSON report has all lines." in page
    assert "more line" not in page_of(printed="one\n")


def test_each_grid_of_a_page_says_its_case():
    grid = Launch((5, 5, 1), (16, 16, 1), 0)
    page = page_of(launch=grid, launch_sizes={"Width": 67}, evidence=EVIDENCE).replace("\N{NO-BREAK SPACE}", " ")
    assert "5 × 5 blocks of 16 × 16 threads (largest case, Width=67)" in page
    assert "<dt>Counted at Width=256</dt><dd>16 × 16 blocks of 16 × 16 threads</dd>" in page
    alone = page_of(launch=grid, launch_sizes={"Width": 67})
    assert alone.count("blocks of") == 1


def key_figures(page: str) -> list[str]:
    """The titles of the key figures, without what they are based on."""
    row = re.search(r'<dl class="facts key">(.*?)</dl>', page, re.DOTALL)
    return re.findall(r"<dt>([^<]+?) <", row[1]) if row else []


def test_an_accepted_kernel_has_at_most_four_key_figures():
    assert key_figures(page_of(evidence=EVIDENCE)) == ["Speed of light", "Lost to bank conflicts"]
    measured = measured_report()
    given = {name: getattr(measured, name) for name in ("measurement", "measured_occupancy", "evidence")}
    assert key_figures(page_of(**given)) == ["Speed", "Of cuBLAS", "Speed of light", "Occupancy"]
    assert key_figures(page_of(**given, verdict=Verdict.WRONG_ANSWER)) == []
    assert key_figures(page_of()) == []


def test_the_advice_of_the_card_is_not_repeated():
    one, two = Advice("Coarsen the threads."), Advice("Pad the tile.")
    assert page_of(evidence=replace(EVIDENCE, advice=(one,))).count(one.text) == 1
    page = page_of(evidence=replace(EVIDENCE, advice=(one, two)))
    assert (page.count(one.text), page.count(two.text)) == (1, 1)


def test_cases_are_one_table_with_failed_ones_first_then_by_size():
    names = ("Width=2048 integers_left", "Width=17 real", "Width=2 real", "Width=100 real", "Width=17 integers_left")
    outcomes = (CaseStatus.NOT_RUN, *[CaseStatus.FAILED] * 2, *[CaseStatus.PASSED] * 2)
    notes = ("too large", "data race", "data race", "", "")
    checks = tuple(CaseCheck(*each) for each in zip(names, outcomes, notes, strict=True))
    page = page_of(checks=checks)
    table = page.partition('<table class="cases">')[2].partition("</table>")[0]
    rows = re.findall(r'<tr class="(\w+)"><th scope="row">([^<]+)', table)
    assert rows == [
        ("poor", "Width=2"), ("poor", "Width=17"), ("good", "Width=17"), ("good", "Width=100"), ("none", "Width=2048"),
    ]  # fmt: skip
    assert [page.count(note) for note in ("data race", "too large")] == [2, 1]
    turned = page_of(checks=checks[::-1])
    assert re.findall(r'<th scope="row">(Width[^<]+)', turned) == [size for _, size in rows], (
        "in any order of the report"
    )
