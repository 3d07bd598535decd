"""The measure step as a slot does it: the CPU device stands in for the GPU, or a probe for the judge in it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.exercise import read_exercise
from kernels.measurement import Measurement
from kernels.report import Report, to_json
from kernels.verdict import Finding, Verdict
from tests.marks import linux
from tests.worker.gpu import runners
from tests.worker.gpu.measuring import KEPT, judge_wire
from tests.worker.workplaces import (
    SEED,
    SMALL_TEXT,
    SOLUTION,
    check_message,
    children,
    gone,
    left_open,
    measure_message,
    wait_until,
)
from worker.contract.messages import ExerciseText, StepMessage, StepResult, decode, encode, pack_work
from worker.gpu import nvml
from worker.gpu.locks import SlotLock
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.cpu_check import FAILURES
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages
from worker.workplaces import gpu as workplace_gpu
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.gpu import GpuWorkplace
from worker.workplaces.workplace import ABORTED

_LONG = pytest.mark.long("the short suite has a hang, faults and an abort")

pytestmark = linux

WORKER = "a worker"
CLASS = "stand-in"
ARCH = "sm_90"
HANGS = ("sleep", 60)
NOTHING: tuple[object, ...] = ("each", [])


@pytest.fixture(scope="module")
def cache() -> Path:
    """With the judge's kernels in it."""
    judge_wire()
    return KEPT


@pytest.fixture(scope="module")
def checked(cache) -> StepResult:
    """What the check step says of the solution."""
    place = CpuWorkplace(cache)
    try:
        return place.do(check_message(), WORKER, lambda _: None)
    finally:
        place.close()


@pytest.fixture
def place(cache, monkeypatch) -> Iterator[GpuWorkplace]:
    monkeypatch.setattr(workplace_gpu, "_AHEAD_WITHOUT_GPU", 1)  # each takes seconds to warm up
    before = children()
    found = GpuWorkplace(None, CLASS, ARCH, cache)
    yield found
    found.close()
    found.close()
    assert children() <= before


@pytest.fixture
def probe(monkeypatch) -> None:
    """In the judge's place, in every runner."""
    runners.put_before(monkeypatch, runners.PROBE)


def probing(checked: StepResult, *order: object, digests: tuple[str, ...] = (), **changes: Any) -> StepMessage:
    """A step that makes the probe do something, after a check whose report is changed so."""
    work = left_open(checked)
    report = replace(work.report, **changes)
    request = runners.request(str(order[0]), *order[1:])
    return measure_message(pack_work(replace(work, report=report, request=request, digests=digests)))


@pytest.mark.parametrize(("gib", "processes"), [(8, 1), (31, 1), (32, 3), (140, 3), (None, 1)])
def test_a_large_gpu_has_more_processes_ready(monkeypatch, gib, processes):
    def gpu(index: int) -> nvml.GpuFacts:
        if gib is None:
            raise nvml.NoGPU("no driver")
        return nvml.GpuFacts(index, "a card", gib * 2**30, "9.0", "", "", 0)

    monkeypatch.setattr(workplace_gpu, "gpu", gpu)
    assert workplace_gpu.ahead(0) == processes


def done(place: GpuWorkplace, message: StepMessage) -> StepResult:
    return place.do(message, WORKER, lambda _: None)


def comparable(report: Report) -> object:
    """All but what depends on how fast this machine is: seconds, and how often something was repeated in its time."""
    plain = to_json(replace(report, seconds={}))
    measured = plain["measurement"]
    for part in (measured, *measured["curve"]):
        part["repeats"] = part["busy_ms"] = 0
        part["settled"] = False
    return plain


@pytest.mark.long("the short suite measures behind the lock in tests/worker/gpu/test_conversation.py")
def test_check_and_measure_give_the_report_of_a_grade(place, cache):
    told: list[str] = []
    text = SMALL_TEXT.replace("Width = 72", "Width = 24")  # the largest of its curve is what takes long
    exercise = read_exercise("tiled", text)
    with closing(CpuWorkplace(cache)) as checks:
        message = check_message(exercise=ExerciseText("tiled", text, exercise.digest))
        passed = decode(StepResult, encode(checks.do(message, WORKER, lambda _: None))).measure
    assert passed is not None
    sent = decode(StepMessage, encode(measure_message(passed)))
    place.prepare()
    result = place.do(sent, WORKER, told.append)
    job = Job(SOLUTION.encode(), exercise, ARCH, SEED, cache, evidence=True, gpu=CLASS)
    with SandboxedStages() as stages:
        stages.open_gpu(None, ARCH, cache)
        report = grade(job, stages)

    assert (result.fault, result.ticket, result.measure) == ("", sent.ticket, None)
    assert result.report is not None
    assert isinstance(result.report.measurement, Measurement)
    assert result.report.device == CLASS
    assert comparable(result.report) == comparable(report)
    assert set(result.report.seconds) == set(report.seconds)
    assert result.busy_ms > 0
    assert told == ["measuring", *(f"measuring {n}" for n in range(1, len(told)))]
    assert len(told) > 2
    assert decode(StepResult, encode(result)) == result


def test_a_kernel_that_hangs_is_at_its_time_limit_and_the_next_is_measured(cache, checked, probe):
    place = GpuWorkplace(None, CLASS, ARCH, cache, wall_seconds=0.5)
    try:
        result = done(place, probing(checked, *HANGS))
        assert result.fault == ""
        assert result.report is not None
        assert result.report.verdict is Verdict.TIME_LIMIT
        assert result.report.explanation is not None
        assert result.report.environment is None
        assert done(place, probing(checked, *NOTHING)).report is not None
    finally:
        place.close()


@pytest.mark.one_in(2, "one of two failures")
@pytest.mark.parametrize(
    ("order", "words"),
    [
        (("fail",), "ZeroDivisionError"),
        pytest.param(("crash",), FAILURES[Failure.CRASH], marks=_LONG),
        (("numbers", 1), "differs from the checked kernel"),
    ],
)
def test_a_process_that_fails_is_a_fault_and_the_next_is_measured(place, checked, probe, order, words):
    result = done(place, probing(checked, *order))
    assert result.report is None
    assert words in result.fault
    assert "\n" not in result.fault
    assert done(place, probing(checked, *NOTHING)).fault == ""


def test_a_gpu_that_does_not_start_is_a_fault_until_it_does(place, checked, monkeypatch, probe):
    with monkeypatch.context() as at_times:
        broken = "from worker.gpu import runner; runner.load = lambda *_: lambda *_: 1 // 0; "
        runners.put_before(at_times, runners.PROBE + broken)
        place.prepare()
        result = done(place, probing(checked, *NOTHING))
        assert result.report is None
        assert FAILURES[Failure.START] in result.fault
        assert "ZeroDivisionError" in result.fault
    assert done(place, probing(checked, *NOTHING)).fault == ""


@_LONG
def test_judge_kernels_that_cannot_be_made_are_a_fault_and_no_crash(place, checked, monkeypatch, caplog):
    def fail(*_: object) -> None:
        raise SandboxFailure(Failure.START, "no room")

    monkeypatch.setattr(workplace_gpu, "preparation", fail)
    place.prepare()
    assert "cannot prepare the next measurement: start: no room" in caplog.text
    assert "no room" in done(place, probing(checked, *NOTHING)).fault


@_LONG
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": Verdict.DATA_RACE}, "the check ended with data_race"),
        (
            {"verdict": Verdict.UNSUPPORTED, "findings": (Finding(Verdict.DATA_RACE, "a race"),)},
            "the check ended with unsupported",
        ),
        ({"arch": "sm_120"}, "compiled for sm_120, but this slot's GPU needs sm_90"),
    ],
)
def test_what_is_not_to_be_measured_here_is_a_fault(place, checked, changes, words):
    message = probing(checked, *NOTHING, **changes)
    assert words in done(place, message).fault


@pytest.mark.long("the short suite measures other code the same way")
def test_code_for_this_capability_alone_is_measured(place, checked, probe):
    assert done(place, probing(checked, *NOTHING, arch="sm_90a")).report is not None


def test_a_step_of_another_kind_is_a_fault(place):
    assert "kind check" in done(place, check_message()).fault


def test_what_does_not_hold_the_process_with_the_gpu_is_told_beside_the_rest(place, checked, probe, monkeypatch):
    monkeypatch.setattr("worker.sandbox.limits.DeviceIsolation.missing", lambda _: ("it reads files", "a gap"))
    message = probing(checked, *NOTHING, isolation=("a gap",))
    report = done(place, message).report
    assert report is not None
    assert report.isolation == ("a gap", "it reads files")


def test_an_abort_ends_a_measurement_at_once(place, checked, probe):
    ended: list[float] = []
    pids: list[int] = []

    def end() -> None:
        time.sleep(0.2)
        pids.append(place._at_work._child._process.pid)
        ended.append(time.monotonic())
        place.abort()

    thread = threading.Thread(target=end)
    result = place.do(probing(checked, *HANGS), WORKER, lambda _: thread.start())
    took = time.monotonic() - ended[0]
    thread.join()

    assert (result.report, result.fault) == (None, ABORTED)
    assert took < 30, "a kernel that hangs does so for a minute"
    assert done(place, probing(checked, *NOTHING)).fault == ""
    assert all(map(gone, pids))


def test_the_wait_for_another_slot_does_not_count_for_a_kernels_limit(cache, checked, probe, tmp_path):
    place = GpuWorkplace(None, CLASS, ARCH, cache, wall_seconds=0.5, shared=tmp_path / "gpu")
    with closing(place), ThreadPoolExecutor() as pool, SlotLock(tmp_path / "gpu") as lock:
        place.warm()
        assert lock.take(lambda: True)
        began = time.monotonic()
        waiting = pool.submit(done, place, probing(checked, *NOTHING))
        with pytest.raises(TimeoutError):
            waiting.result(1.0)
        lock.release()
        result = waiting.result(30)
        assert result.fault == ""
        assert result.report is not None
        assert result.seconds < time.monotonic() - began - 0.3

        with SlotLock(tmp_path / "gpu") as other:
            assert other.take(lambda: True)
            waiting = pool.submit(done, place, probing(checked, *NOTHING))
            wait_until(lambda: place._at_work is not None)
            place.abort()
            assert waiting.result(30).fault == ABORTED
        assert done(place, probing(checked, *NOTHING)).fault == ""


@_LONG
def test_an_abort_before_the_process_is_there_costs_no_process(place, checked, probe, monkeypatch):
    start = GpuWorkplace._start

    def started(self: GpuWorkplace) -> object:
        self.abort()
        return start(self)

    with monkeypatch.context() as at_times:
        at_times.setattr(GpuWorkplace, "_start", started)
        assert done(place, probing(checked, *NOTHING)).fault == ABORTED
    kept = place._kept
    assert kept.usable
    assert done(place, probing(checked, *NOTHING)).fault == ""
    wait_until(lambda: kept.closed)


@_LONG
def test_one_that_was_kept_and_died_is_replaced(place, checked, probe):
    place._kept = place._start().take()
    os.kill(place._kept._child._process.pid, signal.SIGKILL)
    wait_until(lambda: not place._kept.usable)
    assert done(place, probing(checked, *NOTHING)).fault == ""


@pytest.mark.long("the short suite aborts a measurement")
def test_an_abort_of_nothing_changes_nothing(place, checked, probe):
    place.abort()
    assert done(place, probing(checked, *NOTHING)).fault == ""
    place.abort()
    assert done(place, probing(checked, *NOTHING)).fault == ""


@_LONG
def test_nothing_is_left_of_a_workplace_that_is_closed_at_work(cache, checked, probe):
    before = children()
    place = GpuWorkplace(None, CLASS, ARCH, cache)
    done(place, probing(checked, *NOTHING))
    place.prepare()
    place.close()
    assert children() <= before


@pytest.mark.parametrize("work", ["", "####", encode(check_message())])
def test_work_that_cannot_be_read_is_a_fault(place, checked, work):
    message = replace(probing(checked, *NOTHING), measure=work)
    assert "the measure work" in done(place, message).fault
