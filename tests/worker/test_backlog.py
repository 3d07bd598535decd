"""A backlog gives every submission exactly one end, in real sandboxed processes; only the GPU's are made up."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.compile.nvrtc import installed_version
from kernels.exercise import find_exercise
from kernels.verdict import Finding, Verdict
from tests.marks import linux
from tests.worker.gpu.measuring import judge_wire
from tests.worker.supplies import Supply, right
from worker.bench.backlog import Graded, _Stages, work_off
from worker.bench.throughput import throughput
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Prepare
from worker.gpu.spares import Spares
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.grading import Job
from worker.steps.stages import SandboxedStages

pytestmark = linux

TILED = find_exercise("tiled")
SOLUTION = TILED.solution.read_text("utf-8")
RACY = SOLUTION[: SOLUTION.rindex("__syncthreads();")] + SOLUTION[SOLUTION.rindex("__syncthreads();") + 16 :]


def job(tmp_path: Path, text: str, gpu: str = "h200") -> Job:
    return Job(text.encode(), TILED, "sm_90", "5eed" * 8, tmp_path, gpu=gpu)


def marked(number: int) -> str:
    return f"// submission {number}\n{SOLUTION}"


def test_every_submission_has_its_own_verdict_and_its_times(tmp_path):
    texts = [SOLUTION, RACY, "int main( {", SOLUTION.replace("MatrixMulKernel", "Other"), marked(4)]
    supply = Supply()
    told: list[Graded] = []
    done = work_off([job(tmp_path, text) for text in texts], [supply], workers=2, told=told.append)

    assert [each.number for each in done.graded] == [0, 1, 2, 3, 4]
    assert sorted(each.number for each in told) == [0, 1, 2, 3, 4]
    verdicts = [each.report.verdict for each in done.graded if each.report is not None]
    assert verdicts[:2] == [Verdict.ACCEPTED, Verdict.DATA_RACE]
    assert verdicts[4] is Verdict.ACCEPTED
    assert not {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR} & set(verdicts[1:4])
    assert len(supply.requests) == 2, "only kernels that passed reach the GPU"
    for each in done.graded:
        times = each.times
        reached = [
            times.begun,
            times.compiled,
            times.checked,
            times.measure_begun,
            times.measured,
            times.ended,
        ]
        known = [moment for moment in reached if moment is not None]
        assert known == sorted(known)
        assert (times.measured is not None) == (each.gpu == 0) == (each.number in {0, 4})


def test_a_runner_that_fails_costs_its_own_submission_only(tmp_path):
    calls = []

    def answer(asked: MeasureRequest) -> MeasureResponse:
        calls.append(asked)
        if len(calls) == 1:
            raise SandboxFailure(Failure.CRASH, "gone")
        if len(calls) == 2:
            raise ValueError("a mistake of ours")
        return right(asked)

    done = work_off([job(tmp_path, marked(n)) for n in range(3)], [Supply(answer)], workers=1)
    first, second, third = done.graded
    assert first.report is not None
    assert first.report.verdict is Verdict.SYSTEM_ERROR
    assert second.report is None
    assert "a mistake of ours" in second.error
    assert third.report is not None
    assert third.report.verdict is Verdict.ACCEPTED


def test_a_kernel_that_is_wrong_on_the_gpu_counts_for_the_gpus_time(tmp_path):
    def wrong(asked: MeasureRequest) -> MeasureResponse:
        digests = tuple(code.ptx_digest for code in asked.modules)
        return MeasureResponse((Finding(Verdict.WRONG_ANSWER, "no"),), (), ptx_digests=digests, busy_ms=30.0)

    done = work_off([job(tmp_path, SOLUTION)], [Supply(wrong)], workers=1)
    (only,) = done.graded
    assert only.report is not None
    assert only.report.verdict is Verdict.WRONG_ANSWER
    found = throughput(done)
    assert found.lanes[0].busy == pytest.approx(0.03 / done.seconds)
    assert found.verdicts == {"wrong_answer": 1}


def test_totals_are_those_of_the_parts(tmp_path):
    done = work_off([job(tmp_path, marked(n)) for n in range(3)], [Supply()], workers=2)
    found = throughput(done)
    assert found.submissions == 3
    assert found.per_minute == pytest.approx(180 / done.seconds)
    (lane,) = found.lanes
    assert lane.kernels == 3
    assert lane.busy + lane.handling + lane.waiting + lane.idle == pytest.approx(1.0, abs=0.02)
    assert set(found.cpu_seconds) == {"compile", "run", "other"}
    assert sum(found.cpu_seconds.values()) == pytest.approx(done.cpu_seconds)
    assert found.cpu_seconds["run"] > 0


def test_compiling_and_checking_leave_the_cores_to_what_drives_a_gpu(tmp_path, monkeypatch):
    found: set[int] = set()

    def compile_and_look(self, request):
        found.update(os.getpriority(os.PRIO_PROCESS, child._process.pid) for child in self._children)
        return SandboxedStages.compile(self, request)

    monkeypatch.setattr(_Stages, "compile", compile_and_look)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    work_off([job(tmp_path, SOLUTION)], [Supply()], workers=1)
    assert found == {max(before, 5)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_with_the_cpu_device_in_the_gpus_place_every_process_is_a_real_one(tmp_path):
    exercise = replace(TILED, ranking={"Width": 8})
    jobs = [replace(job(tmp_path, text), exercise=exercise) for text in (SOLUTION, RACY)]
    prepare = Prepare(judge_wire(), installed_version())
    with Spares(None, prepare, ahead=1) as spares:
        done = work_off(jobs, [spares], workers=2)
    right_one, racy = (each.report for each in done.graded)
    assert right_one is not None
    assert right_one.measurement is not None
    assert racy is not None
    assert racy.verdict is Verdict.DATA_RACE
    assert done.graded[0].busy_ms > 0
    found = throughput(done)
    assert found.lanes[0].kernels == 1
    assert found.lanes[0].busy > 0


def test_without_a_gpu_a_backlog_is_checked_only(tmp_path):
    done = work_off([job(tmp_path, SOLUTION, gpu="")], [], workers=1)
    assert [each.report.verdict for each in done.graded if each.report] == [Verdict.ACCEPTED]
    assert throughput(done).lanes == ()
