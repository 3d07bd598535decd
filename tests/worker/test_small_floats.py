"""Operands of the float types that numpy doesn't have, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.exercise import ExerciseError
from kernels.exercise.values import ElementType
from kernels.verdict import Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made

TYPES = [ElementType.BFLOAT, ElementType.E4M3, ElementType.E5M2]
DEFINITION = """
title = "Elements of a small float"
operation = "solution"
kernel = "products"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 100
parameters = [
    { type = "const TYPE*", name = "a", operand = "a" },
    { type = "const TYPE*", name = "b", operand = "b" },
    { type = "TYPE*", name = "out", operand = "out" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "a", role = "input", type = "TYPE", rows = "n", values = { kind = "mantissas" } },
    { name = "b", role = "input", type = "TYPE", rows = "n", values = { kind = "real" } },
    { name = "out", role = "output", type = "TYPE", rows = "n" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 701 }
analysis = { n = 41 }
cases = [{ sizes = { n = 33 } }]
"""
SOLUTION = """#include <cuda_bf16.h>
#include <cuda_fp8.h>
__global__ void products(const TYPE* a, const TYPE* b, TYPE* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = TYPE((float)a[i] * (float)b[i]);
}
"""
CASE = "n=33 random"
PRODUCT = "(float)a[i] * (float)b[i]"
SMALLER = f"0.8f * ({PRODUCT})"


@pytest.fixture(params=TYPES, ids=str)
def kind(request):
    return request.param


@pytest.fixture
def products(tmp_path, kind):
    return made(tmp_path, DEFINITION.replace("TYPE", kind), SOLUTION.replace("TYPE", kind))


def changed(kind, old, new):
    assert old in SOLUTION
    return SOLUTION.replace(old, new).replace("TYPE", kind)


def on_gpu(text, exercise, cases=(CASE,)):
    return measured(request_for(text, exercise, {"n": 71}, cases=cases), Scripted([1.0]), real_judge=True)


@pytest.mark.one_in(3, "one of three types")
@linux
def test_the_solution_is_accepted_on_both_devices(products, cache):
    report = graded(products, products.solution_text, cache=cache)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert on_gpu(products.solution_text, products).findings == ()


@pytest.mark.one_in(4, "a quarter of the pairs of a type and a mistake")
@pytest.mark.parametrize(
    ("old", "new", "verdict", "element"),
    [
        ("out[i] =", "if (i != 6) out[i] =", Verdict.WRONG_ANSWER, "`out[6]` was never written"),
        ("i < n", "i <= n", Verdict.OUT_OF_BOUNDS, "`a[33]`"),
        ("out[i] =", "out[i / 2 * 2] =", Verdict.DATA_RACE, "`out[0]`"),
        ("const TYPE* b", "const short* b", Verdict.REJECTED, "const TYPE* b"),
        ("out[i] =", "((TYPE*)a)[i] = TYPE(3.0f), out[i] =", Verdict.INPUT_MODIFIED, " to 3 ("),
    ],
)
def test_a_mistake_is_found_and_names_its_element(products, kind, cache, old, new, verdict, element):
    report = graded(products, changed(kind, old, new), cache=cache)
    assert report.verdict is verdict, report.message
    assert element.replace("TYPE", kind) in report.message


@pytest.mark.one_in(3, "one of three types")
@linux
def test_an_incorrect_number_is_found_on_both_devices(products, kind, cache):
    text = changed(kind, PRODUCT, f"i == 32 ? 0.40625f : {PRODUCT}")
    shown = {ElementType.BFLOAT: "0.40625", ElementType.E4M3: "0.40625", ElementType.E5M2: "0.375"}[kind]
    report = graded(products, text, cache=cache)
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert f"`out[32]` is {shown}, not " in report.message
    response = on_gpu(text, products)
    assert f"`out[32]` is {shown}, not " in response.findings[0].message


@pytest.mark.one_in(4, "a third of the types")
@linux
@pytest.mark.parametrize(("places", "passes"), [(2, True), (0.25, False)])
def test_a_tolerance_counts_the_last_places_of_the_type(tmp_path, kind, cache, places, passes):
    definition = f"{DEFINITION}tolerance = {{ ulps = {places} }}\n".replace("TYPE", kind)
    exercise = made(tmp_path, definition, SOLUTION.replace("TYPE", kind))
    text = changed(kind, PRODUCT, f"{1 - kind.ulp}f * ({PRODUCT})")
    assert (graded(exercise, text, cache=cache).verdict is Verdict.ACCEPTED) == passes
    assert (decide(on_gpu(text, exercise, ["none"]).findings) is Verdict.ACCEPTED) == passes


@pytest.mark.parametrize(
    "values", ['"integers", high = 257', '"given", numbers = [1, 4e38]', '"row_starts", entries = 1, longest = 1']
)
def test_what_the_type_cannot_hold_is_refused(tmp_path, kind, values):
    with pytest.raises(ExerciseError):
        made(tmp_path, DEFINITION.replace('"mantissas"', values).replace("TYPE", kind), SOLUTION)


def test_a_module_variable_may_have_the_type(tmp_path, kind, cache):
    definition = DEFINITION.replace(
        'rows = "n", values = { kind = "real" }', 'rows = 4, binding = "constant", values = { kind = "real" }'
    )
    definition = definition.replace('    { type = "const TYPE*", name = "b", operand = "b" },\n', "")
    text = SOLUTION.replace("const TYPE* b, ", "").replace("b[i]", "b[i % 4]")
    text = text.replace("__global__", "__constant__ TYPE b[4];\n__global__").replace("TYPE", kind)
    report = graded(made(tmp_path, definition.replace("TYPE", kind), text), text, cache=cache)
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.gpu
@pytest.mark.parametrize(("new", "verdict"), [(PRODUCT, Verdict.ACCEPTED), (SMALLER, Verdict.WRONG_ANSWER)])
def test_a_gpu_judges_large_sizes(products, kind, tmp_path, new, verdict):
    text = changed(kind, PRODUCT, f"i < 600 ? {PRODUCT} : {new}")
    report = graded_here(products, text, tmp_path)
    assert report.verdict is verdict, report.message
