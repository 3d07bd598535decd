"""Which lines of a source show why a sum is incorrect."""

from __future__ import annotations

import pytest

from kernels.report.advice import next_step
from kernels.report.sum_repairs import sum_repair
from kernels.wording import CUT_FACTORS
from tests.kernels.test_next_steps import race
from tests.kernels.test_report_text import report

SOURCE = """__global__ void mul(const float* M, float* P, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        sum += M[k] * M[k + n];
    }
    P[0] = sum;
}"""
NEGATIVE = "Every element is the negative of the expected value."


@pytest.mark.parametrize(
    ("message", "right", "wrong", "line"),
    [
        ("", "sum +=", "sum =", 4),
        (NEGATIVE, "sum +=", "sum -=", 4),
        ("", "float sum", "int sum", 2),
        ("", "float sum = 0", "int sum = 0.0f", 2),
        # These may be correct.
        ("", "", "", None),
        ("", "sum +=", "sum -=", None),
        ("", "sum += M[k] * M[k + n];", "sum = M[n] * 2;", None),
        ("", "sum += M[k] * M[k + n];", "sum = M[k] * 2; P[k] = sum;", None),
        ("", "sum += M[k]", "float sum = M[k]", None),
        ("", "sum += M[k]", "sum = sum + M[k]", None),
        ("", "sum += M[k] * M[k + n];", "last = M[k] * 2;", None),
    ],
)
def test_a_line_is_named_if_it_alone_spoils_the_sum(message, right, wrong, line):
    found = sum_repair(message, SOURCE.replace(right, wrong).split("\n"))
    assert (None if found is None else found.line) == line


CUT = f"The result matches {CUT_FACTORS}."
TILES = "__global__ void mul(const float* M, float* P) {{\n{}\n}}"


@pytest.mark.parametrize(
    ("message", "declared", "advice"),
    [
        (CUT, "__shared__ int Ms[16][16];", "`Ms` as `float` at line 2."),
        (CUT, "__shared__ int Ms[16][16], Ns[16];", "`Ms` and `Ns` as `float` at line 2."),
        (CUT, "__shared__ int Ms[16];\n__shared__ int Ns[16];", "`Ms` and `Ns` as `float` at lines 2 and 3."),
        ("", "__shared__ int Ms[16][16];", ""),
        (CUT, "__shared__ float Ms[16][16];", ""),
        (CUT, "int* given; __shared__ int Ms[16];", ""),
    ],
)
def test_an_integer_tile_is_named_if_the_result_proves_lost_fractions(message, declared, advice):
    found = sum_repair(message, TILES.format(declared).split("\n"))
    assert advice in found.text if found is not None else not advice


def test_an_integer_sum_of_integers_is_no_mistake():
    text = SOURCE.replace("float sum", "int sum").replace("const float*", "const int*")
    assert sum_repair("", text.split("\n")) is None


STORE = """__global__ void mul(float* P, int Width) {
    int Row = ROW;
    int Col = blockIdx.x * 16 + threadIdx.x;
    P[Row * Width + Col] = 0;
}"""


@pytest.mark.parametrize(
    ("row", "blocks", "unused"),
    [
        ("blockIdx.x * 16 + threadIdx.y", ("(0,0)", "(0,1)"), "blockIdx.y"),
        ("blockIdx.y * 16 + threadIdx.x", ("(0,0)", ""), "threadIdx.y"),
        ("blockIdx.y + threadIdx.y", ("(0,0)", "(0,1)"), ""),
    ],
)
def test_a_race_of_one_store_names_the_index_that_it_lacks(row, blocks, unused):
    other = f" of block {blocks[1]}" if blocks[1] else ""
    message = f"Thread (0,0) of block {blocks[0]} and thread (0,1){other} both write `P[0][0]`."
    found = report(race(4, 4, "P[0][0]", message))
    text = next_step(found, STORE.replace("ROW", row).split("\n")).text
    assert ("doesn't use" in text) is bool(unused)
    assert unused in text
