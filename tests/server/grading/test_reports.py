"""Reports as they are kept: bounded, and never without their verdict."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from typing import Any

import pytest

from kernels.compile.diagnostics import Diagnostic
from kernels.evidence import Evidence, Extent, Light
from kernels.facts import Facts
from kernels.launch import Launch
from kernels.report import Report, to_json
from kernels.verdict import Finding, Severity, Verdict
from kernels.wire import to_plain
from server.grading.reports import ReportError, pack, unpack
from server.grading.result_columns import columns_of
from server.grading.stored_report import read_report

RACE = "Thread (0,0) of block (0,0) writes `s[0]` at line 3. Thread (0,1) reads it at line 4."
PLAIN = Report(Verdict.DATA_RACE, "Two threads.", "tiled", "cpu", "sm_90", 16, seed="5eed")


def noise(count: int) -> str:
    """Text that nothing compresses."""
    return random.Random(count).randbytes(count).hex()


def heavy(**more: Any) -> Report:
    return replace(PLAIN, **more)


def test_what_fits_is_kept_whole():
    assert unpack(pack(PLAIN)) == to_json(PLAIN)


def test_what_is_too_large_loses_what_explains_it_before_what_it_says():
    finding = Finding(Verdict.DATA_RACE, "Two threads write.", line=3)
    report = heavy(printed=noise(20_000), findings=(finding,), evidence=Evidence())
    found = unpack(pack(report, limit=2_000))
    assert found["verdict"] == "data_race"
    assert found["printed"] == ""
    assert found["findings"][0]["line"] == 3


def test_warnings_go_before_findings():
    warning = Diagnostic(1, None, Severity.WARNING, noise(10_000))
    finding = Finding(Verdict.DATA_RACE, "Two threads write.", line=3)
    found = unpack(pack(heavy(warnings=(warning,), findings=(finding,)), limit=2_000))
    assert found["warnings"] == []
    assert len(found["findings"]) == 1


def test_even_a_thousand_long_findings_leave_the_verdict():
    findings = tuple(Finding(Verdict.DATA_RACE, noise(500 + i)) for i in range(300))
    found = unpack(pack(heavy(findings=findings, message=noise(9_000)), limit=4_000))
    assert found["verdict"] == "data_race"
    assert found["findings"] == []
    assert len(found["message"]) == 2_000


def test_what_cannot_be_made_small_enough_is_refused():
    with pytest.raises(ReportError):
        pack(PLAIN, limit=10)


@pytest.mark.parametrize(
    "kept", [b"", b"\x00", zlib.compress(b"[1]"), zlib.compress(b"{"), zlib.compress(b"{}" * 9)[:9]]
)
def test_what_is_no_report_is_told(kept):
    with pytest.raises(ReportError):
        unpack(kept)


def test_numbers_of_a_report_of_a_later_version_keep_their_types():
    light = Light("h200", {"Width": 64}, (), "fp32", 1.0, 2.0)
    finding = Finding(Verdict.DATA_RACE, "Two threads write.", line=3)
    report = heavy(findings=(finding,), evidence=Evidence(light=(light,)))
    plain = to_json(report) | {"later": True}
    plain["evidence"]["light"][0]["gflops"] = 2
    found = read_report(plain, Verdict.DATA_RACE)
    assert found == report
    assert isinstance(found.findings[0].line, int)
    assert found.evidence is not None
    assert isinstance(found.evidence.light[0].gflops, float)


def test_the_launch_beside_a_number_is_the_one_that_the_number_is_of():
    ran, counted = (Launch((n, n, 1), (16, 16, 1), 0) for n in (5, 16))
    report = Report(Verdict.ACCEPTED, "", "tiled", "cpu", "sm_90", 16, launch=ran)
    assert columns_of(report)["launch"] == "5×5 · 16×16"
    of = Evidence(extent=Extent({"Width": 256}, 16, counted, 256, exact=True))
    assert columns_of(replace(report, evidence=of))["launch"] == "16×16 · 16×16"


def test_a_report_without_facts_gets_those_of_its_messages():
    plain = to_json(heavy(findings=(Finding(Verdict.DATA_RACE, RACE, 4, 3),)))
    facts = plain["findings"][0].pop("facts")
    assert facts == to_plain(Facts())
    (finding,) = read_report(plain, Verdict.DATA_RACE).findings
    assert [access.line for access in finding.facts.accesses] == [3, 4]
    plain["findings"][0]["facts"] = facts
    assert read_report(plain | {"later": True}, Verdict.DATA_RACE).findings[0].facts == Facts()
