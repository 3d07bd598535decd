"""A backlog gives every submission one end, at the workplaces of slots; only the GPU's processes are made up."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from tests.marks import linux
from tests.worker.supplies import GpuPlace, Supply, right
from tests.worker.workplaces import SMALL_TEXT
from worker.bench import backlog
from worker.bench.backlog import Graded, Pool, Step, encoded, text_of, work_off
from worker.bench.place_process import CheckProcess, gpu_processes
from worker.bench.throughput import throughput
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.contract.messages import (
    CheckWork,
    ExerciseText,
    MeasureWork,
    StepKind,
    StepMessage,
    StepResult,
    Ticket,
    pack_work,
)
from worker.sandbox.limits import Failure, SandboxFailure
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.workplace import ABORTED, Progress, StepFault

pytestmark = linux

TILED = find_exercise("tiled")
FINE = Report(Verdict.ACCEPTED, "fine", "tiled", "cpu", "sm_90", 16)
SOLUTION = TILED.solution.read_text("utf-8")
RACY = SOLUTION[: SOLUTION.rindex("__syncthreads();")] + SOLUTION[SOLUTION.rindex("__syncthreads();") + 16 :]


def work(text: str = SOLUTION, gpu: str = "h200") -> CheckWork:
    return CheckWork(encoded(text.encode()), text_of(TILED), "sm_90", gpu, "5eed" * 8, evidence=False)


def marked(number: int) -> str:
    return f"// submission {number}\n{SOLUTION}"


def request() -> MeasureRequest:
    plan = make_plan(TILED, None, 16, "5eed" * 8)
    return MeasureRequest(plan, (), None, (), "gflops")


def left_to_a_gpu(number: int) -> StepResult:
    """What a check says of a kernel that passed."""
    passed = MeasureWork(request(), FINE, (), compared=True)
    return StepResult(Ticket(number, StepKind.CHECK, ""), "a slot", None, pack_work(passed))


class Passing(CpuWorkplace):
    """Whatever comes passes, at once."""

    used = 0.0

    def prepare(self) -> None:
        pass

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        return left_to_a_gpu(message.ticket.job)


@pytest.fixture
def passing(monkeypatch) -> None:
    monkeypatch.setattr(backlog, "CheckProcess", Passing)


def test_every_submission_has_its_own_verdict_and_its_times(tmp_path):
    texts = [SOLUTION, RACY, "int main( {", SOLUTION.replace("float* P,", "int* P,"), marked(4)]
    supply = Supply()
    told: list[Graded] = []
    done = work_off(list(map(work, texts)), tmp_path, [[GpuPlace(supply)]], slots=2, told=told.append)

    assert [each.number for each in done.graded] == [0, 1, 2, 3, 4]
    assert sorted(each.number for each in told) == [0, 1, 2, 3, 4]
    verdicts = [each.report.verdict for each in done.graded if each.report is not None]
    assert verdicts[:2] == [Verdict.ACCEPTED, Verdict.DATA_RACE]
    assert verdicts[4] is Verdict.ACCEPTED
    assert not {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR} & set(verdicts[1:4])
    assert len(supply.requests) == 2, "only kernels that passed reach the GPU"
    for each in done.graded:
        assert [step.gpu for step in each.steps] == ([None, 0] if each.number in {0, 4} else [None])
        moments = [
            moment for step in each.steps for moment in (step.begun, step.ready, step.ended) if moment is not None
        ]
        assert moments == sorted(moments)
        assert each.seconds == moments[-1] - moments[0]
        assert (each.steps[-1].ready is not None) == (each.number in {0, 4})


class Warm(Passing):
    """Counts how often a slot starts."""

    made = 0

    def __init__(self, cache: Path) -> None:
        super().__init__(cache)
        Warm.made += 1


def test_a_pool_grades_again_with_the_same_slots(tmp_path, monkeypatch):
    monkeypatch.setattr(backlog, "CheckProcess", Warm)
    monkeypatch.setattr(Warm, "made", 0)
    with Pool(tmp_path, [[GpuPlace(Supply())]], slots=2) as pool:
        for number in (3, 0, 2):
            graded = pool.grade(work() for _ in range(number))
            assert [each.verdict for each in graded] == [Verdict.ACCEPTED] * number
    assert Warm.made == 2


@pytest.mark.usefixtures("passing")
@pytest.mark.parametrize(
    ("failure", "verdict", "error"),
    [
        (SandboxFailure(Failure.START), Verdict.SYSTEM_ERROR, "did not start"),
        (SandboxFailure(Failure.CRASH, "gone"), Verdict.SYSTEM_ERROR, "gone"),
        (SandboxFailure(Failure.TIME), Verdict.TIME_LIMIT, ""),
        (ValueError("a mistake of ours"), Verdict.SYSTEM_ERROR, "a mistake of ours"),
    ],
)
def test_a_process_that_fails_costs_its_own_submission_only(tmp_path, failure, verdict, error):
    calls = []

    def answer(asked: MeasureRequest) -> MeasureResponse:
        calls.append(asked)
        if len(calls) == 1:
            raise failure
        return right(asked)

    done = work_off([work()] * 2, tmp_path, [[GpuPlace(Supply(answer))]], slots=1)
    first, second = sorted(done.graded, key=lambda each: each.verdict is Verdict.ACCEPTED)
    assert first.verdict is verdict
    assert (first.report is None) == bool(error)
    assert error in first.error
    assert first.busy_ms == 0.0
    assert second.report is not None
    assert second.verdict is Verdict.ACCEPTED


@pytest.mark.usefixtures("passing")
def test_where_no_process_starts_the_gpu_goes_on(tmp_path):
    class Empty(Supply):
        def take(self):
            runner = super().take()
            if len(self.runners) == 1:
                raise SandboxFailure(Failure.START, "no memory")
            return runner

    done = work_off([work()] * 2, tmp_path, [[GpuPlace(Empty())]], slots=1)
    (failed,) = (each for each in done.graded if each.report is None)
    assert "no memory" in failed.error
    assert failed.steps[-1].ready is None
    assert sum(each.report is not None for each in done.graded) == 1


@pytest.mark.usefixtures("passing")
def test_a_workplace_that_breaks_its_promise_costs_one_submission_only(tmp_path):
    class Broken(GpuPlace):
        def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
            if message.ticket.job == 0:
                raise KeyError("broken")
            return super().do(message, worker, progress)

    done = work_off([work()] * 2, tmp_path, [[Broken(Supply())]])
    assert [each.verdict for each in done.graded] == [Verdict.SYSTEM_ERROR, Verdict.ACCEPTED]
    assert "broken" in done.graded[0].error


def test_of_those_that_wait_for_a_gpu_the_first_to_come_goes_first(tmp_path):
    pool = Pool(tmp_path, (), slots=1)
    for number in (3, 1, 4, 0, 2):
        pool._ended.put(Step(left_to_a_gpu(number), None, 0.0, None, 1.0))
    for number in (2, 4, 0, 1, 3):
        pool._ended.put(Step(replace(left_to_a_gpu(number), report=FINE, measure=None), 0, 2.0, 2.0, 3.0))
    graded = pool._collected(5, lambda _: None)
    waiting = pool._steps[StepKind.MEASURE]
    assert [waiting.get()[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert [each.number for each in graded] == [0, 1, 2, 3, 4]
    assert {len(each.steps) for each in graded} == {2}


@pytest.mark.usefixtures("passing")
def test_a_device_that_was_lost_is_given_back_before_the_next_kernel(tmp_path):
    lost = Supply(lambda asked: MeasureResponse((), (), lost=True))
    before: list[bool] = []

    class Noting(GpuPlace):
        def _take(self):
            taken = super()._take()
            before.append(all(runner.closed_by for runner in lost.runners[:-1]))
            return taken

    work_off([work()] * 3, tmp_path, [[Noting(lost)]])
    assert before == [True] * 3


@pytest.mark.usefixtures("passing")
def test_ending_a_process_that_did_its_work_holds_nobody_up(tmp_path):
    supply = Supply()
    place = GpuPlace(supply)
    work_off([work()], tmp_path, [[place]])
    place.close()
    assert supply.runners[0].closed_by == ["closer"]


@pytest.mark.usefixtures("passing")
def test_two_gpus_share_the_work(tmp_path):
    both = threading.Barrier(2, timeout=10)

    def together(asked: MeasureRequest) -> MeasureResponse:
        both.wait()
        return right(asked)

    done = work_off([work()] * 2, tmp_path, [[GpuPlace(Supply(together))], [GpuPlace(Supply(together))]])
    assert {each.steps[-1].gpu for each in done.graded} == {0, 1}
    assert [each.verdict for each in done.graded] == [Verdict.ACCEPTED] * 2


class Ordered(Passing):
    """Says when the third check begins: the second one's result is in the queue then."""

    third = threading.Event()

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        if message.ticket.job == 2:
            self.third.set()
        return super().do(message, worker, progress)


class Busy(GpuPlace):
    """The first measurement ends after two checks, and the second lasts until it is aborted."""

    def __init__(self, supply: Supply) -> None:
        super().__init__(supply)
        self.begun, self._over = threading.Event(), threading.Event()

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        if message.ticket.job == 0:
            Ordered.third.wait()
            return super().do(message, worker, progress)
        self.begun.set()
        self._over.wait()
        raise StepFault(ABORTED)

    def abort(self) -> None:
        self._over.set()


@pytest.mark.usefixtures("passing")
def test_an_end_from_outside_ends_every_slot(tmp_path):
    def interrupt(_: Graded) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_off([work()] * 20, tmp_path, [[GpuPlace(Supply())]], slots=2, told=interrupt)
    assert not any(isinstance(thread, backlog._Slot) for thread in threading.enumerate())


def test_an_end_from_outside_logs_no_aborted_step(tmp_path, caplog, monkeypatch):
    def interrupt(_: Graded) -> None:
        busy.begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(backlog, "CheckProcess", Ordered)
    busy = Busy(Supply())
    with pytest.raises(KeyboardInterrupt):
        work_off([work()] * 3, tmp_path, [[busy]], slots=1, told=interrupt)
    assert busy.begun.is_set()
    assert not caplog.records


def test_kernels_to_be_measured_need_a_gpu(tmp_path):
    with pytest.raises(ValueError, match="no GPU"):
        work_off([work()], tmp_path)
    with Pool(tmp_path, (), slots=1) as pool, pytest.raises(ValueError, match="no GPU"):
        pool.grade([work()])


@pytest.mark.long("the short suite has each submission's steps and their times")
def test_a_kernel_that_is_wrong_on_the_gpu_counts_for_the_gpus_time(tmp_path):
    def wrong(asked: MeasureRequest) -> MeasureResponse:
        digests = tuple(code.ptx_digest for code in asked.modules)
        return MeasureResponse((Finding(Verdict.WRONG_ANSWER, "no"),), (), ptx_digests=digests, busy_ms=30.0)

    done = work_off([work()], tmp_path, [[GpuPlace(Supply(wrong))]], slots=1)
    (only,) = done.graded
    assert only.report is not None
    assert only.report.verdict is Verdict.WRONG_ANSWER
    found = throughput(done)
    assert found.lanes[0].busy == pytest.approx(0.03 / done.seconds)
    assert found.verdicts == {"wrong_answer": 1}


@pytest.mark.long("the short suite has sums of parts in tests/worker/test_throughput.py")
def test_totals_are_those_of_the_parts(tmp_path):
    done = work_off([work(marked(n)) for n in range(3)], tmp_path, [[GpuPlace(Supply())]], slots=2)
    found = throughput(done)
    assert found.submissions == 3
    assert found.per_minute == pytest.approx(180 / done.seconds)
    (lane,) = found.lanes
    assert lane.kernels == 3
    assert lane.busy + lane.handling + lane.waiting + lane.idle == pytest.approx(1.0, abs=0.02)
    assert set(found.cpu_seconds) == {"compile", "run", "other"}
    assert sum(found.cpu_seconds.values()) == pytest.approx(done.cpu_seconds)
    assert found.cpu_seconds["run"] > 0


def test_a_process_of_checks_that_dies_is_replaced(tmp_path):
    message = StepMessage(Ticket(0, StepKind.CHECK, ""), 1, 0.0, check=work("__global__ void f() {}", gpu=""))
    place = CheckProcess(tmp_path)
    place.prepare()
    assert place._process is not None
    os.kill(place._process.pid, signal.SIGKILL)
    place._process.wait()
    place.prepare()
    assert place.do(message, "a slot", lambda _: None).fault == ""
    place.close()
    assert place._process.returncode == 0


def test_compiling_and_checking_leave_the_cores_to_what_drives_a_gpu(tmp_path, monkeypatch):
    found: set[int] = set()

    real: Callable[..., StepResult] = CheckProcess.do

    def check_and_look(self, message, worker, progress):
        self.prepare()
        found.add(os.getpriority(os.PRIO_PROCESS, self._process.pid))
        return real(self, message, worker, progress)

    monkeypatch.setattr(CheckProcess, "do", check_and_look)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    work_off([work()], tmp_path, [[GpuPlace(Supply())]], slots=1)
    assert found == {max(before, 5)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def sandboxes() -> set[Path]:
    """The folders of sandboxed processes."""
    return set(Path(tempfile.gettempdir()).glob("tilelab-sandbox-*"))


@pytest.mark.long("the short suite has it with one submission, in tests/worker/test_workplace_gpu.py")
def test_with_the_cpu_device_in_the_gpus_place_every_process_is_a_real_one(tmp_path):
    text = SMALL_TEXT.replace("Width = 72", "Width = 8")
    works = [replace(work(source), exercise=ExerciseText("tiled", text, "")) for source in (SOLUTION, RACY)]
    before = sandboxes()
    with gpu_processes(None, "h200", "sm_90", tmp_path) as places:
        for place in places:
            place.warm()
        done = work_off(works, tmp_path, [places], slots=2)
    assert [place._process and place._process.returncode for place in places] == [0] * len(places)
    assert sandboxes() <= before
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
    done = work_off([work(gpu="")], tmp_path, slots=1)
    assert [each.report.verdict for each in done.graded if each.report] == [Verdict.ACCEPTED]
    assert throughput(done).lanes == ()
