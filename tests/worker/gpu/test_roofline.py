"""Faster than the device can be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import CasePlan, plan_at
from kernels.measurement import Environment
from worker.gpu.timing.roofline import implausible, least_ms, operand_bytes, operations

H200 = Environment(
    device="NVIDIA H200",
    device_class="h200",
    cc="9.0",
    multiprocessors=132,
    memory_bytes=143 << 30,
    max_sm_mhz=1980,
    driver="",
    cupy="",
    compiler="",
)
UNKNOWN = replace(H200, device="NVIDIA Something", device_class="something")


def case_of(exercise: str, **sizes: int) -> CasePlan:
    return plan_at(find_exercise(exercise), None, None, sizes).cases[0]


def test_a_large_product_is_bound_by_arithmetic():
    case = case_of("tiled", Width=4096)
    assert operations(case) == 2 * 4096**3
    assert operand_bytes(case) == 3 * 4096**2 * 4
    peak_gflops = 2 * 128 * 132 * 1.98
    assert least_ms(case, H200) == pytest.approx(2 * 4096**3 / peak_gflops / 1e6)


def test_a_small_product_is_bound_by_its_inputs_since_caches_are_empty():
    case = case_of("tiled", Width=16)
    assert least_ms(case, H200) == pytest.approx(2 * 16 * 16 * 4 / 4800e6)


def test_of_the_output_the_cache_may_keep_what_it_holds():
    case = case_of("bank-conflicts", Height=4096, Width=4096)
    one = 4 * 4096**2
    assert least_ms(case, H200) == pytest.approx((one + one - 50 * 2**20) / 4800e6)


def test_an_unknown_device_is_bound_by_its_own_figures():
    case = case_of("tiled", Width=4096)
    assert least_ms(case, UNKNOWN) == least_ms(case, H200)
    assert least_ms(case, replace(UNKNOWN, max_sm_mhz=990)) == pytest.approx(2 * least_ms(case, H200))
    assert least_ms(case, replace(UNKNOWN, max_sm_mhz=0)) == 0


@pytest.mark.parametrize(("exercise", "operations_a_clock"), [("tensor-mma", 4096), ("tensor-int8", 8192)])
def test_a_product_of_narrow_types_is_bound_by_tensor_cores(exercise, operations_a_clock):
    case = case_of(exercise, rows=8192, depth=8192, cols=8192)
    assert least_ms(case, H200) == pytest.approx(2 * 8192**3 / (operations_a_clock * 132 * 1.98e6))
    assert least_ms(case, UNKNOWN) == 0


def test_what_compares_nothing_has_no_bound():
    assert least_ms(case_of("foo-kernel", n=1024), H200) == 0


def test_what_cublas_reaches_is_plausible_and_twice_the_peak_is_not():
    case = case_of("tiled", Width=4096)
    cublas_ms = 2 * 4096**3 / 51390e6
    assert implausible(case, cublas_ms, H200) == ""
    remark = implausible(case, cublas_ms / 2.7, H200)
    assert remark.startswith("Width=4096: 0.9905 ms is less than the 2.054 ms that NVIDIA H200 needs")


def test_exactly_the_bound_is_allowed():
    case = case_of("tiled", Width=512)
    assert implausible(case, least_ms(case, H200), H200) == ""
