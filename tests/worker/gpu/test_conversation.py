"""A kernel on its whole way through a process of its own, with the real judge, on the CPU device."""

from __future__ import annotations

from kernels.verdict import CaseStatus, Verdict
from tests.marks import linux
from tests.worker.gpu.measuring import judge_wire, kernel, request_for
from worker.contract.measure_work import MeasureResponse, Prepare
from worker.gpu.spares import Runner

pytestmark = linux


def measured(text: str) -> tuple[MeasureResponse, list[int]]:
    """What a runner says of a kernel, and how often it asked."""
    asked: list[int] = []
    with Runner(None, Prepare(judge_wire(), "13.5")) as running:
        answer = running.measure(request_for(text, budget_seconds=0.2), asked.append)
        assert running.isolation is not None
        assert running.isolation.missing() == ()
    return answer, asked


def test_a_right_kernel_is_measured_behind_the_lock():
    answer, asked = measured(kernel())

    assert answer.findings == ()
    assert {check.status for check in answer.checks} == {CaseStatus.PASSED}
    assert answer.measurement is not None
    assert answer.measurement.environment.compiler == "13.5"
    assert answer.measurement.repeats <= len(asked)


def test_kernels_that_follow_each_other_in_one_process_are_each_judged():
    with Runner(None, Prepare(judge_wire(), "13.5")) as running:
        first, wrong, again = (
            running.measure(request_for(text, budget_seconds=0.1), last=number == 2)
            for number, text in enumerate((kernel(), kernel(before="  if (Width > 2) sum += 1;\n"), kernel()))
        )
        assert not running.usable
    assert first.measurement is not None
    assert wrong.measurement is None
    assert again.measurement is not None
    assert 0 < wrong.busy_ms < first.busy_ms / 2


def test_a_wrong_kernel_is_found_out_there():
    answer, _ = measured(kernel(before="  if (Width > 2) sum += 1;\n"))

    assert answer.measurement is None
    assert Verdict.WRONG_ANSWER in {finding.kind for finding in answer.findings}
