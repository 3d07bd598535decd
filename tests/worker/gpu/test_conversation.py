"""A kernel on its whole way through a process of its own, with the real judge, on the CPU device."""

from __future__ import annotations

from kernels.verdict import CaseStatus, Verdict
from tests.marks import linux
from tests.worker.gpu.measuring import judge_wire, kernel, request_for
from worker.contract.measure_work import Prepare
from worker.gpu.spares import Runner

pytestmark = linux


def test_kernels_that_follow_each_other_in_one_process_are_each_judged():
    asked: list[list[int]] = [[], [], []]
    with Runner(None, Prepare(judge_wire(), "13.5")) as running:
        first, wrong, again = (
            running.measure(request_for(text, budget_seconds=0.1), asked[number].append, last=number == 2)
            for number, text in enumerate((kernel(), kernel(before="  if (Width > 2) sum += 1;\n"), kernel()))
        )
        assert running.isolation is not None
        assert running.isolation.missing() == ()
        assert not running.usable
    assert first.findings == ()
    assert {check.status for check in first.checks} == {CaseStatus.PASSED}
    assert first.measurement is not None
    assert first.measurement.environment.compiler == "13.5"
    assert first.measurement.repeats <= len(asked[0])
    assert wrong.measurement is None
    assert Verdict.WRONG_ANSWER in {finding.kind for finding in wrong.findings}
    assert again.measurement is not None
    assert 0 < wrong.busy_ms < first.busy_ms / 2
