"""Processes with a device, from the parent's side: conversation, limits, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.marks import linux
from tests.worker.gpu import runners
from tests.worker.gpu.runners import gone, request
from worker.gpu import spares
from worker.gpu.locks import SlotLock
from worker.gpu.spares import Runner, Spares
from worker.sandbox import process
from worker.sandbox.limits import Failure, SandboxFailure

pytestmark = linux

_LONG = pytest.mark.long("the short suite has another crash and other floods")


@pytest.fixture(autouse=True)
def probe(monkeypatch, tmp_path):
    """The probe in every runner, and a temp folder in which what is left over shows."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    runners.put_before(monkeypatch, runners.PROBE)
    yield folder
    assert not list(folder.iterdir())


def failure(action, *arguments, wall_seconds=20.0) -> SandboxFailure:
    with Runner(None, runners.PREPARE, wall_seconds) as running:
        running.ready()
        with pytest.raises(SandboxFailure) as raised:
            running.measure(request(action, *arguments))
    assert gone(running._child._process.pid)
    return raised.value


def numbers(running, count):
    return list(map(int, running.measure(request("numbers", count)).ptx_digests))


@pytest.mark.long("the short suite uses each spare once")
def test_every_question_gets_numbers_that_nobody_has_seen():
    seen: list[int] = []
    told: list[int] = []
    with Spares(None, runners.PREPARE, ahead=1) as waiting:
        for _ in range(2):
            running = waiting.take()
            found = running.measure(request("numbers", 50), told.append).ptx_digests
            seen += map(int, found)

    assert len(set(seen)) == len(seen) == 200
    assert all(0 <= number < 2**63 for number in seen)
    assert max(seen) > 2**60
    assert told == [*range(1, 51), *range(1, 51)]


@pytest.mark.long("the short suite has a spare that is warm")
def test_a_question_costs_little():
    with Runner(None, runners.PREPARE) as running:
        seconds = [float(each) for each in running.measure(request("seconds", 500)).ptx_digests]

    # some 70 microseconds; a pause between two looks would show as milliseconds
    assert seconds[len(seconds) // 10] < 0.001


class Noted(SlotLock):
    """The lock of the only slot, which notes what happens to it."""

    def __init__(self) -> None:
        super().__init__(None)
        self.happened: list[str] = []

    def take(self, wanted):
        self.happened.append("taken")
        return super().take(wanted)

    def release(self):
        self.happened.append("released")


@pytest.mark.parametrize(("order", "then"), [(["numbers", 1], ["released"]), (["lose"], [])])
def test_the_device_is_free_before_the_answer_unless_a_kernel_may_still_run(order, then):
    with Runner(None, runners.PREPARE) as running, Noted() as lock:
        running.measure(request(*order), lock=lock)
    assert lock.happened == ["taken", *then]


def test_a_process_that_freed_the_device_gets_no_more_numbers():
    found = failure("each", [["say", "free"], ["numbers", 1]])
    assert found.kind is Failure.ERROR
    assert "numbers" in found.detail


def test_it_says_what_it_measures_with():
    with Runner(None, runners.PREPARE) as running:
        environment = running.ready().environment

    assert environment.device_class == "cpu"
    assert environment.compiler == runners.PREPARE.compiler


def test_it_is_used_once():
    with Runner(None, runners.PREPARE) as running:
        assert len(numbers(running, 1)) == 2
        assert not running.usable
        _wait(lambda: not running._child.alive())
        with pytest.raises(RuntimeError, match="last kernel"):
            running.measure(request("numbers", 1))


def test_one_that_hangs_is_killed_at_the_wall_limit():
    started = time.monotonic()
    found = failure("sleep", 60, wall_seconds=0.5)

    assert found.kind is Failure.TIME
    assert time.monotonic() - started < 20


@pytest.mark.one_in(3, "two of five ends")
@pytest.mark.parametrize(
    ("order", "kind", "words"),
    [
        (["fail"], Failure.ERROR, "ZeroDivisionError"),
        (["crash"], Failure.CRASH, ""),
        pytest.param(["abort"], Failure.CRASH, "", marks=_LONG),
        (["ask", "secrets"], Failure.ERROR, "secrets"),
        (["flood", "x"], Failure.MEMORY, ""),
        pytest.param(["flood", "[]\n"], Failure.ERROR, "", marks=_LONG),
        (["flood", "\n"], Failure.CRASH, ""),
    ],
)
def test_every_other_end_has_its_kind(order, kind, words):
    found = failure(*order)

    assert found.kind is kind
    assert words in found.detail


def test_questions_without_end_are_cut_off_by_number_and_by_the_clock(monkeypatch):
    flood = ["flood", '{"ask": "numbers"}\n']
    assert failure(*flood, wall_seconds=0.3).kind in {Failure.TIME, Failure.MEMORY}

    monkeypatch.setattr(process, "_QUESTIONS", 1000)
    assert failure("numbers", 1001).kind is Failure.ERROR


def test_a_spare_is_warm_and_another_is_started_in_its_place():
    with Spares(None, runners.PREPARE, ahead=2) as waiting:
        first = waiting.take()
        assert first.usable
        second, third = waiting.take(), waiting.take()
        pids = {running._child._process.pid for running in (first, second, third)}
        assert len(pids) == 3
        assert len(numbers(first, 1)) == 2


def test_no_process_starts_that_nothing_needs():
    with Spares(None, runners.PREPARE, ahead=3) as waiting:
        waiting.limit(2)
        _wait(lambda: len(waiting._all) >= 2)
        dead = waiting._all[0]
        _wait(lambda: dead.usable)
        os.kill(dead._child._process.pid, signal.SIGKILL)
        _wait(lambda: not dead.usable)
        assert all(waiting.take() is not dead for _ in range(2))
        waiting.limit(2)
        assert not waiting._waiting
        assert len(numbers(waiting.take(), 1)) == 2


@pytest.mark.long("the short suite has one that died while it waited")
def test_one_that_was_used_and_left_is_cleared_up(probe):
    with Spares(None, runners.PREPARE, ahead=1) as waiting:
        used = waiting.take()
        numbers(used, 1)
        _wait(lambda: not used._child.alive())
        waiting.take()
        _wait(lambda: used.closed)

        assert gone(used._child._process.pid)


@pytest.mark.long("the short suite takes them one after the other")
def test_several_threads_may_take():
    with Spares(None, runners.PREPARE, ahead=1) as waiting, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: tuple(numbers(waiting.take(), 2)), range(4)))

    assert len(set(found)) == 4


def test_one_that_died_while_it_waited_is_never_handed_out():
    with Spares(None, runners.PREPARE, ahead=1) as waiting:
        _wait(lambda: waiting._all and waiting._all[0].usable)
        dead = waiting._all[0]
        os.kill(dead._child._process.pid, signal.SIGKILL)
        _wait(lambda: not dead.usable)
        running = waiting.take()

        assert running is not dead
        assert len(numbers(running, 1)) == 2
        assert gone(dead._child._process.pid)


def test_processes_that_end_at_once_are_tried_twice(monkeypatch):
    started = []
    command = spares.DeviceChild._command

    def counted(self, *given):
        started.append(self)
        return command(self, *given)

    monkeypatch.setattr(spares.DeviceChild, "_command", counted)
    runners.put_before(monkeypatch, "import os; os._exit(3); ")
    with Spares(None, runners.PREPARE, ahead=1) as waiting:
        with pytest.raises(SandboxFailure, match="exit 3") as raised:
            waiting.take()
        assert raised.value.kind is Failure.START
    assert 2 <= len(started) <= 3


def test_a_device_that_does_not_start_says_why(monkeypatch):
    start = "from worker.gpu import runner; runner.load = lambda *_: lambda *_: 1 // 0; "
    runners.put_before(monkeypatch, runners.PROBE + start)
    with Spares(None, runners.PREPARE) as waiting:
        with pytest.raises(SandboxFailure, match="ZeroDivisionError") as raised:
            waiting.take()
        assert raised.value.kind is Failure.START


def test_where_no_process_can_be_made_the_reason_is_told(monkeypatch):
    def refused(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr("subprocess.Popen", refused)
    with Spares(None, runners.PREPARE) as waiting, pytest.raises(SandboxFailure, match="no more processes"):
        waiting.take()


@pytest.mark.long("the short suite has the ends of single processes")
def test_close_leaves_nothing_whatever_they_do(probe):
    waiting = Spares(None, runners.PREPARE, ahead=2)
    busy, idle = waiting.take(), waiting.take()
    ends: list[SandboxFailure] = []

    def hang():
        try:
            busy.measure(request("sleep", 60))
        except SandboxFailure as end:
            ends.append(end)

    thread = threading.Thread(target=hang)
    thread.start()
    time.sleep(0.2)
    everyone = [running._child._process.pid for running in waiting._all]
    assert {busy._child._process.pid, idle._child._process.pid} <= set(everyone)
    assert list(probe.iterdir())
    waiting.close()
    waiting.close()
    thread.join(60)

    assert len(ends) == 1
    assert all(map(gone, everyone))
    assert not list(probe.iterdir())
    with pytest.raises(SandboxFailure):
        waiting.take()


def test_what_the_driver_is_found_by_is_passed_on_and_the_device_is_chosen(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/driver")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.delenv("CUDA_PATH", raising=False)
    found = spares.environment_for(3)

    assert found["LD_LIBRARY_PATH"] == "/opt/driver"
    assert found["CUDA_VISIBLE_DEVICES"] == "3"
    assert found["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert found["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
    assert not {"HOME", "PATH", "CUDA_PATH"} & set(found)


def _wait(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
