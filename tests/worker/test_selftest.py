"""A worker that tests itself, and a broken one that is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.rendering.text_style import Style
from kernels.report import Report
from kernels.verdict import Verdict
from kernels.wire import from_plain
from tests.kernels.measured import H200, measured_report, measurement
from tests.marks import linux
from tests.worker.gpu.measuring import KEPT, judge_wire
from worker.sandbox.limits import Isolation, SandboxFailure
from worker.selftest.local_grader import LocalGrader
from worker.selftest.selftest import (
    EXERCISE,
    HOST_MEMORY,
    SelfTest,
    SelfTestKernel,
    Surroundings,
    run_selftest,
    selftest_kernels,
    to_json,
)
from worker.selftest.text import selftest_text

KERNELS, RULE = selftest_kernels()
CLOSED = Isolation(calls=True, landlock=6, network=True, limits=True)
OPEN = Isolation(calls=False, landlock=0, network=False, limits=False)


def around(isolation: Isolation = CLOSED, *, gpu: bool = False, host_memory: bool = False):
    environment = replace(H200, host_memory=host_memory) if gpu else None
    return lambda: Surroundings({"compile": isolation, "run": CLOSED}, environment)


def answers(
    changed: Callable[[SelfTestKernel], Verdict | None] = lambda _: None, times: float = 19.0
) -> Callable[[SelfTestKernel], Report]:
    """A judge that gives each kernel its verdict but where `changed` gives another."""

    def grade(kernel: SelfTestKernel) -> Report:
        verdict = changed(kernel) or kernel.verdict
        found = measurement(ms_median=times if kernel.name == RULE.slow else 1.0)
        return measured_report(verdict=verdict, measurement=found if verdict is Verdict.ACCEPTED else None)

    return grade


def only(name: str, verdict: Verdict) -> Callable[[SelfTestKernel], Verdict | None]:
    return lambda kernel: verdict if kernel.name == name else None


def test_each_kind_of_kernel_is_there_and_each_file_is_used():
    assert {kernel.verdict for kernel in KERNELS} >= {
        Verdict.ACCEPTED,
        Verdict.WRONG_ANSWER,
        Verdict.DATA_RACE,
        Verdict.TIME_LIMIT,
        Verdict.RUNTIME_ERROR,
        Verdict.OUT_OF_BOUNDS,
    }
    known = {kernel.name: kernel for kernel in KERNELS}
    assert known[RULE.fast].tile == known[RULE.slow].tile
    assert RULE.at_least >= 5
    assert all(kernel.tile in {None, *find_exercise(EXERCISE).tiles} for kernel in KERNELS)


def test_a_worker_that_answers_right_is_fit():
    result = run_selftest(answers(), around())
    assert result.ok
    assert not result.problems
    assert not result.warnings
    assert result.device == "cpu"
    assert [check.name for check in result.checks] == [kernel.name for kernel in KERNELS if not kernel.needs_gpu]


def test_with_a_gpu_there_is_more_to_show():
    result = run_selftest(answers(), around(gpu=True), gpu=True)
    assert result.ok, result.problems
    assert result.device == "NVIDIA H200"
    assert len(result.checks) == len(KERNELS) + 2
    assert result.checks[-1].found == "19.0 times"


def test_a_judge_that_accepts_everything_is_noticed():
    result = run_selftest(answers(lambda _: Verdict.ACCEPTED), around(gpu=True), gpu=True)
    assert not result.ok
    broken = [kernel for kernel in KERNELS if kernel.verdict is not Verdict.ACCEPTED]
    assert len(result.problems) == len(broken)
    for kernel, problem in zip(broken, result.problems, strict=True):
        assert kernel.name in problem
        assert "passes incorrect kernels" in problem


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_any_single_wrong_verdict_is_noticed(kernel):
    other = Verdict.INPUT_MODIFIED
    result = run_selftest(answers(only(kernel.name, other)), around(gpu=True), gpu=True)
    assert not result.ok
    (row,) = [check for check in result.checks if check.name == kernel.name]
    assert (row.expected, row.found, row.ok) == (kernel.verdict, other, False)
    assert any(kernel.name in problem for problem in result.problems)


def test_a_system_error_is_not_blamed_on_the_judge():
    result = run_selftest(answers(only("wrong", Verdict.SYSTEM_ERROR)), around())
    (problem,) = result.problems
    assert "a system error" in problem
    assert "docs/troubleshooting.md" in problem


def test_a_judge_that_raises_ends_no_test():
    def grade(_: SelfTestKernel) -> Report:
        raise RuntimeError("no compiler\nhere")

    result = run_selftest(grade, around(gpu=True), gpu=True)
    assert not result.ok
    assert {check.found for check in result.checks[: len(KERNELS)]} == {"RuntimeError: no compiler here"}
    assert all("RuntimeError" in problem or "speed" in problem for problem in result.problems)


@pytest.mark.parametrize(("times", "fit"), [(19.0, True), (5.0, True), (4.9, False), (1.0, False)])
def test_speeds_that_cannot_be_are_noticed(times, fit):
    result = run_selftest(answers(times=times), around(gpu=True), gpu=True)
    assert result.ok is fit
    assert result.checks[-1].ok is fit
    assert bool(result.problems) is not fit


def test_a_right_kernel_without_a_ranked_speed_is_noticed():
    def without(kernel: SelfTestKernel) -> Report:
        return replace(answers()(kernel), measurement=None)

    def unranked(kernel: SelfTestKernel) -> Report:
        found = measurement(ranked=False, remarks=("The clock moved.",))
        return replace(answers()(kernel), measurement=found)

    assert "got no speed" in " ".join(run_selftest(without, around(gpu=True), gpu=True).problems)
    assert "not ranked: The clock moved." in " ".join(run_selftest(unranked, around(gpu=True), gpu=True).problems)


def test_a_worker_with_missing_isolation_is_not_fit():
    result = run_selftest(answers(), around(OPEN))
    assert not result.ok
    assert any("can reach the network" in problem for problem in result.problems)
    assert all("--allow-missing-isolation" in problem for problem in result.problems)


def test_what_is_not_enforced_is_a_warning_where_the_operator_allows_it():
    result = run_selftest(answers(), around(OPEN), allow_gaps=True)
    assert result.ok
    assert all(warning.startswith("Step compile: ") for warning in result.warnings)
    assert any("network" in warning for warning in result.warnings)
    assert result.isolation[0].gaps
    assert not result.isolation[1].gaps


def test_memory_that_kernels_can_read_is_a_warning():
    assert not run_selftest(answers(), around(gpu=True), gpu=True).warnings
    result = run_selftest(answers(), around(gpu=True, host_memory=True), gpu=True)
    assert result.ok
    assert HOST_MEMORY in result.warnings[0]


def test_processes_that_do_not_start_make_it_unfit():
    def fail() -> Surroundings:
        raise SandboxFailure("start", "no memory")  # type: ignore[arg-type]

    result = run_selftest(answers(), fail)
    assert not result.ok
    assert "don't start (SandboxFailure: start: no memory)" in result.problems[0]


def test_the_outcome_comes_back_from_its_json():
    result = run_selftest(answers(only("wrong", Verdict.ACCEPTED)), around(OPEN, gpu=True), gpu=True)
    assert from_plain(SelfTest, json.loads(json.dumps(to_json(result)))) == result


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_text_fits_and_says_what_to_do(width):
    result = run_selftest(answers(only("racy", Verdict.ACCEPTED)), around(OPEN, gpu=True), gpu=True)
    told = selftest_text(result, Style(width=width))
    assert told.isascii()
    assert max(map(len, told.splitlines())) <= width
    assert told.count("FAILED") == 1
    flat = " ".join(told.split())
    assert "Self-test of this worker, with NVIDIA H200" in flat
    assert "Don't use this worker." in flat
    assert flat.endswith(f": 1 check of {len(KERNELS) + 2} failed.")
    assert "not filtered" in flat


def test_a_fit_worker_is_told_so():
    told = selftest_text(run_selftest(answers(), around()), Style())
    assert told.endswith("fit to grade.")
    assert "with the CPU device" in told


@linux
@pytest.mark.long("`tilelab up --demo` in tests/browser tests its worker by the same kernels")
def test_the_real_judge_is_fit_on_the_cpu_device(tmp_path, kept, monkeypatch):
    monkeypatch.setattr("worker.selftest.local_grader.SandboxedStages", lambda: nullcontext(kept.stages()))
    here = LocalGrader("sm_90", tmp_path)
    result = run_selftest(here.grade, here.surroundings)
    assert result.ok, result.problems
    assert [held.step for held in result.isolation] == ["compile", "run"]


@pytest.mark.long("the short suite has the kernels that need no GPU")
@linux
def test_what_needs_a_gpu_is_right_at_the_sizes_of_the_cpu_device(tmp_path):
    here = LocalGrader("sm_90", tmp_path)
    for kernel in KERNELS:
        if kernel.needs_gpu:
            assert here.grade(kernel).verdict is Verdict.ACCEPTED, kernel.name


@linux
def test_the_process_that_drives_a_device_tells_what_it_found():
    judge_wire()
    isolation: dict[str, Isolation] = {}
    environment = LocalGrader("sm_90", KEPT)._runner(isolation)
    assert environment.device_class == "cpu"
    assert set(isolation) == {"measure"}


@pytest.mark.gpu
def test_the_real_judge_is_fit_on_a_gpu(tmp_path):
    from worker.gpu.device_class import device_class
    from worker.gpu.nvml import gpus

    gpu = gpus()[0]
    here = LocalGrader(gpu.arch, tmp_path, gpu.index, device_class(gpu.name, gpu.memory_bytes))
    result = run_selftest(here.grade, here.surroundings, gpu=True)
    assert result.ok, result.problems
    assert {held.step for held in result.isolation} == {"compile", "run", "measure"}
