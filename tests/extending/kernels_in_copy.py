"""Run by test_recipes.py in the copy where all recipes were followed: what grading, text and page then know."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kernels.counters import COUNTERS
from kernels.exercise import find_exercise
from kernels.rendering.analysis import render_analysis
from kernels.rendering.page.report_page import ReportContext, analysis_of, render_sections
from kernels.rendering.report import render
from kernels.rendering.text_style import Style
from kernels.report import Report, to_json
from kernels.verdict import Verdict
from tests.kernels.page.page_text import read
from tests.worker.kept_processes import KeptProcesses
from worker.commands.kernel.exercises import exercises
from worker.steps.grading import Job, grade

CORPUS = Path("tests/corpus")
NEW = Path("kernels/exercises/matrix-vector")
WIDE = Style(width=200)


def graded(exercise: str, file: Path, kept: KeptProcesses, cache: Path, *, evidence: bool = False) -> Report:
    job = Job(file.read_bytes(), find_exercise(exercise), arch="sm_90", seed="5eed" * 8, cache=cache, evidence=evidence)
    return grade(job, kept.stages())


@pytest.mark.parametrize(("file", "verdict"), [("solution", "accepted"), ("starter", "out_of_bounds")])
def test_exercise_is_graded(file: str, verdict: str, kept: KeptProcesses, tmp_path: Path) -> None:
    report = graded("matrix-vector", NEW / f"{file}.cu", kept, tmp_path)
    assert report.verdict == verdict, report.message


def test_exercise_is_listed_with_its_handout() -> None:
    assert "matrix-vector" in CliRunner().invoke(exercises, []).output
    assert "`y = A * x`" in CliRunner().invoke(exercises, ["matrix-vector"]).output


def test_counter_is_in_text_json_and_page(kept: KeptProcesses, tmp_path: Path) -> None:
    file = CORPUS / "right" / "naive_shared_atomics.cu"
    report = graded("naive", file, kept, tmp_path, evidence=True)
    number = to_json(report)["evidence"]["totals"]["shared_atomic_requests"]
    assert number > 0
    source = file.read_text("utf-8")
    rows = [line.split() for line in render_analysis(analysis_of(report), source, "my.cu", WIDE).splitlines()]
    assert ["shared", "atomics", f"{number:,}", "requests"] in rows
    page = read(str(render_sections(report, source, ReportContext("my.cu")))).text()
    assert "atomic requests" in page
    assert COUNTERS["shared_atomic_requests"].of(report.evidence.totals) == number


def test_verdict_is_given_and_shown(kept: KeptProcesses, tmp_path: Path) -> None:
    file, verdict = CORPUS / "wrong" / "divided_by_no_terms.cu", Verdict("not_finite")
    report = graded("naive", file, kept, tmp_path)
    assert (report.verdict, to_json(report)["verdict"]) == (verdict, "not_finite"), report.message
    source = file.read_text("utf-8")
    text = render(report, source, "my.cu", WIDE)
    page = read(str(render_sections(report, source, ReportContext("my.cu")))).text()
    for shown in (text, page):
        assert verdict.headline in shown
        assert verdict.advice in shown
