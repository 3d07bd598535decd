"""One entry of the table of counters is enough: text, page and comparison show it."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from dataclasses import fields, replace
from typing import Any

import pytest

from kernels import counters
from kernels.compile.diagnostics import Resources
from kernels.counters import COUNTERS, AccessSum, Counter, Run, Totals, number, totals_of
from kernels.evidence import Evidence
from kernels.exercise.model import Metric
from kernels.rendering.analysis import totals_text
from kernels.rendering.page.context import Row, groups
from kernels.report import Report
from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.history.comparison import Compared, figures

TOTALS = Totals(thread_instructions=64, warp_instructions=2, warp_efficiency=1.0, flops=12, branches=3)
FLOPS_EACH = Counter(
    "flops of a branch", "flops", "what one costs", better="less", name="flops_each",
    row="flops of a branch", of=lambda totals: totals.flops // totals.branches if totals.branches else None,
)  # fmt: skip


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setitem(counters.COUNTERS, "flops_each", FLOPS_EACH)


@pytest.mark.usefixtures("added")
def test_one_entry_shows_a_counter_in_text_page_and_comparison():
    assert totals_text(TOTALS)[-1].split() == ["flops", "of", "a", "branch", "4", "flops"]
    assert groups(TOTALS)[-1].rows[-1] == Row("flops of a branch", "4", "flops", "what one costs")
    attempt: Any = None
    one = Compared(attempt, "", None, _report(TOTALS), ())
    shown = {each.title: (each.left, each.right) for each in figures(one, one, Metric.TIME)}
    assert shown["Flops of a branch"] == ("4", "4")
    assert number("flops_each", Totals()) == 0


def test_reports_keep_every_field_with_its_value():
    kept = [each.name for each in fields(Totals)]
    assert to_plain(TOTALS) == {name: COUNTERS[name].of(TOTALS) for name in kept}


def test_no_two_counters_have_one_place_in_the_text():
    places = Tally((each.row, each.column) for each in COUNTERS.values() if each.row)
    assert [place for place, times in places.items() if times > 1] == []


def test_a_run_gives_every_counter_that_is_kept():
    access = defaultdict(AccessSum, {("global", "load"): AccessSum(requests=2, sectors=8, bytes=256)})
    totals = totals_of(Run(access, defaultdict(AccessSum), 4, 1, 64, 2, 128))
    assert totals == Totals(
        global_load_requests=2, global_load_sectors=8, branches=4, divergent_branches=1, thread_instructions=64,
        warp_instructions=2, warp_efficiency=1.0, flops=128, global_bytes=256, global_load_bytes=256,
        compute_to_memory=2.0,
    )  # fmt: skip


def _report(totals: Totals) -> Report:
    return Report(Verdict.ACCEPTED, "", "tiled", "cpu", "sm_90", 16, evidence=Evidence(totals=totals))


def test_a_comparison_has_no_rows_that_only_one_side_has():
    attempt: Any = None
    counted, failed = _report(TOTALS), replace(_report(TOTALS), evidence=Evidence())
    used = Resources(32, 0, 0, 0, 0, 0, 1)
    left, right = (Compared(attempt, "", None, replace(each, resources=used), ()) for each in (counted, failed))
    assert [each.title for each in figures(left, right, Metric.TIME)] == [
        "Registers per thread", "Shared memory per block, in bytes",
    ]  # fmt: skip
