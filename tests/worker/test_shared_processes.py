"""Works of one kernel of an experiment follow each other in one GPU process; the processes are made up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from tests.marks import linux
from tests.worker.supplies import GpuPlace, Supply, measured
from tests.worker.workplaces import measure_message, wait_until
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.contract.messages import MeasureWork, StepResult, pack_work
from worker.sandbox.limits import Failure, SandboxFailure
from worker.workplaces import gpu as workplace_gpu
from worker.workplaces.workplace import ABORTED

pytestmark = linux

FINE = Report(Verdict.ACCEPTED, "fine", "tiled", "cpu", "sm_90", 16)
PLAN = make_plan(find_exercise("tiled"), None, 16, "5eed" * 8)
WRONG = Finding(Verdict.WRONG_ANSWER, "wrong")


def done(place: GpuPlace, kernel: str) -> StepResult:
    work = MeasureWork(MeasureRequest(PLAN, (), None, (), "gflops"), FINE, (), compared=True, kernel=kernel)
    return place.do(measure_message(pack_work(work)), "a worker", lambda _: None)


def scripted(*answers: Callable[[MeasureRequest], MeasureResponse]) -> Supply:
    left = iter(answers)

    def answer(request: MeasureRequest) -> MeasureResponse:
        return next(left)(request)

    return Supply(answer)


def wrong(request: MeasureRequest) -> MeasureResponse:
    return replace(measured(request), findings=(WRONG,), measurement=None)


def crash(_: MeasureRequest) -> MeasureResponse:
    raise SandboxFailure(Failure.CRASH, "it died")


def verdicts(place: GpuPlace, *kernels: str) -> list[Verdict | None]:
    results = [done(place, kernel) for kernel in kernels]
    return [each.report.verdict if each.report is not None else None for each in results]


@pytest.mark.parametrize(
    ("kernels", "processes"),
    [
        (["1/a.cu", "1/a.cu", "1/a.cu"], 1),
        (["1/a.cu", "1/b.cu", "1/a.cu"], 3),
        (["1/a.cu", "2/a.cu"], 2),
        (["", ""], 2),
        (["1/a.cu", "", "1/a.cu"], 3),
    ],
)
def test_only_works_of_the_same_kernel_share_a_process(kernels, processes):
    supply = Supply(measured)
    place = GpuPlace(supply)
    assert verdicts(place, *kernels) == [Verdict.ACCEPTED] * len(kernels)
    assert len(supply.runners) == processes
    place._drop()
    wait_until(lambda: all(runner.closed_by for runner in supply.runners))


def test_a_process_ends_after_its_last_work(monkeypatch):
    monkeypatch.setattr(workplace_gpu, "MOST_WORKS", 2)
    supply = Supply(measured)
    verdicts(GpuPlace(supply), *["1/a.cu"] * 5)
    assert len(supply.runners) == 3


@pytest.mark.parametrize("trouble", [wrong, crash])
def test_what_a_used_process_does_not_measure_is_judged_again_in_a_new_one(trouble):
    supply = scripted(measured, trouble, measured, measured)
    assert verdicts(GpuPlace(supply), *["1/a.cu"] * 3) == [Verdict.ACCEPTED] * 3
    assert len(supply.runners) == 2


def test_a_wrong_kernel_is_wrong_in_a_new_process_too():
    supply = scripted(measured, wrong, wrong, measured)
    place = GpuPlace(supply)
    assert verdicts(place, *["1/a.cu"] * 3) == [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.ACCEPTED]
    assert len(supply.runners) == 3


def test_a_used_process_that_died_is_replaced():
    supply = Supply(measured)
    place = GpuPlace(supply)
    verdicts(place, "1/a.cu")
    supply.runners[0].usable = False
    assert verdicts(place, "1/a.cu") == [Verdict.ACCEPTED]
    assert len(supply.runners) == 2


def test_an_aborted_or_lost_process_is_not_kept():
    aborts = Supply()
    place = GpuPlace(aborts)

    def abort(request: MeasureRequest) -> MeasureResponse:
        place.abort()
        return measured(request)

    aborts.answer = abort
    assert done(place, "1/a.cu").fault == ABORTED
    wait_until(lambda: aborts.runners[0].closed_by)

    lost = Supply(lambda request: replace(measured(request), lost=True))
    assert verdicts(GpuPlace(lost), "1/a.cu", "1/a.cu") == [Verdict.ACCEPTED] * 2
    assert len(lost.runners) == 2


def test_matrices_in_module_variables_need_a_process_each(monkeypatch):
    supply = Supply(measured)
    case = PLAN.cases[0]
    named = replace(case, matrices=tuple(replace(each, symbol="M") for each in case.matrices))
    monkeypatch.setattr(sys.modules[__name__], "PLAN", replace(PLAN, cases=(named,)))
    verdicts(GpuPlace(supply), "1/a.cu", "1/a.cu")
    assert len(supply.runners) == 2


def test_a_process_that_fails_at_once_is_a_fault():
    supply = scripted(crash, measured)
    place = GpuPlace(supply)
    place._drop = lambda: None  # type: ignore[method-assign]
    assert verdicts(place, "1/a.cu", "1/a.cu") == [None, Verdict.ACCEPTED]
