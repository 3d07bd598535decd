"""The map of an output's incorrect elements."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.exercise import find_exercise
from kernels.facts import IncorrectMap
from kernels.judging.compare import incorrect_map
from kernels.rendering.page.charts.incorrect_map import incorrect_view
from kernels.report import Report
from kernels.verdict import Verdict
from tests.worker.in_process import graded

LAST_COLUMN = """
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * blockDim.y + threadIdx.y, Col = blockIdx.x * blockDim.x + threadIdx.x;
    if (Row >= Width || Col >= Width - (Width > 1)) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    P[Row * Width + Col] = sum;
}
"""


@pytest.mark.parametrize(
    ("rows", "columns", "cells", "cell"),
    [(1, 1, (1, 1), (1, 1)), (32, 33, (32, 17), (1, 2)), (1025, 2048, (17, 32), (64, 64)), (5, 1, (1, 5), (1, 1))],
)
def test_cells_cover_the_matrix_in_powers_of_two(rows, columns, cells, cell):
    found = incorrect_map("", "P", np.ones((rows, columns), np.bool_))
    assert (len(found.cells), len(found.cells[0]), found.cell) == (*cells, cell)
    assert set("".join(found.cells)) == {"9"}
    assert found.drawable


def test_a_digit_says_how_many_elements_of_its_cell_are_incorrect():
    wrong = np.zeros((64, 64), np.bool_)
    wrong[0, 0] = wrong[2:4, 2:4] = wrong[4, 4:6] = wrong[5, 4] = True
    found = incorrect_map("", "P", wrong)
    assert found.cells[0][:4] == "3000"
    assert found.cells[1][:4] == "0900"
    assert found.cells[2][:4] == "0070"
    assert set("".join(found.cells[3:])) == {"0"}


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        (4, ()),
        (4, ("",)),
        (4, ("01", "1")),
        (4, ("0x",)),
        (4, ("٣",)),
        (64, ("1",) * 33),
        (64, ("1" * 33,)),
        (0, ("1",)),
        (4, ("0",)),
        (2**31, ("1",)),
    ],
)
def test_a_map_that_no_judge_made_is_not_drawn(rows, cells):
    assert not IncorrectMap("", "P", rows, rows, cells).drawable


@pytest.fixture(scope="module")
def report() -> Report:
    return graded(find_exercise("naive"), LAST_COLUMN)


def test_a_report_has_the_largest_case_with_correct_elements(report):
    assert report.verdict is Verdict.WRONG_ANSWER
    found = report.findings[0].facts.incorrect
    widths = [check.case.split()[0] for check in report.checks if check.incorrect]
    assert found.case.split()[0] == max(widths, key=lambda name: int(name.split("=")[1]))
    assert {row.strip("0") for row in found.cells} == {"3"}


def test_the_page_names_the_columns(report):
    view, found = incorrect_view(report), report.findings[0].facts.incorrect
    assert view is not None
    assert view.sentence.endswith("They are in columns 64 to 66.")
    assert view.drawing.count("<rect") == len(found.cells) * len(found.cells[0]) + 1
