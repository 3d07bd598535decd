"""Kernels that both devices accept follow each other in one GPU process; the processes are made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from tests.marks import linux
from tests.worker.supplies import GpuPlace, Runner, Supply, measured
from tests.worker.workplaces import measure_message, wait_until
from worker.contract.measure_work import NO_MEMORY, MeasureRequest, MeasureResponse
from worker.contract.messages import MeasureWork, StepResult, pack_work
from worker.sandbox.limits import Failure, SandboxFailure
from worker.workplaces import gpu as workplace_gpu
from worker.workplaces.workplace import ABORTED

pytestmark = linux

FINE = Report(Verdict.ACCEPTED, "fine", "tiled", "cpu", "sm_90", 16)
OPEN = replace(FINE, verdict=Verdict.UNSUPPORTED)
PLAN = make_plan(find_exercise("tiled"), None, 16, "5eed" * 8)
WRONG = Finding(Verdict.WRONG_ANSWER, "wrong")


def done(place: GpuPlace, report: Report = FINE) -> StepResult:
    work = MeasureWork(MeasureRequest(PLAN, (), None, (), "gflops"), report, (), compared=True)
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


def verdicts(place: GpuPlace, *reports: Report) -> list[Verdict | None]:
    results = [done(place, report) for report in reports]
    return [each.report.verdict if each.report is not None else None for each in results]


def test_accepted_kernels_share_a_process():
    supply = Supply(measured)
    place = GpuPlace(supply)
    assert verdicts(place, *[FINE] * 3) == [Verdict.ACCEPTED] * 3
    assert len(supply.runners) == 1
    place._drop()
    wait_until(lambda: supply.runners[0].closed_by)


def test_a_process_ends_after_a_kernel_that_the_cpu_device_could_not_judge():
    supply = Supply(measured)
    verdicts(GpuPlace(supply), FINE, OPEN, FINE)
    assert len(supply.runners) == 2


def test_a_process_whose_memory_a_kernel_can_reach_ends(monkeypatch):
    monkeypatch.setattr(Runner, "reaches_host", True)
    supply = Supply(measured)
    verdicts(GpuPlace(supply), FINE, FINE)
    assert len(supply.runners) == 2


def unranked(request: MeasureRequest) -> MeasureResponse:
    answer = measured(request)
    assert answer.measurement is not None
    return replace(answer, measurement=replace(answer.measurement, ranked=False))


def without_memory(request: MeasureRequest) -> MeasureResponse:
    return replace(measured(request), checks=(CaseCheck("Width=4096", CaseStatus.NOT_RUN, NO_MEMORY),))


def of_other_code(request: MeasureRequest) -> MeasureResponse:
    return replace(measured(request), ptx_digests=("other",))


@pytest.mark.parametrize("doubtful", [unranked, without_memory])
def test_a_process_ends_after_a_doubtful_measurement(doubtful):
    supply = Supply(doubtful)
    assert verdicts(GpuPlace(supply), FINE, FINE) == [Verdict.ACCEPTED] * 2
    assert len(supply.runners) == 2


def test_a_process_ends_after_its_last_work(monkeypatch):
    monkeypatch.setattr(workplace_gpu, "MOST_WORKS", 2)
    supply = Supply(measured)
    verdicts(GpuPlace(supply), *[FINE] * 5)
    assert len(supply.runners) == 3


@pytest.mark.parametrize("trouble", [wrong, crash, without_memory, of_other_code])
def test_what_a_used_process_does_not_measure_is_judged_again_in_a_new_one(trouble):
    supply = scripted(measured, trouble, measured, measured)
    assert verdicts(GpuPlace(supply), *[FINE] * 3) == [Verdict.ACCEPTED] * 3
    assert len(supply.runners) == 2


def test_a_wrong_kernel_is_wrong_in_a_new_process_too():
    supply = scripted(measured, wrong, wrong, measured)
    place = GpuPlace(supply)
    results = [done(place) for _ in range(3)]
    expected = [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.ACCEPTED]
    assert [each.report and each.report.verdict for each in results] == expected
    assert len(supply.runners) == 3
    once = results[0].busy_ms
    assert [each.busy_ms for each in results] == [once, 2 * once, once]


def test_a_used_process_that_died_is_replaced():
    supply = Supply(measured)
    place = GpuPlace(supply)
    verdicts(place, FINE)
    supply.runners[0].usable = False
    assert verdicts(place, FINE) == [Verdict.ACCEPTED]
    assert len(supply.runners) == 2


def test_an_aborted_or_lost_process_is_not_kept():
    aborts = Supply()
    place = GpuPlace(aborts)

    def abort(request: MeasureRequest) -> MeasureResponse:
        place.abort()
        return measured(request)

    aborts.answer = abort
    assert done(place).fault == ABORTED
    wait_until(lambda: aborts.runners[0].closed_by)

    lost = Supply(lambda request: replace(measured(request), lost=True))
    assert verdicts(GpuPlace(lost), FINE, FINE) == [Verdict.ACCEPTED] * 2
    assert len(lost.runners) == 2


def test_a_process_that_fails_at_once_is_a_fault():
    supply = scripted(crash, measured)
    place = GpuPlace(supply)
    place._drop = lambda: None  # type: ignore[method-assign]
    assert verdicts(place, FINE, FINE) == [None, Verdict.ACCEPTED]
