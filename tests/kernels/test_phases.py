"""The table of execution phases is made from a run, and is the one that the course prints for its own kernel."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import load_program
from kernels.evidence import Accumulation, Fetch, PhaseTable
from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.phases.table import phase_table
from kernels.phases.textbook import textbook_table
from kernels.phases.views import PADDING, block_header, block_phase, block_rows, thread_header, thread_rows
from kernels.rendering.page.charts.phases import picture
from kernels.rendering.phases import render_phases
from kernels.source.source_file import Source, read_source
from kernels.wire import from_plain, to_plain
from tests.marks import linux

pytestmark = linux

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests/corpus"
SQUARE = (ROOT / "kernels/exercises/tiled-square/solution.cu").read_text()
TILED = (ROOT / "kernels/exercises/tiled/solution.cu").read_text()
FIRST, BESIDE = (0, 0, 0), (1, 0, 0)


def right(name: str) -> str:
    return (CORPUS / f"right/{name}.cu").read_text()


def wrong(name: str) -> str:
    return (CORPUS / f"wrong/{name}.cu").read_text()


@cache
def table_of(
    text: str, exercise: str = "tiled-square", tile: int = 2, width: int = 4, *, fmad: bool = True
) -> PhaseTable:
    """The phases of a kernel that really ran at one size."""
    rules = find_exercise(exercise)
    source = read_source(text.encode(), rules)
    assert isinstance(source, Source), source
    plan = make_plan(rules, source, tile, "00")
    case = next(case for case in plan.cases if set(case.sizes.values()) == {width})
    made = compile_source(text, rules.kernel, "sm_90", source.defines(rules, plan.tile, case.sizes), fmad)
    assert isinstance(made, Compilation), made
    table = phase_table(load_program(made.ptx, made.entry), plan, case)
    assert table is not None
    return table


def terms(table: PhaseTable, element: str) -> list[str]:
    """All products that were added to an element, over all phases."""
    return [
        term
        for phase in table.phases
        for block in phase.blocks
        for each in block.accumulations
        if each.target == element
        for term in each.elements.split(" + ")
    ]


def products(row: int, column: int, length: int) -> set[str]:
    return {f"M[{row}][{k}]*N[{k}][{column}]" for k in range(length)}


# The course's table for 4x4 matrices and tiles of 2, with its slips set right: thread 0,1 stores N[0][1] in
# Nds[0][1], and the second phase's sums are written out.
EXECUTION_PHASES = """
0,0 | M[0][0] -> Mds[0][0] | N[0][0] -> Nds[0][0] | Mds[0][0]*Nds[0][0] + Mds[0][1]*Nds[1][0] | M[0][2] -> Mds[0][0] | N[2][0] -> Nds[0][0] | Mds[0][0]*Nds[0][0] + Mds[0][1]*Nds[1][0]
0,1 | M[0][1] -> Mds[0][1] | N[0][1] -> Nds[0][1] | Mds[0][0]*Nds[0][1] + Mds[0][1]*Nds[1][1] | M[0][3] -> Mds[0][1] | N[2][1] -> Nds[0][1] | Mds[0][0]*Nds[0][1] + Mds[0][1]*Nds[1][1]
1,0 | M[1][0] -> Mds[1][0] | N[1][0] -> Nds[1][0] | Mds[1][0]*Nds[0][0] + Mds[1][1]*Nds[1][0] | M[1][2] -> Mds[1][0] | N[3][0] -> Nds[1][0] | Mds[1][0]*Nds[0][0] + Mds[1][1]*Nds[1][0]
1,1 | M[1][1] -> Mds[1][1] | N[1][1] -> Nds[1][1] | Mds[1][0]*Nds[0][1] + Mds[1][1]*Nds[1][1] | M[1][3] -> Mds[1][1] | N[3][1] -> Nds[1][1] | Mds[1][0]*Nds[0][1] + Mds[1][1]*Nds[1][1]
"""  # noqa: E501

# Figure 6.11 of the course, with M[9] where it has M[19].
LOADED_BY_BLOCKS = """
Tiles loaded by | Block 0,0 | Block 0,1 | Block 1,0 | Block 1,1
Phase 0 (2D index) | M[0][0], M[0][1], M[1][0], M[1][1] | M[0][0], M[0][1], M[1][0], M[1][1] | M[2][0], M[2][1], M[3][0], M[3][1] | M[2][0], M[2][1], M[3][0], M[3][1]
Phase 0 (linearized index) | M[0], M[1], M[4], M[5] | M[0], M[1], M[4], M[5] | M[8], M[9], M[12], M[13] | M[8], M[9], M[12], M[13]
Phase 1 (2D index) | M[0][2], M[0][3], M[1][2], M[1][3] | M[0][2], M[0][3], M[1][2], M[1][3] | M[2][2], M[2][3], M[3][2], M[3][3] | M[2][2], M[2][3], M[3][2], M[3][3]
Phase 1 (linearized index) | M[2], M[3], M[6], M[7] | M[2], M[3], M[6], M[7] | M[10], M[11], M[14], M[15] | M[10], M[11], M[14], M[15]
"""  # noqa: E501


def rows_of(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines())


def execution_phases() -> tuple[tuple[str, ...], ...]:
    rows = rows_of(EXECUTION_PHASES)
    return tuple(tuple(f"PValue += {cell}" if at in {3, 6} else cell for at, cell in enumerate(row)) for row in rows)


# -- S2d: the table of execution phases -------------------------------------------------------------------------------


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize("fmad", [True, False])
@pytest.mark.parametrize(("text", "exercise"), [(SQUARE, "tiled-square"), (TILED, "tiled")])
def test_s2d_table_of_execution_phases(text, exercise, fmad):
    table = table_of(text, exercise, fmad=fmad)
    assert thread_header(table) == (
        "thread (ty,tx)",
        "phase 0: M", "phase 0: N", "phase 0: sum",
        "phase 1: M", "phase 1: N", "phase 1: sum",
    )  # fmt: skip
    assert thread_rows(table, FIRST) == execution_phases()
    assert table.note == ""
    assert table.matrices == {"M": (4, 4), "N": (4, 4), "P": (4, 4), "Mds": (2, 2), "Nds": (2, 2)}


@pytest.mark.one_in(3, "a third of the ways")
@pytest.mark.parametrize(
    ("name", "exercise", "cells"),
    [
        ("tiled_cp_async", "tiled", {"As": "Mds", "Bs": "Nds"}),
        ("tiled_double_sum", "tiled", {}),
        ("tiled_kahan", "tiled", {}),
        ("tiled_called_loader", "tiled", {}),
        ("tiled_clear_then_load", "tiled", {}),
        ("square_prefetch_registers", "tiled-square", {"As": "Mds", "Bs": "Nds"}),
    ],
)
def test_s2d_other_ways_to_write_it_have_the_same_table(name, exercise, cells):
    rows = repr(thread_rows(table_of(right(name), exercise), FIRST))
    for own, course in cells.items():
        rows = re.sub(rf"\b{own}\b", course, rows)
    assert rows == repr(execution_phases())


def test_s2d_sums_are_told_apart_by_the_element_that_they_end_in():
    (row,) = thread_rows(table_of(right("tiled_register_blocking"), "tiled"), FIRST)
    assert row[1] == "M[0][0] -> As[0][0]; M[0][1] -> As[0][1]; M[1][0] -> As[1][0]; M[1][1] -> As[1][1]"
    assert row[3].split("; ") == [
        "P[0][0] += As[0][0]*Bs[0][0] + As[0][1]*Bs[1][0]",
        "P[0][1] += As[0][0]*Bs[0][1] + As[0][1]*Bs[1][1]",
        "P[1][0] += As[1][0]*Bs[0][0] + As[1][1]*Bs[1][0]",
        "P[1][1] += As[1][0]*Bs[0][1] + As[1][1]*Bs[1][1]",
    ]


def test_s2d_coarsened_kernel_loads_one_tile_of_m_for_two_of_n():
    table = table_of(right("tiled_coarse_columns"), "tiled")
    row = thread_rows(table, FIRST)[0]
    assert row[1::3] == ("M[0][0] -> Mds[0][0]", "", "M[0][2] -> Mds[0][0]", "")
    assert [cell.partition(" += ")[0] for cell in row[3::3]] == ["P[0][0]", "P[0][2]", "P[0][0]", "P[0][2]"]


def test_s2d_zeros_at_the_boundary():
    rows = thread_rows(table_of(TILED, "tiled", width=3), FIRST)
    assert rows[1] == (
        "0,1",
        "M[0][1] -> Mds[0][1]", "N[0][1] -> Nds[0][1]", "PValue += Mds[0][0]*Nds[0][1] + Mds[0][1]*Nds[1][1]",
        "0 -> Mds[0][1]", "N[2][1] -> Nds[0][1]", "PValue += Mds[0][0]*Nds[0][1] + Mds[0][1]*Nds[1][1]",
    )  # fmt: skip
    entry = block_phase(table_of(TILED, "tiled", width=3), 1, FIRST)
    assert entry is not None
    assert entry.accumulations[1].elements == "M[0][2]*N[2][1] + 0*0"


def test_s2d_dynamic_shared_memory_has_flat_cells():
    row = thread_rows(table_of(right("tiled_one_array"), "tiled"), FIRST)[3]
    assert row[1:4] == ("M[1][1] -> tiles[3]", "N[1][1] -> tiles[7]", "PValue += tiles[2]*tiles[5] + tiles[3]*tiles[7]")


def test_s2d_naive_kernel_has_one_phase_in_terms_of_elements():
    table = table_of((ROOT / "kernels/exercises/naive/solution.cu").read_text(), "naive")
    rows = thread_rows(table, FIRST)
    assert rows[0] == ("0,0", "PValue += M[0][0]*N[0][0] + M[0][1]*N[1][0] + M[0][2]*N[2][0] + M[0][3]*N[3][0]")
    assert len(table.phases) == 1
    assert "global memory" in table.note


# -- S4c: figure 6.11 -------------------------------------------------------------------------------------------------


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("text", "exercise"), [(SQUARE, "tiled-square"), (TILED, "tiled"), (right("tiled_double_buffer"), "tiled")]
)
def test_s4c_elements_of_m_loaded_by_each_block(text, exercise):
    table = table_of(text, exercise)
    assert (block_header(table), *block_rows(table, "M")) == rows_of(LOADED_BY_BLOCKS)


def test_s4c_column_major_elements_are_named_by_row_and_column_and_by_their_place():
    text = (ROOT / "kernels/exercises/corner-turning/solution.cu").read_text()
    rows = block_rows(table_of(text, "corner-turning"), "N")
    assert rows[0][2] == "N[0][2], N[1][2], N[0][3], N[1][3]"
    assert rows[1][2] == "N[8], N[9], N[12], N[13]"


# -- S0b: loading and computing alternate -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiled_double_buffer", "tiled_load_sync_alternate", "tiled_three_buffers"])
def test_s0b_what_is_loaded_ahead_stands_where_it_is_used(name):
    table = table_of(right(name), "tiled")
    assert len(table.phases) == 2
    # With three buffers both tiles are there before the first is used.
    assert ("next phase" in table.note) is (name != "tiled_three_buffers")
    for number, phase in enumerate(table.phases):
        for block in phase.blocks:
            loaded = {fetch.element for fetch in block.fetches}
            used = {e for each in block.accumulations for e in re.findall(r"[MN]\[\d\]\[\d\]", each.elements)}
            assert used == loaded, (number, block.block)


def test_s0b_every_thread_loads_one_element_of_each_tile_and_each_is_used_by_two():
    for phase in table_of(SQUARE).phases:
        for block in phase.blocks:
            assert len(block.fetches) == len({fetch.element for fetch in block.fetches}) == 8
            sums = " ".join(each.elements for each in block.accumulations)
            assert {sums.count(fetch.element) for fetch in block.fetches} == {2}
            assert {fetch.line for fetch in block.fetches} == {21, 22}


# -- S2c: the work of blocks (0,0) and (0,1) at 8x8 -------------------------------------------------------------------


@pytest.mark.parametrize("tile", [2, 4])
def test_s2c_work_of_two_blocks_of_8x8(tile):
    table = table_of(SQUARE, tile=tile, width=8)
    assert len(table.phases) == 8 // tile
    for block in (FIRST, BESIDE):
        for phase in range(8 // tile):
            entry = block_phase(table, phase, block)
            assert entry is not None
            for y in range(tile):
                for x in range(tile):
                    own = [f"{f.element} -> {f.cell}" for f in entry.fetches if f.thread == (x, y, 0)]
                    assert own == [
                        f"M[{y}][{phase * tile + x}] -> Mds[{y}][{x}]",
                        f"N[{phase * tile + y}][{block[0] * tile + x}] -> Nds[{y}][{x}]",
                    ]
                    (added,) = [each for each in entry.accumulations if each.thread == (x, y, 0)]
                    assert added.cells == " + ".join(f"Mds[{y}][{k}]*Nds[{k}][{x}]" for k in range(tile))
                    assert added.target == f"P[{y}][{block[0] * tile + x}]"


# -- any kernel -------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(3, "a third of the kernels")
@pytest.mark.parametrize(
    "name",
    [
        "naive_accumulates_in_output",
        "naive_block_reduction",
        "naive_butterfly_vote",
        "naive_double_tiles_in_local",
        "naive_global_atomics",
        "naive_shared_atomics",
        "naive_warp_broadcast",
        "tiled_outer_product",
        "tiled_two_halves_of_k",
        "tiled_whole_blocks_return",
        "square_column_of_float2",
    ],
)
def test_every_product_of_a_right_kernel_is_followed_to_its_element(name):
    assert_followed(table_of(right(name), {"square": "tiled-square"}.get(name.split("_")[0], name.split("_")[0])))


def assert_followed(table: PhaseTable) -> None:
    for row in range(4):
        for column in range(4):
            found = [term for term in terms(table, f"P[{row}][{column}]") if "0*" not in term and "*0" not in term]
            assert set(found) == products(row, column, 4)
            assert len(found) == 4


def test_two_values_in_one_register_are_followed():
    text = right("square_column_of_float2")
    for old, new in (
        ("float2 Ms", "unsigned long long Ms"),
        ("Ms[ty][tx] =", "float2 both ="),
        ("Ns[ty][tx] =", 'asm("mov.b64 %0, {%1, %2};" : "=l"(Ms[ty][tx]) : "f"(both.x), "f"(both.y)); Ns[ty][tx] ='),
        ("m = Ms[ty][k]", "m = reinterpret_cast<float2&>(Ms[ty][k])"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert_followed(table_of(text))


def test_what_is_taken_away_is_not_said_to_be_added():
    table = table_of(SQUARE.replace("Pvalue +=", "Pvalue -="))
    assert thread_rows(table, FIRST)[0][3] == "PValue += -Mds[0][0]*Nds[0][0] - Mds[0][1]*Nds[1][0]"


def test_a_missing_barrier_does_not_break_the_table():
    text = SQUARE.replace("__syncthreads();  // the tiles are complete before any thread reads them", "")
    assert text != SQUARE
    table = table_of(text)
    assert thread_rows(table, FIRST) == execution_phases()


@pytest.mark.long("the short suite has the notes of other kernels")
def test_an_endless_kernel_has_a_note():
    table = table_of(wrong("endless_phase_loop"), "tiled")
    assert "runs too long" in table.note or "too long to follow" in table.note


def test_a_launch_of_many_threads_is_not_followed():
    table = table_of(SQUARE, tile=16, width=48)
    assert table.phases == ()
    assert table.note == "2,304 threads are too many to follow: at most 1,024."


def test_the_table_crosses_processes():
    table = table_of(SQUARE)
    assert from_plain(PhaseTable, to_plain(table)) == table


def without_lines(table: PhaseTable) -> list[tuple[list[Fetch], list[Accumulation]]]:
    """The work of each block by phase, without what only a run has: lines, and the choice of zeros to follow."""
    return [
        (
            [replace(each, line=None) for each in block.fetches if each.element != PADDING],
            [replace(each, line=None) for each in block.accumulations],
        )
        for phase in table.phases
        for block in phase.blocks
    ]


@pytest.mark.parametrize(("exercise", "width"), [("tiled-square", 4), ("tiled", 3)])
def test_the_textbook_table_is_that_of_the_solution(exercise, width):
    rules = find_exercise(exercise)
    ran = table_of(rules.solution.read_text(), exercise, 2, width)
    made = textbook_table(rules, {"Width": width}, 2)
    assert without_lines(made) == without_lines(ran)
    assert replace(made, phases=(), note="") == replace(ran, phases=(), note="")


# -- text and pictures ------------------------------------------------------------------------------------------------


def test_text_has_both_views():
    text = render_phases(table_of(SQUARE))
    assert "Execution phases at Width=4, tile 2" in text
    assert re.search(r"0,1 +M\[0\]\[1\] -> Mds\[0\]\[1\] +N\[0\]\[1\] -> Nds\[0\]\[1\] +PValue \+= Mds", text)
    assert re.search(r"Phase 0 \(linearized index\).*M\[8\], M\[9\], M\[12\], M\[13\]", text)


def test_picture_shows_what_the_block_reads_and_holds():
    drawn = picture(table_of(SQUARE), 1, BESIDE)
    tree = ET.fromstring(drawn)
    space = {"s": "http://www.w3.org/2000/svg"}
    assert tree.findtext("div/s:svg/s:title", "", space) == "Phase 1 of block 0,1"
    described = tree.findtext("div/s:svg/s:desc", "", space)
    assert "Into Mds: M[0][2], M[0][3], M[1][2], M[1][3]." in described
    assert "Added to: P[0][2], P[0][3], P[1][2], P[1][3]." in described
    kinds = [each.get("class") for each in tree.iterfind(".//s:rect", space)]
    assert kinds.count("cell read") == 4 + 4 + 4 + 4 + 1  # two operands, two tiles, the legend
    assert kinds.count("cell summed") == 4 + 1
    texts = {each.text for each in tree.iterfind(".//s:text", space)}
    assert {"M[0][2]", "N[3][3]", "Mds", "P"} <= texts
    assert not re.search(r"#[0-9a-f]{3}|rgb|(fill|stroke)=\"(?!currentColor|none)[a-z]", drawn)


def test_picture_is_left_out_where_it_would_be_too_large_or_empty():
    assert picture(table_of(SQUARE), 7, FIRST) == ""
    assert picture(table_of(SQUARE, tile=16, width=32), 0, FIRST) == ""


@pytest.mark.parametrize("width", [100, 120])
@pytest.mark.parametrize("made_from", [SQUARE, TILED], ids=["square", "tiled"])
def test_no_line_of_the_text_is_wider_than_asked(made_from, width):
    text = render_phases(table_of(made_from), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "+ Mds[0][1]*Nds[1][0]" in text
