"""Operands of type half, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.exercise import ExerciseError
from kernels.verdict import Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made

DEFINITION = """
title = "Elements of type half"
operation = "solution"
kernel = "halves"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 100
parameters = [
    { type = "const half*", name = "a", operand = "a" },
    { type = "const __half*", name = "b", operand = "b" },
    { type = "half*", name = "out", operand = "out" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "a", role = "input", type = "half", rows = "n", values = { kind = "mantissas" } },
    { name = "b", role = "input", type = "half", rows = "n", values = { kind = "real" } },
    { name = "out", role = "output", type = "half", rows = "n" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 701 }
analysis = { n = 41 }
cases = [{ sizes = { n = 33 } }]
"""
SOLUTION = """#include <cuda_fp16.h>
__global__ void halves(const half* a, const half* b, half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hmul(a[i], b[i]);
}
"""
CASE = "n=33 random"
PRODUCT = "__hmul(a[i], b[i])"
ROUNDED_TWICE = "__hmul(__hmul(a[i], __float2half(3.0f)), __hmul(b[i], __float2half(1.0f / 3)))"
MISTAKES = [
    (PRODUCT, "__float2half_rz(__half2float(a[i]) * __half2float(b[i]))", "`out["),
    (PRODUCT, ROUNDED_TWICE, "`out["),
    (PRODUCT, f"i == 32 ? __float2half(1e6f) : {PRODUCT}", "`out[32]` is inf"),
]


@pytest.fixture
def halves(tmp_path):
    return made(tmp_path, DEFINITION, SOLUTION)


def changed(old, new):
    assert old in SOLUTION
    return SOLUTION.replace(old, new)


def on_gpu(text, exercise, cases=(CASE,)):
    return measured(request_for(text, exercise, {"n": 71}, cases=cases), Scripted([1.0]), real_judge=True)


@pytest.mark.one_in(3, "one of three")
@linux
@pytest.mark.parametrize(
    ("old", "new"), [("", ""), ("half* out", "__half out[]"), (PRODUCT, "__float2half((float)a[i] * (float)b[i])")]
)
def test_each_kernel_with_the_same_results_is_accepted(halves, cache, old, new):
    text = SOLUTION.replace(old, new, 1)
    report = graded(halves, text, cache=cache)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert on_gpu(text, halves).findings == ()


@pytest.mark.parametrize(
    ("old", "new", "verdict", "element"),
    [
        ("out[i] =", "if (i != 6) out[i] =", Verdict.WRONG_ANSWER, "`out[6]` was never written"),
        ("out[i] =", "if (i == 6) ((char*)out)[12] = 0; else out[i] =", Verdict.WRONG_ANSWER, "`out[6]`"),
        ("i < n", "i <= n", Verdict.OUT_OF_BOUNDS, "`a[33]`"),
        ("out[i] =", "out[i / 2 * 2] =", Verdict.DATA_RACE, "`out[0]`"),
        ("const half* b", "const short* b", Verdict.REJECTED, "const __half* b"),
    ],
)
def test_a_mistake_is_found_and_names_its_element(halves, cache, old, new, verdict, element):
    report = graded(halves, changed(old, new), cache=cache)
    assert report.verdict is verdict, report.message
    assert element in report.message


@linux
@pytest.mark.parametrize(("old", "new", "element"), MISTAKES)
def test_other_rounding_is_found_on_both_devices(halves, cache, old, new, element):
    text = changed(old, new)
    report = graded(halves, text, cache=cache)
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert element in report.message
    for cases in (["none"], [CASE]):
        response = on_gpu(text, halves, cases)
        assert decide(response.findings) is Verdict.WRONG_ANSWER
        assert element in response.findings[0].message


@linux
@pytest.mark.parametrize(("ulps", "passes"), [(4, True), (0.25, False)])
def test_a_tolerance_counts_the_last_places_of_a_half(tmp_path, cache, ulps, passes):
    exercise = made(tmp_path, f"{DEFINITION}tolerance = {{ ulps = {ulps} }}\n", SOLUTION)
    text = changed(PRODUCT, ROUNDED_TWICE)
    assert (graded(exercise, text, cache=cache).verdict is Verdict.ACCEPTED) == passes
    assert (decide(on_gpu(text, exercise, ["none"]).findings) is Verdict.ACCEPTED) == passes


@pytest.mark.parametrize(
    "values", ['"integers", high = 2049', '"given", numbers = [1, 65505]', '"row_starts", entries = 1, longest = 1']
)
def test_what_a_half_cannot_hold_is_refused(tmp_path, values):
    with pytest.raises(ExerciseError):
        made(tmp_path, DEFINITION.replace('"mantissas"', values), SOLUTION)


@pytest.mark.gpu
@pytest.mark.parametrize(("new", "verdict"), [(PRODUCT, Verdict.ACCEPTED), (ROUNDED_TWICE, Verdict.WRONG_ANSWER)])
def test_a_gpu_judges_large_sizes(halves, tmp_path, new, verdict):
    report = graded_here(halves, changed(PRODUCT, f"i < 600 ? {PRODUCT} : {new}"), tmp_path)
    assert report.verdict is verdict, report.message
