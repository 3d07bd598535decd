"""The course's checklist as a report card, from kernels that ran."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.analysis.checklist import checklist
from kernels.analysis.subject import product_of
from kernels.analysis.theory import theory
from kernels.counters import Totals
from kernels.evidence import ChecklistRow, State
from kernels.exercise.values import ElementType
from kernels.occupancy import Occupancy
from kernels.rendering.page.summary import figures
from tests.kernels.analysed import CORPUS, analysed, solution
from tests.kernels.subjects import subject

ROWS = ["occupancy", "coalescing", "divergence", "tiling", "privatization", "coarsening"]

SWAPPED = """
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.x * blockDim.x + threadIdx.x;
    int Col = blockIdx.y * blockDim.y + threadIdx.y;
    if (Row < Width && Col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k)
            sum += M[Row * Width + k] * N[k * Width + Col];
        P[Row * Width + Col] = sum;
    }
}
"""


def card(source, exercise="tiled", size=None, tile=None, ranking=None) -> dict[str, ChecklistRow]:
    analysis = analysed(source, exercise, size, tile, ranking)
    assert not analysis.message, analysis.findings
    return {row.key: row for row in analysis.evidence.checklist}


def test_s4f_every_row_of_the_course_s_table_is_there_with_its_benefits():
    rows = card(solution("tiled"), "tiled", 128, 16)
    assert list(rows) == ROWS
    assert all(row.evidence.endswith(".") and row.cores and row.memory for row in rows.values())


def test_s4f_the_tiled_kernel_coalesces_and_tiles_and_is_not_coarsened():
    rows = card(solution("tiled"), "tiled", 128, 16)
    assert rows["coalescing"].state is rows["tiling"].state is rows["divergence"].state is State.YES
    assert rows["privatization"].state is State.NOT_NEEDED
    assert rows["coarsening"].state is State.NO
    assert "used 16 times" in rows["tiling"].evidence


def test_s4f_the_plain_kernel_coalesces_but_does_not_tile():
    rows = card(solution("naive"), "naive", 128)
    assert rows["coalescing"].state is State.YES
    assert rows["tiling"].state is State.NO
    assert "is used once" in rows["tiling"].evidence
    assert rows["tiling"].line == 14
    assert "16" in rows["tiling"].advice


def test_the_page_s_figure_of_coalescing_is_that_of_the_checklist():
    for source, shown in ((solution("naive"), ("100", "good")), (SWAPPED, ("18", "poor"))):
        analysis = analysed(source, "naive", 128, None, None)
        figure = next(each for each in figures(analysis) if each.title == "Sectors needed")
        assert (figure.number, figure.state) == shown


def test_s4f_exchanged_axes_are_uncoalesced_with_their_line_and_figures():
    row = card(SWAPPED, "naive", 128)["coalescing"]
    assert row.state is State.NO
    assert row.line == 8
    assert "Line 8" in row.evidence


def test_s4f_the_coarsened_kernel_has_its_row():
    row = card(solution("coarsened"), "coarsened", 128, 32, ranking=128)["coarsening"]
    assert row.state is State.YES
    assert "4 elements" in row.evidence


def test_s4f_atomic_updates_of_the_output_ask_for_a_private_copy():
    row = card(CORPUS / "right" / "naive_global_atomics.cu", "naive", 32, ranking=64)["privatization"]
    assert row.state is State.NO
    assert row.line is not None


def test_s3b_blocks_of_1024_threads_on_an_sm_of_1536_are_two_thirds_of_occupancy():
    rows = checklist(subject(occupancy=Occupancy(1, 32, 2 / 3, "warps")))
    assert rows[0].state is State.PARTLY
    assert "67 %" in rows[0].evidence
    assert "limited by warps" in rows[0].evidence


@pytest.mark.parametrize(
    ("kernel", "state"), [("bulk_rows_into_a_padded_tile", State.YES), ("bulk_groups_of_two_tiles", State.NO)]
)
def test_a_thread_that_issues_copies_for_its_block_is_no_divergence(kernel, state):
    path = CORPUS / "right" / f"{kernel}.cu"
    assert card(path, "coalescing", ranking=128)["divergence"].state is state
    split = any("splits warps" in each.text for each in analysed(path, "coalescing", ranking=128).evidence.advice)
    assert split is (state is State.NO)


def test_what_is_in_order_has_neither_advice_nor_a_gain():
    rows = card(solution("tiled"), "tiled", 128, 16)
    assert not any(row.advice or row.gain for row in rows.values() if row.state is State.YES)


def test_a_gain_is_how_many_times_shorter_the_modelled_bound_becomes():
    def by_loads(totals: Totals) -> float:
        return float(totals.global_load_requests)

    rows = {row.key: row for row in checklist(subject(global_load_requests=1600, tile=16), by_loads)}
    assert rows["tiling"].gain == 16


def test_an_element_of_64_bits_is_read_once():
    floats = subject()
    doubles = replace(floats, inputs=tuple(replace(each, type=ElementType.DOUBLE) for each in floats.inputs))
    assert floats.elements_read == 2 * 64**3
    assert doubles.elements_read == 64**3


def test_a_product_of_halves_has_its_reuse_and_no_formula_for_elements_of_4_bytes():
    floats = subject()
    halves = replace(floats, inputs=tuple(replace(each, type=ElementType.HALF) for each in floats.inputs))
    assert product_of(halves.inputs) == product_of(floats.inputs)
    assert "used" in {row.key: row for row in checklist(halves, lambda _: 1.0)}["tiling"].evidence
    of_floats, of_halves = ({row.key for row in theory(each)} for each in (floats, halves))
    assert of_floats - of_halves == {"load_requests", "compute_to_memory"}
