"""Repeats made into a speed, and clocks that do not agree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.exercise.values import WorkRule
from kernels.expression import Expression
from kernels.judging.plan import plan_at
from kernels.measurement import Clocks
from worker.gpu.backend import Timed
from worker.gpu.timing.speed import clock_doubt, speed
from worker.gpu.timing.timings import Timings

PRODUCT = plan_at(find_exercise("tiled"), None, None, {"Width": 1000}).cases[0]
NOTHING = plan_at(find_exercise("foo-kernel"), None, None, {"n": 1024}).cases[0]
SUMS = plan_at(find_exercise("reduction"), None, None, {"n": 1 << 20}).cases[0]


def runs(*ms: float, over: float = 0.02) -> tuple[Timed, ...]:
    return tuple(Timed(each, each + over) for each in ms)


def test_a_product_has_gflops_and_a_share_of_cublas():
    found = speed(Timings(PRODUCT, runs(2, 2, 2, 2, 2.004, 1.999, 2), (0.5, 0.4, 0.5, 0.6)), Clocks(1980))
    assert found.sizes == {"Width": 1000}
    assert found.gflops == pytest.approx(1000)
    assert found.gbps == pytest.approx(6)
    assert (found.cublas_share, found.cublas_ms) == (0.25, 0.5)
    assert (found.ms_median, found.ci, found.spread) == (2, (1.999, 2.004), (1.999, 2.004))
    assert (found.repeats, found.settled, found.clocks.sm_mhz) == (7, True, 1980)


def test_too_few_repeats_are_never_settled():
    found = speed(Timings(PRODUCT, runs(2, 2, 2), ()), Clocks())
    assert not found.settled
    assert found.cublas_share is None


def test_a_sum_has_bytes_a_second_only():
    found = speed(Timings(SUMS, runs(1), ()), Clocks())
    assert found.gflops is None
    assert found.gbps is not None
    assert found.gbps > 4.19
    assert found.melements == pytest.approx(2.048), "2,048 sections of 512 elements in a millisecond"


def test_an_exercise_may_say_which_elements_count():
    rule = WorkRule(elements=Expression.parse("n + 1"))
    case = plan_at(replace(find_exercise("histogram"), work=rule), None, None, {"n": 999, "bins": 16}).cases[0]
    assert speed(Timings(case, runs(1), ()), Clocks()).melements == pytest.approx(1)


def test_what_compares_nothing_has_a_time_only():
    found = speed(Timings(NOTHING, runs(1, 2, 3), ()), Clocks())
    assert (found.gflops, found.gbps, found.melements, found.ms_median) == (None, None, None, 2)


def test_the_host_may_take_a_little_longer_than_the_device():
    assert clock_doubt(Timings(PRODUCT, runs(0.05, 0.05, 0.05, over=0.9), ())) == ""
    assert clock_doubt(Timings(PRODUCT, runs(100.0, 100.0, 100.0, over=19), ())) == ""
    assert clock_doubt(Timings(PRODUCT, (*runs(1, 1), *runs(1, over=50)), ())) == ""


def test_a_host_that_takes_far_longer_is_told_of():
    assert "2 ms longer" in clock_doubt(Timings(PRODUCT, runs(0.05, 0.05, 0.05, over=2), ()))
    assert clock_doubt(Timings(PRODUCT, runs(100.0, 100.0, 100.0, over=21), ()))


def test_a_device_that_takes_longer_than_the_host_is_told_of():
    found = clock_doubt(Timings(PRODUCT, (*runs(1, 1), Timed(1.0, 0.9)), ()))
    assert found.startswith("Width=1000: launches took longer by the device's clock")
