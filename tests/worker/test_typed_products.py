"""Products whose operands have other types than float, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from kernels.exercise import ExerciseError, read_exercise
from kernels.exercise.schema import definition_in
from kernels.exercise.values import ElementType
from kernels.verdict import Verdict
from tests.gpu.solutions import graded_here
from tests.marks import linux, some_of
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made

DEFINITION = """
title = "A product"
operation = "matmul"
kernel = "product"
sizes = ["rows", "length", "cols"]
metric = "gflops"
largest_on_cpu = 70
parameters = [
    { type = "const LEFT*", name = "A", operand = "A" },
    { type = "const RIGHT*", name = "B", operand = "B" },
    { type = "RESULT*", name = "C", operand = "C" },
    { type = "int", name = "rows", size = "rows" },
    { type = "int", name = "length", size = "length" },
    { type = "int", name = "cols", size = "cols" },
]
operands = [
    { name = "A", role = "input", type = "LEFT", rows = "rows", cols = "length" },
    { name = "B", role = "input", type = "RIGHT", rows = "length", cols = "cols", layout = "column_major" },
    { name = "C", role = "output", type = "RESULT", rows = "rows", cols = "cols" },
]
tile = { name = "TILE", default = 8, allowed = [8], largest = 8 }
launch = { block = "(TILE, TILE)", grid = "(ceil(cols/TILE), ceil(rows/TILE))" }
ranking = { rows = 90, length = 80, cols = 75 }
analysis = { rows = 16, length = 16, cols = 16 }
[[cases]]
sizes = { rows = 24, length = 24, cols = 24 }
inputs = [KINDS]
[[cases]]
sizes = { rows = 40, length = 40, cols = 40 }
inputs = [KINDS]
"""
SOLUTION = """#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__global__ void product(const LEFT* A, const RIGHT* B, RESULT* C, int rows, int length, int cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= cols) return;
    SUM sum = 0;
    for (int k = 0; k < length; ++k)
        sum += (SUM)A[row * length + k] * (SUM)B[col * length + k];
    C[row * cols + col] = sum;
}
"""
EXACT = '"integers_left", "integers_right", "permutation"'
TYPES = [
    ("half", "half", "float"),
    ("half", "half", "half"),
    ("__nv_bfloat16", "__nv_bfloat16", "float"),
    ("__nv_fp8_e4m3", "__nv_fp8_e5m2", "float"),
    ("__nv_fp8_e5m2", "__nv_fp8_e5m2", "half"),
    ("char", "char", "int"),
    ("unsigned char", "char", "int"),
    ("double", "double", "double"),
]


def typed(text, types):
    left, right, result = types
    total = result if result in {"int", "double"} else "float"
    kinds = EXACT if result == "int" else f'{EXACT}, "real"'
    for old, new in {"LEFT": left, "RIGHT": right, "RESULT": result, "SUM": total, "KINDS": kinds}.items():
        text = text.replace(old, new)
    return text


def some_types(fits):
    """The types that fit; in the short suite, every third."""
    chosen = [types for types in TYPES if fits(types)]
    return pytest.mark.parametrize("types", some_of(chosen, 3, " ".join, "the short suite has some of the types"))


@pytest.fixture(params=TYPES, ids=" ".join)
def types(request):
    return request.param


@pytest.fixture
def product(tmp_path, types):
    return made(tmp_path, typed(DEFINITION, types), typed(SOLUTION, types))


def on_gpu(text, exercise, cases=("none",), after=lambda backend, arguments: None):
    """Measured with the CPU device in place of a GPU. after: what happens to memory with each launch."""
    sizes = {"rows": 20, "length": 33, "cols": 18}
    backend = Scripted([1.0] * 3)
    backend.after = partial(after, backend)
    return measured(request_for(text, exercise, sizes, cases=cases), backend, real_judge=True)


@pytest.mark.one_in(4, "a quarter of the types; each type has a product in tests/worker/gpu")
@linux
def test_the_solution_is_accepted_on_both_devices(product, types, cache):
    text = typed(SOLUTION, types)
    report = graded(product, text, cache=cache)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert on_gpu(text, product, [check.case for check in report.checks]).findings == ()


MISTAKES = [
    ("A[row * length + k]", "A[k * length + row]", "left_transposed"),
    ("k < length;", "k < length - TILE;", "tile_missing"),
    ("B[col * length + k]", "B[k * cols + col]", "right_transposed"),
    ("C[row * cols + col]", "C[col * cols + row]", "transposed"),
    ("C[row * cols + col] =", "if (row != 3) C[row * cols + col] =", "partly_written"),
    ("= sum;", "= (RESULT)(2 * sum);", "scaled_2"),
]


@pytest.mark.one_in(4, "a quarter of the pairs of types and mistakes")
@pytest.mark.parametrize(
    ("types", "mistake"),
    [*((TYPES[0], mistake) for mistake in MISTAKES), *((types, MISTAKES[0]) for types in TYPES[1:])],
    ids=str,
)
def test_a_mistake_is_explained(product, types, cache, mistake):
    old, new, diagnosis = mistake
    assert old in SOLUTION
    report = graded(product, typed(SOLUTION.replace(old, new), types), cache=cache)
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert diagnosis in [each.key for each in report.findings[0].facts.diagnoses], report.message


@pytest.mark.one_in(2, "every second")
@linux
@pytest.mark.parametrize(
    ("types", "rounded"),
    [
        (("half", "half", "float"), "__half2float(__float2half(TERM))"),
        (("__nv_bfloat16", "__nv_bfloat16", "float"), "__half2float(__float2half(TERM))"),
        (("double", "double", "double"), "(double)(float)(TERM)"),
        (("unsigned char", "char", "int"), "(signed char)A[row * length + k] * B[col * length + k]"),
    ],
)
def test_arithmetic_in_a_narrower_type_is_found(product, types, cache, rounded):
    term = "(SUM)A[row * length + k] * (SUM)B[col * length + k]"
    assert term in SOLUTION
    text = SOLUTION.replace(f"sum += {term}", f"sum = {rounded.replace('TERM', f'sum + {term}')}")
    if "signed" in rounded:
        text = SOLUTION.replace(term, rounded)
    report = graded(product, typed(text, types), cache=cache)
    assert report.verdict is Verdict.WRONG_ANSWER, report.message


@pytest.mark.one_in(4, "a quarter of the types")
@linux
def test_a_gpu_finds_an_incorrect_element_of_a_large_product(product, types):
    text = typed(SOLUTION.replace("= sum;", "= row == 19 && col == 17 ? sum + (SUM)1 : sum;"), types)
    (finding,) = on_gpu(text, product).findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert "`C[19][17]` is " in finding.message


NARROWER = {
    "half": "__nv_bfloat16((float)FACTOR)",
    "__nv_bfloat16": "__nv_fp8_e5m2((float)FACTOR)",
    "__nv_fp8_e4m3": "__nv_fp8_e5m2((float)FACTOR)",
    "char": "(FACTOR & ~1)",
    "unsigned char": "(FACTOR & ~1)",
    "double": "(float)FACTOR",
}
"""A factor with fewer digits than its type has."""


@pytest.mark.one_in(3, "one of three types")
@linux
@some_types(lambda types: types[0] in NARROWER)
def test_a_gpu_finds_that_an_operand_was_rounded(product, types):
    factor = "A[row * length + k]"
    text = typed(SOLUTION.replace(factor, NARROWER[types[0]].replace("FACTOR", factor)), types)
    (finding,) = on_gpu(text, product).findings
    assert finding.kind is Verdict.WRONG_ANSWER


@pytest.mark.one_in(3, "one of three types")
@linux
@some_types(lambda types: True)
def test_a_gpu_finds_an_overwritten_input(product, types):
    text = SOLUTION.replace("= sum;", "= sum; if (row + col == 0) ((unsigned char*)A)[5] ^= 1;")
    (finding,) = on_gpu(typed(text, types), product).findings
    assert finding.kind is Verdict.INPUT_MODIFIED
    assert finding.example.element == f"A[0][{5 // ElementType(types[0]).bytes}]"


@linux
@some_types(lambda types: True)
def test_a_gpu_finds_a_write_after_an_input(product, types):
    (finding,) = on_gpu(
        typed(SOLUTION, types),
        product,
        after=lambda backend, arguments: backend.fill(backend.guards(arguments[1])[1], 0),
    ).findings
    assert finding.kind is Verdict.OUT_OF_BOUNDS


def test_a_solution_in_the_text_is_ignored(tmp_path):
    """Older versions added it to the text of a product, and portals keep the texts of their assignments."""
    product = made(tmp_path, typed(DEFINITION, TYPES[0]), typed(SOLUTION, TYPES[0]))
    text = definition_in(product.root)
    assert not product.solution_text
    older = read_exercise(product.name, f"solution = {json.dumps(SOLUTION)}\n{text}")
    assert older == replace(product, folder=None, digest=older.digest, solution_text=SOLUTION)


@pytest.mark.parametrize(
    ("types", "field"),
    [
        (("half", "__nv_bfloat16", "float"), "operands"),
        (("half", "half", "int"), "operands"),
        (("int", "int", "int"), "operands"),
        (("float", "float", "half"), "operands"),
    ],
)
def test_types_that_do_not_fit_are_refused(tmp_path, types, field):
    with pytest.raises(ExerciseError) as refused:
        made(tmp_path, typed(DEFINITION, types), typed(SOLUTION, types))
    assert refused.value.field == field


def test_whole_numbers_are_never_real(tmp_path):
    definition = typed(DEFINITION, ("char", "char", "int")).replace('"permutation"', '"permutation", "real"')
    with pytest.raises(ExerciseError) as refused:
        made(tmp_path, definition, typed(SOLUTION, ("char", "char", "int")))
    assert refused.value.field == "cases[0].inputs"


@pytest.mark.gpu
@pytest.mark.parametrize(("new", "verdict"), [("sum", Verdict.ACCEPTED), ("sum + (SUM)1", Verdict.WRONG_ANSWER)])
def test_a_gpu_judges_large_products(product, types, tmp_path, new, verdict):
    text = typed(SOLUTION.replace("= sum;", f"= row < 80 ? sum : {new};"), types)
    report = graded_here(product, text, tmp_path)
    assert report.verdict is verdict, report.message
