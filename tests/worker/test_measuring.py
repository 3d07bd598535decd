"""What a job asks of a GPU, and what the answer makes of its report: the real way, with the CPU device as the GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import Exercise, find_exercise
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from tests.marks import linux
from tests.worker.gpu.judge_here import compiled
from tests.worker.gpu.measuring import asking
from tests.worker.in_process import Here
from tests.worker.supplies import right
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.verification import Judge
from worker.gpu.measure_step import measure
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.gpu_measurement import OtherCode, judged, merged_checks
from worker.steps.grading import Job, grade

pytestmark = linux

PASSED, FAILED, NOT_RUN = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.NOT_RUN


class WithGPU(Here):
    """The measure step in this process, on the CPU device."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[MeasureRequest] = []

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        self.asked.append(request)
        backend = CpuBackend("")
        return measure(request, backend, Judge(backend, compiled()), asking())


class Hanging(Here):
    def measure(self, request: MeasureRequest) -> MeasureResponse:
        raise SandboxFailure(Failure.TIME)


@pytest.fixture(scope="module")
def small() -> Exercise:
    """The exercise, ranked at a size that this device can run."""
    return replace(find_exercise("tiled"), ranking={"Width": 72}, largest_on_cpu=70)


def graded(exercise: Exercise, text: str, stages: Here) -> Report:
    job = Job(text.encode(), exercise, "sm_90", "5eed", Path("/dev/null/cache"), gpu="cpu")
    return grade(job, stages)


@pytest.fixture(scope="module")
def accepted(small) -> tuple[Report, WithGPU]:
    """The solution's report, and what was asked for it."""
    stages = WithGPU()
    return graded(small, small.solution.read_text(), stages), stages


def test_an_accepted_kernel_is_measured(accepted):
    report, stages = accepted
    assert report.verdict is Verdict.ACCEPTED
    assert report.measurement is not None
    assert report.measurement.sizes == {"Width": 72}
    assert [speed.sizes["Width"] for speed in report.measurement.curve] == [9, 18, 36, 72, 144]
    assert report.measurement.ptx_digest == stages.asked[0].modules[0].ptx_digest
    assert report.measured_occupancy is not None
    assert all(check.status is PASSED for check in report.checks)


def test_an_exercise_may_leave_out_its_curve(small):
    asked: list[MeasureRequest] = []

    class Keeping(Here):
        def measure(self, request: MeasureRequest) -> MeasureResponse:
            asked.append(request)
            return right(request)

    graded(replace(small, curve=False), small.solution.read_text(), Keeping())
    assert asked[0].ranking is not None
    assert asked[0].curve == ()


@pytest.mark.long("the short suite has the same with a process, in tests/worker/test_workplace_gpu.py")
def test_what_does_not_hold_the_process_with_the_gpu_is_told_of(small):
    class Open(WithGPU):
        """Its GPU process was still starting when the check was over."""

        def isolation(self) -> tuple[str, ...]:
            return ("it can read files",) if self.asked else ()

    assert graded(small, small.solution.read_text(), Open()).isolation == ("it can read files",)


WRONG_WHEN_LARGE = "    if (Width > 70 && threadIdx.x == 3 && threadIdx.y == 0 && blockIdx.x == 0) P[0] = 7;\n"


def test_a_kernel_that_is_wrong_at_the_ranking_size_alone_is_found_on_the_gpu(small):
    text = small.solution.read_text().rstrip()
    report = graded(small, f"{text[:-1]}{WRONG_WHEN_LARGE}}}\n", WithGPU())
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.measurement is None
    assert "Width=72" in report.message
    assert report.environment is not None
    assert report.environment.device_class == "cpu"


def test_a_launch_that_does_not_fit_at_the_ranking_size_alone_is_no_way_to_be_accepted(small):
    text = f"//!tilelab shared=max(0,Width-70)*100000\n{small.solution.read_text()}"
    stages = WithGPU()
    report = graded(small, text, stages)
    assert report.verdict is Verdict.RESOURCE_LIMIT
    assert next(check for check in report.checks if "Width=72" in check.case).status is FAILED


@pytest.mark.one_in(2, "one that the tile doesn't divide; other tests have one that it does")
@pytest.mark.parametrize(("tile", "fits"), [(12, False), (16, True)])
def test_a_right_kernel_is_not_run_at_a_ranking_size_that_its_tile_does_not_divide(tile, fits):
    exercise = replace(find_exercise("tiled-square"), ranking={"Width": 64}, largest_on_cpu=60)
    report = graded(exercise, f"#define TILE_WIDTH {tile}\n{exercise.solution.read_text()}", WithGPU())
    assert report.verdict is Verdict.ACCEPTED
    assert (report.measurement is not None) == fits
    assert any("Width=64" in check.case for check in report.checks) == fits
    assert ["multiples of 12" in each.message for each in report.findings] == ([] if fits else [True])


def test_some_cases_alone_are_judged_and_not_ranked(small):
    stages = WithGPU()
    job = Job(small.solution.read_bytes(), small, "sm_90", "5eed", Path("/dev/null/cache"), case="Width=17", gpu="cpu")
    report = grade(job, stages)
    assert report.verdict is Verdict.ACCEPTED
    assert report.measurement is None
    assert [case.sizes for case in stages.asked[0].plan.cases] == [{"Width": 17}] * 2


def test_a_runner_that_had_to_be_stopped_is_a_time_limit(small):
    report = graded(small, small.solution.read_text(), Hanging())
    assert report.verdict is Verdict.TIME_LIMIT
    assert report.measurement is None


def test_other_code_than_was_checked_is_never_reported(accepted):
    report, _ = accepted
    with pytest.raises(OtherCode):
        judged(report, MeasureResponse((), (), ptx_digests=("0" * 64,)), ("1" * 64,), compared=True)


def test_a_job_that_measured_other_code_than_was_checked_ends_in_a_fault_of_our_own(small):
    class Other(Here):
        def measure(self, request: MeasureRequest) -> MeasureResponse:
            return MeasureResponse((), (), ptx_digests=("0" * 64,))

    report = graded(small, small.solution.read_text(), Other())
    assert report.verdict is Verdict.SYSTEM_ERROR
    assert report.measurement is None


def test_a_kernel_that_only_the_gpu_knows_says_what_nobody_checked(accepted):
    report, _ = accepted
    unknown = replace(report, verdict=Verdict.UNSUPPORTED, findings=(Finding(Verdict.UNSUPPORTED, "wmma", line=3),))
    answer = MeasureResponse((), report.checks, report.measurement, ptx_digests=("d",))
    after = judged(unknown, answer, ("d",), compared=True)
    assert after.verdict is Verdict.ACCEPTED
    assert any("races" in each for each in after.unmade_checks)
    assert after.measurement is not None
    assert not after.measurement.ranked
    assert any("races" in remark for remark in after.measurement.remarks)


def test_the_worse_of_two_devices_counts():
    cpu = (
        CaseCheck("a", PASSED),
        CaseCheck("b", FAILED, "race"),
        CaseCheck("c", NOT_RUN, "too large"),
        CaseCheck("e", NOT_RUN, "too large"),
        CaseCheck("f", PASSED),
    )
    gpu = (
        CaseCheck("a", FAILED, "wrong"),
        CaseCheck("b", PASSED),
        CaseCheck("c", PASSED),
        CaseCheck("d", FAILED),
        CaseCheck("e", NOT_RUN, "too little memory"),
        CaseCheck("f", NOT_RUN, "lost"),
    )
    assert merged_checks(cpu, gpu) == (
        CaseCheck("a", FAILED, "wrong"),
        CaseCheck("b", FAILED, "race"),
        CaseCheck("c", PASSED),
        CaseCheck("e", NOT_RUN, "too little memory"),
        CaseCheck("f", PASSED),
        CaseCheck("d", FAILED),
    )
