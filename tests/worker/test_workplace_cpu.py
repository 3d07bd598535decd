"""The check step as a slot does it: real sandboxed processes; what a machine can do to them ends in a fault."""

from __future__ import annotations

import errno
import logging
import os
import signal
import tempfile
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from kernels.compile.nvrtc import NVRTCUnavailable
from kernels.exercise.schema import JUDGE_VERSION
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from tests.worker.workplaces import (
    SEED,
    SMALL_TEXT,
    SOLUTION,
    WRONG,
    check_message,
    children,
    gone,
    left_open,
    measure_message,
    small,
    wait_until,
)
from worker.contract import messages
from worker.contract.messages import ExerciseText, PackedWork, StepResult
from worker.sandbox.limits import COMPILE_LIMITS, Failure
from worker.steps.cpu_check import FAILURES
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages
from worker.workplaces import cpu as workplace_cpu
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.workplace import ABORTED

_LONG = pytest.mark.long("the short suite has a killed process, a machine that stands still and an abort")

pytestmark = linux

WORKER = "a worker"
ENDLESS = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { while (Width) P[0] = M[0]; }"


@pytest.fixture
def place(tmp_path):
    before = children()
    found = CpuWorkplace(tmp_path)
    yield found
    found.close()
    assert children() <= before


def done(place: CpuWorkplace, text: str | bytes = SOLUTION, **changes: Any) -> StepResult:
    return place.do(check_message(text, **changes), WORKER, lambda _: None)


def same(report: Report) -> Report:
    return replace(report, seconds={})


def test_an_accepted_kernel_is_counted_and_left_to_a_gpu(place):
    told: list[str] = []
    place.prepare()
    result = place.do(check_message(), WORKER, told.append)

    assert (result.fault, result.worker, result.ticket) == ("", WORKER, check_message().ticket)
    assert result.report is None
    assert result.measure is not None
    work = left_open(result)
    assert work.report.verdict is result.measure.verdict is Verdict.ACCEPTED
    assert work.report.evidence.totals is not None
    assert set(work.report.seconds) == {"read", "compile", "check", "count"}
    assert result.seconds >= sum(work.report.seconds.values())
    assert work.digests == result.measure.digests == tuple(code.ptx_digest for code in work.request.modules)
    assert [what for what in told if " " not in what] == ["compiling", "checking", "counting"]
    sizes = [what for what in told if " " in what]
    assert sizes[0] == "checking 1 of 17: Width=1 integers_left"
    assert [what.partition(":")[0] for what in sizes] == [f"checking {n} of 17" for n in range(1, 18)]


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        pytest.param(SOLUTION, True, marks=pytest.mark.long("the short suite has one without evidence")),
        (SOLUTION, False),
        pytest.param(WRONG, True, marks=pytest.mark.long("the short suite has one that is accepted")),
    ],
)
def test_the_report_is_that_of_a_grade_with_the_same_seed(place, tmp_path, text, evidence):
    result = done(place, text, device_class="", evidence=evidence)
    with SandboxedStages() as processes:
        report = grade(Job(text.encode(), small(), "sm_90", SEED, tmp_path, evidence=evidence), processes)

    assert result.report is not None
    assert same(result.report) == same(report)
    assert set(result.report.seconds) == set(report.seconds)
    assert result.measure is None


def test_what_does_not_pass_is_left_to_nobody(place):
    for text in (WRONG, "int main( {", SOLUTION.replace("float Pvalue", "float Pvalue x"), b"\xff\0"):
        result = done(place, text)
        assert result.fault == "", text
        assert result.report is not None
        assert result.report.verdict not in {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR}, text
        assert result.measure is None


def test_what_the_cpu_device_does_not_know_is_left_to_a_gpu(place):
    text = SOLUTION.replace("{", '{ asm volatile("discard.global.L2 [%0], 128;" :: "l"(M));', 1)
    result = done(place, text)
    assert result.measure is not None
    assert left_open(result).report.verdict is result.measure.verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "not base64!"}, "not valid base64"),
        ({"arch": "sm_1"}, "'sm_1'"),
        ({"arch": "--help"}, "'--help'"),
        ({"tile": 5}, " tile 5"),
        ({"seed": "0x5"}, "hex digits"),
        ({"exercise": ExerciseText("tiled", SMALL_TEXT, "0" * 64)}, f"(here {JUDGE_VERSION})"),
        ({"exercise": ExerciseText("tiled", "x", "")}, "TOML"),
        ({"exercise": ExerciseText("tiled", f"a = {'[' * 100_000}", "")}, "deeply"),
    ],
)
def test_a_message_that_cannot_be_worked_on_is_a_fault_with_its_reason(place, changes, words):
    result = done(place, **changes)
    assert result.report is None
    assert words in result.fault
    assert "\n" not in result.fault


def test_a_step_of_another_kind_is_a_fault(place):
    work = PackedWork(Verdict.ACCEPTED, (), "")
    result = place.do(measure_message(work), WORKER, lambda _: None)
    assert "kind measure" in result.fault


def test_a_full_disk_is_a_fault_and_passes(place, monkeypatch):
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as at_times:
        at_times.setattr(tempfile, "mkdtemp", full)
        place.prepare()
        result = done(place)
        assert result.report is None
        assert f"{FAILURES[Failure.START]} ([Errno 28] " in result.fault
    assert done(place, evidence=False).fault == ""


def test_headers_that_cannot_be_kept_are_a_fault(tmp_path):
    (tmp_path / "file").write_text("")
    place = CpuWorkplace(tmp_path / "file")
    try:
        assert "cannot unpack" in done(place, "#include <cuda_fp16.h>\n" + SOLUTION).fault
    finally:
        place.close()


def test_a_compiler_that_is_missing_is_a_fault(place, monkeypatch):
    def missing(*_: object) -> None:
        raise NVRTCUnavailable("libnvrtc.so.13 was not found")

    monkeypatch.setattr(SandboxedStages, "compile", missing)
    result = done(place)
    assert result.report is None
    assert "libnvrtc.so.13 was not found" in result.fault


@pytest.mark.parametrize("step", ["compiling", "checking"])
def test_a_process_that_someone_kills_is_a_fault_and_says_nothing_against_the_source(place, step):
    def kill(what: str) -> None:
        if what == step:
            for child in place._at_work._children:
                os.kill(child._process.pid, signal.SIGKILL)

    result = place.do(check_message(), WORKER, kill)
    assert result.report is None
    assert "exit -9" in result.fault


def test_a_machine_that_stands_still_says_nothing_against_the_source(place, monkeypatch):
    monkeypatch.setattr("worker.steps.stages.COMPILE_LIMITS", replace(COMPILE_LIMITS, wall_seconds=0.5))

    def stop(what: str) -> None:
        if what == "compiling":
            for child in place._at_work._children:
                child.wait_ready()
                os.kill(child._process.pid, signal.SIGSTOP)

    result = place.do(check_message(), WORKER, stop)
    assert result.report is None
    assert "elapsed time exceeds its limit" in result.fault


@_LONG
def test_what_was_prepared_and_died_is_replaced(place):
    place.prepare()
    ahead = place._ahead
    os.kill(ahead._children[0]._process.pid, signal.SIGKILL)
    wait_until(lambda: not ahead.alive())
    place.prepare()
    assert place._ahead is not ahead
    os.kill(place._ahead._children[1]._process.pid, signal.SIGKILL)
    wait_until(lambda: not place._ahead.alive())
    assert done(place).fault == ""


@_LONG
def test_the_next_jobs_processes_are_started_while_one_is_at_work(place):
    done(place, evidence=False)
    assert place._ahead is not None
    assert place._ahead.alive()


def test_a_fault_in_our_own_code_is_told_in_a_line_and_logged_whole(place, monkeypatch, caplog):
    monkeypatch.setattr(workplace_cpu, "check_and_count", lambda *_: 1 // 0)
    result = done(place)
    assert result.report is None
    assert result.fault.startswith("Internal error in the worker: ZeroDivisionError")
    assert "Traceback" in caplog.text


def test_what_is_known_to_go_wrong_is_logged_in_a_line(place, caplog):
    caplog.set_level(logging.WARNING)
    result = done(place, arch="sm_1")
    assert f"check: {result.fault}" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "step", some_of(["compiling", "checking", "counting"], 3, str, "the short suite aborts one of the steps")
)
def test_an_abort_ends_the_processes_at_once(place, step):
    pids: list[int] = []
    ended: list[float] = []
    threads: list[threading.Thread] = []

    def end() -> None:
        time.sleep(0.1)
        ended.append(time.monotonic())
        place.abort()

    def told(what: str) -> None:
        if what == step:
            children = place._at_work._children
            pids.extend(child._process.pid for child in children)
            if step == "counting":  # over too soon for another thread
                place.abort()
                ended.append(time.monotonic())
            else:
                os.kill(children[step == "checking"]._process.pid, signal.SIGSTOP)
                threads.append(threading.Thread(target=end))
                threads[0].start()

    result = place.do(check_message(), WORKER, told)
    took = time.monotonic() - ended[0]
    for thread in threads:
        thread.join()

    assert (result.report, result.measure, result.fault) == (None, None, ABORTED)
    assert took < COMPILE_LIMITS.wall_seconds / 2
    assert pids
    assert all(map(gone, pids))
    assert done(place, evidence=False).fault == ""


@_LONG
def test_a_kernel_that_runs_long_is_aborted(place):
    timer = threading.Timer(0.05, place.abort)

    def told(what: str) -> None:
        if what == "checking":
            timer.start()

    result = place.do(check_message(ENDLESS), WORKER, told)
    timer.join()
    assert result.fault == ABORTED


@_LONG
def test_an_abort_of_nothing_changes_nothing(place):
    place.abort()
    place.prepare()
    place.abort()
    assert done(place, WRONG).fault == ""
    place.abort()
    assert done(place, WRONG).fault == ""


def test_a_kernel_that_is_too_large_to_be_sent_ends_with_a_finding(place, monkeypatch):
    whole = done(place, evidence=False).measure
    assert whole is not None
    monkeypatch.setattr(messages, "WORK_BYTES", len(whole.packed) - 1000)
    result = done(place, evidence=False)

    assert result.measure is None
    assert result.fault == ""
    assert result.report is not None
    assert result.report.verdict is Verdict.RESOURCE_LIMIT
    assert "too large to send to a GPU" in result.report.message
    assert messages.decode(StepResult, messages.encode(result)) == result
