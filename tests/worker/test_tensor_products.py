"""Products on tensor cores in each type that `matmul` and the CPU device have in common, also of real numbers."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.worker.in_process import graded, made
from tests.worker.test_typed_products import DEFINITION, typed

_CASES = """[[cases]]
sizes = { rows = 32, length = 32, cols = 32 }
inputs = [KINDS]
[[cases]]
sizes = { rows = 48, length = 96, cols = 16 }
inputs = [KINDS]
"""
ON_TENSOR_CORES = (
    DEFINITION.partition("[[cases]]")[0]
    .replace(', layout = "column_major"', "")
    .replace("default = 8, allowed = [8], largest = 8", "default = 16, allowed = [16], largest = 16")
    .replace('block = "(TILE, TILE)"', 'block = "(32)"')
    .replace("ranking = { rows = 90, length = 80, cols = 75 }", "ranking = { rows = 128, length = 128, cols = 128 }")
    + _CASES
)
WMMA = """#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda::wmma;
__global__ void product(const LEFT* A, const RIGHT* B, RESULT* C, int rows, int length, int cols) {
    for (int row = blockIdx.y * 16; row < blockIdx.y * 16 + 16; row += SIDE)
        for (int col = blockIdx.x * 16; col < blockIdx.x * 16 + 16; col += SIDE) {
            fragment<matrix_a, SIDE, SIDE, STEP, FACTOR, row_major> a;
            fragment<matrix_b, SIDE, SIDE, STEP, FACTOR, row_major> b;
            fragment<accumulator, SIDE, SIDE, STEP, RESULT> sum;
            fill_fragment(sum, (RESULT)0.0f);
            for (int k = 0; k < length; k += STEP) {
                load_matrix_sync(a, (const FACTOR*)&A[row * length + k], length);
                load_matrix_sync(b, (const FACTOR*)&B[k * cols + col], cols);
                mma_sync(sum, a, b, sum);
            }
            store_matrix_sync(&C[row * cols + col], sum, cols, mem_row_major);
        }
}
"""
FP8 = """#include <cuda_fp8.h>
__global__ void product(const LEFT* A, const RIGHT* B, RESULT* C, int rows, int length, int cols) {
    const unsigned char *a8 = (const unsigned char*)A, *b8 = (const unsigned char*)B;
    int row = blockIdx.y * 16 + threadIdx.x / 4, member = threadIdx.x % 4;
    for (int left = blockIdx.x * 16; left < blockIdx.x * 16 + 16; left += 8) {
        int col = left + threadIdx.x / 4;
        float c[4] = {};
        for (int k = 4 * member; k < length; k += 32) {
            unsigned a[4], b[2] = {};
            for (int q = 0; q < 4; ++q) a[q] = *(const unsigned*)&a8[(row + q % 2 * 8) * length + k + q / 2 * 16];
            for (int q = 0; q < 8; ++q) b[q / 4] |= (unsigned)b8[(k + q / 4 * 16 + q % 4) * cols + col] << q % 4 * 8;
            asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.FIRST.SECOND.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                         "{%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
        for (int q = 0; q < 4; ++q) C[(row + q / 2 * 8) * cols + left + 2 * member + q % 2] = c[q];
    }
}
"""


def written(text, types, names):
    for name, value in names.items():
        text = text.replace(name, value)
    return typed(text, types)


def report_of(tmp_path, cache, types, text):
    return graded(made(tmp_path, typed(ON_TENSOR_CORES, types), text), text, cache=cache)


@pytest.mark.one_in(3, "a third of the types")
@pytest.mark.parametrize(
    ("types", "factor", "side", "step"),
    [
        (("half", "half", "float"), "half", 16, 16),
        (("half", "half", "half"), "half", 16, 16),
        (("__nv_bfloat16", "__nv_bfloat16", "float"), "__nv_bfloat16", 16, 16),
        (("char", "char", "int"), "signed char", 16, 16),
        (("unsigned char", "unsigned char", "int"), "unsigned char", 16, 16),
        (("double", "double", "double"), "double", 8, 4),
    ],
)
def test_a_product_with_wmma_is_accepted(tmp_path, cache, types, factor, side, step):
    text = written(WMMA, types, {"FACTOR": factor, "SIDE": str(side), "STEP": str(step)})
    report = report_of(tmp_path, cache, types, text)
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.one_in(3, "a third of the types")
@pytest.mark.parametrize(("first", "second"), [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2")])
@pytest.mark.parametrize("result", ["float", "half"])
def test_a_product_of_8_bit_floats_is_accepted(tmp_path, cache, first, second, result):
    types = f"__nv_fp8_{first}", f"__nv_fp8_{second}", result
    report = report_of(tmp_path, cache, types, written(FP8, types, {"FIRST": first, "SECOND": second}))
    assert report.verdict is Verdict.ACCEPTED, report.message


def test_a_half_accumulator_is_no_float(tmp_path, cache):
    types = "half", "half", "float"
    text = written(WMMA, types, {"FACTOR": "half", "SIDE": "16", "STEP": "16"})
    text = text.replace("16, 16, 16, float> sum", "16, 16, 16, half> sum").replace("(float)0.0f", "__float2half(0.0f)")
    text = text.replace(
        "            store_", "            fragment<accumulator, 16, 16, 16, float> wide;\n            store_"
    )
    text = text.replace(
        "            store_", "            for (int i = 0; i < 8; ++i) wide.x[i] = sum.x[i];\n            store_"
    )
    report = report_of(tmp_path, cache, types, text.replace("col], sum, cols", "col], wide, cols"))
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    real = [check for check in report.checks if check.case.endswith(" real")]
    assert [check.status for check in real] == ["failed"]


_BY_PLACE = """for (int i = 0; i < sum.num_elements; ++i) {
                int r = row + threadIdx.x / 4 + i / 2 % 2 * 8, c = col + threadIdx.x % 4 * 2 + i % 2 + i / 4 * 8;
                C[r * cols + c] = sum.x[i];  // by place
            }"""
_BY_ROW = """for (int i = 0; i < sum.num_elements; ++i)
                if (threadIdx.x / 4 + i / 2 % 2 * 8 < 16) sum.x[i] *= 1 + threadIdx.x / 4 % 2;  // by place
            for (int i = 0; i < sum.num_elements; ++i) sum.x[i] /= 1 + threadIdx.x / 4 % 2;"""
_KEPT = """__shared__ float kept[8][32];
            for (int i = 0; i < sum.num_elements; ++i) kept[i][threadIdx.x] = 2 * sum.x[i];
            fragment<accumulator, 16, 16, 16, float> other;
            for (int i = 0; i < sum.num_elements; ++i) other.x[i] = kept[i][threadIdx.x] - sum.x[i];"""


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    ("old", "new", "relies"),
    [
        ("store_matrix_sync(&C[row * cols + col], sum, cols, mem_row_major);", _BY_PLACE, True),
        ("            store", f"            {_BY_ROW}\n            store", False),
        ("            store_matrix_sync(&C[row * cols + col], sum",
         f"            {_KEPT}\n            store_matrix_sync(&C[row * cols + col], other", False),
        ("(RESULT)0.0f);", "(RESULT)0.0f);\n            sum.x[0] = 0;", False),
    ],
)  # fmt: skip
def test_only_results_that_depend_on_the_places_of_elements_get_a_remark(tmp_path, cache, old, new, relies):
    assert old in WMMA
    types = "half", "half", "float"
    text = written(WMMA.replace(old, new), types, {"FACTOR": "half", "SIDE": "16", "STEP": "16"})

    report = report_of(tmp_path, cache, types, text)

    assert report.verdict is Verdict.ACCEPTED, report.message
    lines = text.split("\n")
    assert ["by place" in lines[finding.line - 1] for finding in report.findings] == [True] * relies, report.findings
