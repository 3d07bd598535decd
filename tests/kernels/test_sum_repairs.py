"""Which lines of a source show why a sum is incorrect."""

from __future__ import annotations

import pytest

from kernels.facts import Facts
from kernels.report.advice import next_step
from kernels.report.sum_repairs import sum_repair
from tests.kernels.facts_of import of_diagnosis, of_race
from tests.kernels.test_next_steps import race
from tests.kernels.test_report_text import report

SOURCE = """__global__ void mul(const float* M, float* P, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        sum += M[k] * M[k + n];
    }
    P[0] = sum;
}"""
NONE = Facts()
NEGATIVE = of_diagnosis("scaled_-1")


@pytest.mark.parametrize(
    ("facts", "right", "wrong", "line"),
    [
        (NONE, "sum +=", "sum =", 4),
        (NEGATIVE, "sum +=", "sum -=", 4),
        (NONE, "float sum", "int sum", 2),
        (NONE, "float sum = 0", "int sum = 0.0f", 2),
        # These may be correct.
        (NONE, "", "", None),
        (NONE, "sum +=", "sum -=", None),
        (NONE, "sum += M[k] * M[k + n];", "sum = M[n] * 2;", None),
        (NONE, "sum += M[k] * M[k + n];", "sum = M[k] * 2; P[k] = sum;", None),
        (NONE, "sum += M[k]", "float sum = M[k]", None),
        (NONE, "sum += M[k]", "sum = sum + M[k]", None),
        (NONE, "sum += M[k] * M[k + n];", "last = M[k] * 2;", None),
    ],
)
def test_a_line_is_named_if_it_alone_spoils_the_sum(facts, right, wrong, line):
    found = sum_repair(facts, SOURCE.replace(right, wrong).split("\n"))
    assert (None if found is None else found.line) == line


CUT = of_diagnosis("cut_factors")
TILES = "__global__ void mul(const float* M, float* P) {{\n{}\n}}"


@pytest.mark.parametrize(
    ("facts", "declared", "advice"),
    [
        (CUT, "__shared__ int Ms[16][16];", "`Ms` as `float` at line 2."),
        (CUT, "__shared__ int Ms[16][16], Ns[16];", "`Ms` and `Ns` as `float` at line 2."),
        (CUT, "__shared__ int Ms[16];\n__shared__ int Ns[16];", "`Ms` and `Ns` as `float` at lines 2 and 3."),
        (NONE, "__shared__ int Ms[16][16];", ""),
        (CUT, "__shared__ float Ms[16][16];", ""),
        (CUT, "int* given; __shared__ int Ms[16];", ""),
    ],
)
def test_an_integer_tile_is_named_if_the_result_proves_lost_fractions(facts, declared, advice):
    found = sum_repair(facts, TILES.format(declared).split("\n"))
    assert advice in found.text if found is not None else not advice


def test_an_integer_sum_of_integers_is_no_mistake():
    text = SOURCE.replace("float sum", "int sum").replace("const float*", "const int*")
    assert sum_repair(NONE, text.split("\n")) is None


STORE = """__global__ void mul(float* P, int Width) {
    int Row = ROW;
    int Col = blockIdx.x * 16 + threadIdx.x;
    P[Row * Width + Col] = 0;
}"""


@pytest.mark.parametrize(
    ("row", "blocks", "unused"),
    [
        ("blockIdx.x * 16 + threadIdx.y", True, "blockIdx.y"),
        ("blockIdx.y * 16 + threadIdx.x", False, "threadIdx.y"),
        ("blockIdx.y + threadIdx.y", True, ""),
    ],
)
def test_a_race_of_one_store_names_the_index_that_it_lacks(row, blocks, unused):
    found = report(race(4, 4, "P[0][0]", of_race("write", blocks=blocks, together=True)))
    text = next_step(found, STORE.replace("ROW", row).split("\n")).text
    assert ("doesn't use" in text) is bool(unused)
    assert unused in text
