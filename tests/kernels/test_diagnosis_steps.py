"""Every diagnosis with the next step that it leads to, from the output to the report."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.exercise.model import InputKind
from kernels.facts import Element
from kernels.judging.compare import POISON, Solved, Sums, Transposed, mismatch, wrong_elements
from kernels.judging.diagnosis import diagnose
from kernels.judging.inputs import Expected
from kernels.judging.outcomes import Outcome, wrong_answer
from kernels.judging.plan import CasePlan
from kernels.report import Report
from kernels.report.explanation import explained
from kernels.verdict import CaseCheck, CaseStatus, Verdict
from tests.kernels.test_diagnosis import narrow, of_cells, product_of, real_product, without

PRODUCT = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ int Ms[16][16];
    __shared__ float Ns[16][16];
    int Row = blockIdx.y * 16 + threadIdx.y, Col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Ms[threadIdx.y][threadIdx.x] = M[Row * Width + ph * 16 + threadIdx.x];
        Ns[threadIdx.y][threadIdx.x] = N[(ph * 16 + threadIdx.y) * Width + Col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            sum -= Ms[threadIdx.y][k] * Ns[k][threadIdx.x];
        }
        __syncthreads();
    }
    P[Row * Width + Col] = sum;
}"""
SUM = """__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float part[512];
    for (int stride = blockDim.x; stride > 1; stride /= 2)
        if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
    output[blockIdx.x] = part[0];
}"""


def step_after(output, source: str, case: str) -> tuple[str, list[int]]:
    """The key of the step, and the lines to look at."""
    wrong = wrong_elements(output.actual, output.expected)
    plan = CasePlan(case, {"Width": 37}, InputKind(case.rpartition(" ")[2]), 0, True, (), (), None, None)
    outcome = Outcome(plan, CaseStatus.FAILED, "", mismatch=mismatch(output, wrong), diagnoses=diagnose(output, wrong))
    found = wrong_answer([outcome])
    checks = (CaseCheck(case, CaseStatus.FAILED),)
    report = Report(Verdict.WRONG_ANSWER, "", "tiled", "cpu", "sm_90", 16, findings=found, checks=checks)
    explanation = explained(report, source.split("\n"))
    return explanation.advice, [note.line for note in explanation.clues]


@pytest.mark.parametrize(
    ("step", "lines", "change"),
    [
        ("transposed_output", [15], lambda a, b: (a @ b).T),
        ("swapped_operands", [7, 8], lambda a, b: b @ a),
        ("transposed_reads", [7], lambda a, b: a.T @ b),
        ("transposed_reads", [8], lambda a, b: a @ b.T),
        ("transposed_reads", [7, 8], lambda a, b: a.T @ b.T),
        ("tile_indices", [7], of_cells("ky", "kx")),
        ("exchanged_threads", [15], of_cells("xk", "ky")),
        ("sum.subtracted", [11], lambda a, b: -(a @ b)),
        ("tiles_rounded_down", [6], lambda a, b: a[:, :32] @ b[:32]),
        ("tiles_rounded_down", [6], lambda a, b: a[:, 16:] @ b[16:]),
        ("narrow_format", [], lambda a, b: narrow(a, 8) @ b),
        ("unwritten_output", [15], without((slice(32, None), slice(None)))),
        # These say what is wrong, and the source doesn't show where.
        *(
            ("wrong_answer", [15], change)
            for change in (
                lambda a, b: 2 * (a @ b),
                lambda a, b: a[:, :16] @ b[:16],
                lambda a, b: a[:, :-1] @ b[:-1],
                lambda a, b: a[:, 1:] @ b[1:],
                lambda a, b: a @ b + a[:, 16:32] @ b[16:32],
                lambda a, b: a[:, 32:] @ b[32:],
                lambda a, b: np.roll(a @ b, 1, axis=0),
                lambda a, b: np.roll(a @ b, -1, axis=1),
                lambda a, b: np.full(a.shape, POISON, np.float32),
                lambda a, b: (a @ b) * np.nan,
                lambda a, b: 0 * a,
            )
        ),
    ],
)
def test_a_diagnosis_of_a_product_leads_to_its_step(step, lines, change):
    assert step_after(product_of(37, change), PRODUCT, "Width=37 integers_left") == (step, lines)


def of_diagonals(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What a tiled kernel computes if `threadIdx.x` chooses the row of each load and store."""
    on_diagonal = np.indices(left.shape)[0] % 16 == np.indices(left.shape)[1] % 16
    first = np.arange(0, len(left), 16)
    sums = np.add.reduceat((left * on_diagonal), first, axis=0) @ np.add.reduceat((right * on_diagonal), first, axis=1)
    result: np.ndarray = sums.repeat(16, axis=0).repeat(16, axis=1)[: len(left), : len(left)]
    return result


@pytest.mark.parametrize(
    ("step", "lines", "row", "column"),
    [
        ("exchanged_axes", [4], "blockIdx.x * 16 + threadIdx.x", "blockIdx.y * 16 + threadIdx.y"),
        ("exchanged_axes", [4], "blockIdx.y * 16 + threadIdx.x", "blockIdx.x * 16 + threadIdx.y"),
        # This source doesn't show it.
        ("wrong_answer", [15], "blockIdx.y * 16 + threadIdx.y", "blockIdx.x * 16 + threadIdx.x"),
    ],
)
def test_exchanged_axes_of_a_tiled_product_lead_to_row_and_column(step, lines, row, column):
    source = PRODUCT.replace(
        "Row = blockIdx.y * 16 + threadIdx.y, Col = blockIdx.x * 16 + threadIdx.x", f"Row = {row}, Col = {column}"
    )
    assert source.count(row)
    assert step_after(product_of(37, of_diagonals), source, "Width=37 integers_left") == (step, lines)


def test_lost_fractions_lead_to_the_tile_of_integers():
    output = real_product(lambda a, b: np.trunc(a) @ b)
    assert step_after(output, PRODUCT, "Width=37 real") == ("sum.integer_tiles", [2])


VALUES = np.random.default_rng(3).permutation(np.arange(1.0, 65.0))


def sums_of(change) -> Sums:
    """Sums of sections of 16 values, from each section as a row."""
    expected = Expected(VALUES.reshape(-1, 16).sum(axis=1)[None], np.zeros((1, 4)))
    actual = change(VALUES.reshape(-1, 16))[None].astype(np.float32)
    return Sums(VALUES, 16, expected, actual, 16, ("input", "output"), vector=True)


@pytest.mark.parametrize(
    ("step", "lines", "change"),
    [
        ("tree_ends_early", [3], lambda rows: rows[:, ::2].sum(axis=1)),
        ("tree_ends_early", [3], lambda rows: rows[:, 1::2].sum(axis=1)),
        *(
            ("follow.sum", [5], change)
            for change in (
                lambda rows: rows[:, 0],
                lambda rows: rows[:, :8].sum(axis=1),
                lambda rows: rows[:, 8:].sum(axis=1),
                lambda rows: rows[:, 1:].sum(axis=1),
                lambda rows: rows[:, :-1].sum(axis=1),
                lambda rows: 2 * rows.sum(axis=1),
                lambda rows: rows.sum(axis=1) + rows[:, 0],
                lambda rows: np.full(4, rows.sum()),
                lambda rows: np.cumsum(rows.sum(axis=1)),
                lambda rows: np.roll(rows.sum(axis=1), 1),
            )
        ),
    ],
)
def test_a_diagnosis_of_a_sum_leads_to_its_step(step, lines, change):
    assert step_after(sums_of(change), SUM, "n=64 integers") == (step, lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda given: given,
        lambda given: given.reshape(2, 16, 2, 16).transpose(0, 3, 2, 1).reshape(32, 32),
        lambda given: given.reshape(2, 16, 2, 16).transpose(2, 1, 0, 3).reshape(32, 32),
    ],
)
def test_a_diagnosis_of_a_transpose_leads_to_its_step(change):
    given = np.arange(1.0, 1025.0).reshape(32, 32)
    expected = Expected(given.T, np.zeros((32, 32)))
    output = Transposed(given, expected, change(given).astype(np.float32), 16, ("In", "Out"))
    assert step_after(output, "", "Width=32 mantissas") == ("follow.transpose", [])


def test_an_output_of_another_exercise_leads_to_its_element():
    expected = Expected(np.ones((1, 4)), np.zeros((1, 4)))
    output = Solved(
        expected, np.zeros((1, 4), np.float32), 16, ("C",), vector=True, name_of=lambda _, at: Element("C", (at,))
    )
    assert step_after(output, "", "n=4 random") == ("follow.element", [])
