"""Operands and parameters of 64 bits, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made

DEFINITION = """
title = "Elements of 64 bits"
operation = "solution"
kernel = "wide"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 100
parameters = [
    { type = "const double*", name = "a", operand = "a" },
    { type = "const long long*", name = "k", operand = "k" },
    { type = "double*", name = "out", operand = "out" },
    { type = "long long*", name = "sums", operand = "sums" },
    { type = "int", name = "n", size = "n" },
    { type = "double", name = "scale", value = 0.1 },
    { type = "long long", name = "offset", value = "1 << 40" },
]
operands = [
    { name = "a", role = "input", type = "double", rows = "n", values = { kind = "mantissas" } },
    { name = "k", type = "long long", role = "input", rows = "n", values = { kind = "integers", high = "1<<31" } },
    { name = "out", role = "output", type = "double", rows = "n" },
    { name = "sums", role = "inout", type = "long long", rows = "n", values = { kind = "zeros" } },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
analysis = { n = 40 }
cases = [{ sizes = { n = 5 } }, { sizes = { n = 33 } }]
"""
SOLUTION = """__global__ void wide(const double* a, const long long* k, double* out, long long* sums, int n,
                     double scale, long long offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a[i] * scale;
        sums[i] += k[i] * k[i] + offset;
    }
}
"""
MISTAKES = [
    ("a[i] * scale", "(float)a[i] * scale", Verdict.WRONG_ANSWER, "`out[0]`"),
    ("* scale", "* 0.1f", Verdict.WRONG_ANSWER, "`out[0]`"),
    ("+ offset", "+ offset + (i == 3)", Verdict.WRONG_ANSWER, "`sums[3]`"),
    ("k[i] * k[i]", "(double)k[i] * k[i]", Verdict.WRONG_ANSWER, "`sums["),
    ("out[i] =", "if (i != 2) out[i] =", Verdict.WRONG_ANSWER, "`out[2]` was never written"),
    ("out[i] = a[i] * scale", "((float*)out)[2 * i] = 0", Verdict.WRONG_ANSWER, "`out[0]`"),
    ("a[i] * scale", "0.0 / (i - 1)", Verdict.WRONG_ANSWER, "`out["),
    ("out[i] =", "if (i == 4) ((double*)a)[i] = 0; out[i] =", Verdict.INPUT_MODIFIED, "`a[4]`"),
    ("out[i] =", "if (i == 4) ((int*)k)[9] = 7; out[i] =", Verdict.INPUT_MODIFIED, "`k[4]`"),
]


@pytest.fixture
def wide(tmp_path):
    return made(tmp_path, DEFINITION, SOLUTION)


def changed(old, new):
    assert old in SOLUTION
    return SOLUTION.replace(old, new)


def test_the_solution_and_another_spelling_are_accepted(wide):
    assert graded(wide, SOLUTION).verdict is Verdict.ACCEPTED
    assert graded(wide, changed("long long offset", "long long int offset")).verdict is Verdict.ACCEPTED
    assert graded(wide, f'extern "C" {SOLUTION}').verdict is Verdict.ACCEPTED


@pytest.mark.one_in(4, "a quarter of the mistakes")
@pytest.mark.parametrize(
    ("old", "new", "verdict", "element"),
    [
        *MISTAKES,
        ("i < n", "i <= n", Verdict.OUT_OF_BOUNDS, "`a[5]`"),
        ("out[i] =", "out[i] +=", Verdict.UNINITIALIZED_READ, "`out[0]`"),
        ("out[i] =", "out[i / 2 * 2] =", Verdict.DATA_RACE, "`out[0]`"),
        ("const double* a", "const float* a", Verdict.REJECTED, "const double*"),
        ("double scale", "float scale", Verdict.REJECTED, "double"),
        ("long long offset", "int offset", Verdict.REJECTED, "long long"),
        ("const long long* k", "const long* k", Verdict.REJECTED, "long long"),
    ],
)
def test_a_mistake_is_found_and_names_its_element(wide, old, new, verdict, element):
    report = graded(wide, changed(old, new))
    assert report.verdict is verdict, report.message
    assert element in report.message


@pytest.mark.one_in(2, "one of two")
@pytest.mark.parametrize(("factor", "passes"), [("(1 + 0x1p-52)", True), ("(1 + 0x1p-45)", False)])
def test_a_tolerance_counts_the_last_places_of_a_double(tmp_path, factor, passes):
    exercise = made(tmp_path, DEFINITION + "tolerance = { ulps = 4 }\n", SOLUTION)
    text = changed("* scale", f"* scale * {factor}")
    assert (graded(exercise, text).verdict is Verdict.ACCEPTED) == passes
    response = measured(request_for(text, exercise, {"n": 70}, cases=["none"]), Scripted([1.0]), real_judge=True)
    assert (decide(response.findings) is Verdict.ACCEPTED) == passes


def test_a_variable_of_the_file_has_64_bits(tmp_path):
    parameter = '    { type = "const long long*", name = "k", operand = "k" },\n'
    variable = '"long long", binding = "constant", symbol = "K", role = "input", rows = 33'
    bound = DEFINITION.replace(parameter, "").replace('"long long", role = "input", rows = "n"', variable)
    kernel = SOLUTION.replace("const long long* k, ", "").replace("k[i] * k[i]", "K[i % 33]")
    text = f"__constant__ long long K[33];\n{kernel}"
    exercise = made(tmp_path, bound, text)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    for declared in ("int K[66]", "long long K[32]"):
        assert graded(exercise, text.replace("long long K[33]", declared)).verdict is Verdict.REJECTED


@linux
def test_the_gpus_judge_accepts_the_solution(wide):
    response = measured(request_for(SOLUTION, wide, {"n": 700}, cases=["n=5 random"]), Scripted([1.0]), real_judge=True)
    assert response.findings == ()
    assert response.measurement is not None


@pytest.mark.one_in(4, "a quarter of the mistakes")
@linux
@pytest.mark.parametrize("cases", [["none"], ["n=5 random"]])
@pytest.mark.parametrize(("old", "new", "verdict", "element"), MISTAKES)
def test_the_gpus_judge_finds_the_same_mistakes(wide, old, new, verdict, element, cases):
    request = request_for(changed(old, new), wide, {"n": 70}, cases=cases)
    response = measured(request, Scripted([1.0]), real_judge=True)
    assert decide(response.findings) is verdict
    assert element in response.findings[0].message


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("old", "new", "element"),
    [
        ("* scale", "* scale", ""),
        ("* scale", "* scale + (i == 650)", "`out[650]`"),
        ("+ offset", "+ offset + (i == 650)", "`sums[650]`"),
        ("out[i] =", "if (i != 650) out[i] =", "`out[650]` was never written"),
    ],
)
def test_a_gpu_judges_large_sizes(wide, tmp_path, old, new, element):
    report = graded_here(wide, changed(old, new), tmp_path)
    assert report.verdict is (Verdict.WRONG_ANSWER if element else Verdict.ACCEPTED), report.message
    assert element in report.message
