"""A GPU runs one kernel at a time, in order, and one that fails keeps no other from its turn."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.worker.supplies import Supply, right
from worker.bench.lanes import Lanes
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.sandbox.limits import Failure, SandboxFailure


def request(name: str = "") -> MeasureRequest:
    plan: Any = None
    return MeasureRequest(plan, (), None, (), name)


def test_of_those_that_wait_the_first_to_come_goes_first():
    begun, go_on = threading.Event(), threading.Event()

    def slow(asked: MeasureRequest) -> MeasureResponse:
        begun.set()
        go_on.wait(10)
        return right(asked)

    supply = Supply(slow)
    with Lanes([supply]) as lanes, ThreadPoolExecutor(8) as pool:
        first = pool.submit(lanes.measure, 7, request("7"))
        begun.wait(10)
        rest = [pool.submit(lanes.measure, number, request(str(number))) for number in (5, 3, 9, 0)]
        while lanes._waiting.qsize() < 4:
            time.sleep(0.01)
        go_on.set()
        assert all(turn.result().answer for turn in (first, *rest))
    assert [asked.metric for asked in supply.requests] == ["7", "0", "3", "5", "9"]


@pytest.mark.parametrize("kind", [Failure.START, Failure.CRASH, Failure.TIME])
def test_a_failure_is_its_own_submissions_and_nobody_elses(kind):
    def answer(asked: MeasureRequest) -> MeasureResponse:
        if asked.metric == "bad":
            raise SandboxFailure(kind)
        return right(asked)

    with Lanes([Supply(answer)]) as lanes:
        failed = lanes.measure(0, request("bad"))
        good = lanes.measure(1, request("good"))
    assert isinstance(failed.failure, SandboxFailure)
    assert (failed.answer, failed.busy_ms) == (None, 0.0)
    assert good.answer is not None
    assert [turn.number for turn in lanes.turns] == [0, 1]


def test_where_no_process_starts_the_lane_goes_on():
    class Empty(Supply):
        def take(self):
            runner = super().take()
            if len(self.runners) == 1:
                raise SandboxFailure(Failure.START, "no memory")
            return runner

    with Lanes([Empty()]) as lanes:
        assert isinstance(lanes.measure(0, request()).failure, SandboxFailure)
        assert lanes.measure(1, request()).answer is not None


def test_a_device_that_was_lost_is_given_back_before_the_next_kernel():
    lost = Supply(lambda asked: MeasureResponse((), (), lost=True))
    with Lanes([lost]) as lanes:
        lanes.measure(0, request())
    assert lost.runners[0].closed_by[0] == "gpu-0"


def test_ending_a_process_that_did_its_work_holds_nobody_up():
    supply = Supply()
    with Lanes([supply]) as lanes:
        lanes.measure(0, request())
    assert supply.runners[0].closed_by == [threading.current_thread().name]


def test_two_gpus_share_the_work():
    both = threading.Barrier(2, timeout=10)

    def together(asked: MeasureRequest) -> MeasureResponse:
        both.wait()
        return right(asked)

    with Lanes([Supply(together), Supply(together)]) as lanes, ThreadPoolExecutor(2) as pool:
        turns = [each.result() for each in [pool.submit(lanes.measure, n, request()) for n in range(2)]]
    assert {turn.gpu for turn in turns} == {0, 1}
    assert all(turn.answer for turn in turns)


def test_close_lets_those_that_wait_have_their_turn():
    with Lanes([Supply()]) as lanes, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(lanes.measure, number, request()) for number in range(4)]
    assert all(turn.result().answer for turn in waiting)
