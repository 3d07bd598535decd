"""The chapter on performance (document 004): layouts, corner turning, phases, coarsening, foo_kernel, checklist."""

from __future__ import annotations

import pytest

from kernels.phases.views import block_header, block_rows
from kernels.rendering.analysis import FIRST_LOOK
from kernels.verdict import Verdict
from tests.seeds.course import Analysed, analysed, changed, graded, outcomes, solution, starter, tilelab_says

CORNER = solution("corner-turning")
COARSENED = solution("coarsened")
FOO = solution("foo-kernel")


# -- S4a: layouts -----------------------------------------------------------------------------------------------------


def test_s4a_rows_are_read_coalesced_and_columns_are_not():
    by_row = changed(solution("naive"), ("__global__", "//!tilelab block=(32, 8) grid=(Width/32, Width/8)\n__global__"))
    by_column = changed(
        solution("column-major"), ("__global__", "//!tilelab block=(32, 8) grid=(Width/32, Width/8)\n__global__")
    )
    row = analysed("naive", by_row, "--size", "64").access("N", "Pvalue +=")
    column = analysed("column-major", by_column, "--size", "64").access("N", "Pvalue +=")
    assert (row.sectors_per_request, row.efficiency) == (4, 1)
    assert column.ptx_sectors == 32 * column.ptx_requests
    assert column.sectors_per_request == 32


def test_s4a_the_kernel_for_rows_is_wrong_on_columns():
    assert graded("column-major", starter("column-major"), "--case", "Width=13").verdict is Verdict.WRONG_ANSWER
    report = graded("column-major", solution("column-major"), "--case", "Width=13")
    assert (report.verdict, outcomes(report)) == (Verdict.ACCEPTED, {"passed"})


# -- S4b: corner turning ----------------------------------------------------------------------------------------------


def test_s4b_loads_are_coalesced_with_corner_turning_and_not_without():
    turned = analysed("corner-turning", CORNER, "--size", "64")
    n = turned.access("N", "= N[")
    assert (n.sectors, n.efficiency) == (4 * n.requests, 1)
    assert turned.analysis.evidence.totals.shared_load_conflicts == 0
    plain = analysed("corner-turning", starter("corner-turning"), "--size", "64")
    n = plain.access("N", "= N[")
    assert n.sectors == 32 * n.requests
    report = graded("corner-turning", CORNER, "--tile", "8", "--case", "Width=16")
    assert (report.verdict, outcomes(report)) == (Verdict.ACCEPTED, {"passed"})


# -- S4c: figure 6.11, with M[9] where it has M[19] -------------------------------------------------------------------

LOADED = """
Tiles loaded by            | Block 0,0 | Block 0,1 | Block 1,0 | Block 1,1
Phase 0 (2D index)         | 00 01 10 11 | 00 01 10 11 | 20 21 30 31 | 20 21 30 31
Phase 0 (linearized index) | 0 1 4 5 | 0 1 4 5 | 8 9 12 13 | 8 9 12 13
Phase 1 (2D index)         | 02 03 12 13 | 02 03 12 13 | 22 23 32 33 | 22 23 32 33
Phase 1 (linearized index) | 2 3 6 7 | 2 3 6 7 | 10 11 14 15 | 10 11 14 15
"""


def figure_6_11() -> tuple[tuple[str, ...], ...]:
    header, *rows = ([cell.strip() for cell in row.split("|")] for row in LOADED.strip().splitlines())
    full = [tuple(header)]
    for title, *cells in rows:
        form = "M[{0[0]}][{0[1]}]" if "2D" in title else "M[{0}]"
        full.append((title, *(", ".join(form.format(each) for each in cell.split()) for cell in cells)))
    return tuple(full)


def test_s4c_elements_of_m_loaded_by_each_block_in_each_phase():
    found = analysed("tiled-square", solution("tiled-square"), "--size", "64", "--tile", "16")
    assert (block_header(found.phases), *block_rows(found.phases, "M")) == figure_6_11()


# -- S4d: coarsening --------------------------------------------------------------------------------------------------


def test_s4d_the_grid_shrinks_by_the_coarse_factor_along_x():
    found = analysed("coarsened", COARSENED, "--size", "128")
    launch = found.analysis.launch
    assert launch is not None
    assert launch.block == (32, 32, 1)
    assert launch.grid == (128 // 32 // 4, 128 // 32, 1)
    row = found.theory["load_requests"]
    assert (row.expected, row.counted, row.departs) == (2_560, 2_560, 0)  # 4,096 without
    states = {each.key: each.state.value for each in found.analysis.evidence.checklist}
    assert states["coarsening"] == "yes"


def test_s4d_it_is_right_with_both_barriers_only():
    report = graded("coarsened", COARSENED, "--tile", "4", "--case", "Width=32")
    assert (report.verdict, outcomes(report)) == (Verdict.ACCEPTED, {"passed"})
    short = changed(COARSENED, ("__syncthreads();  // Nds is free", "// Nds is free"))
    assert graded("coarsened", short, "--tile", "4", "--case", "Width=32").verdict is Verdict.DATA_RACE


# -- S4e: foo_kernel --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def foo() -> Analysed:
    return analysed("foo-kernel", FOO, sandboxed=True)


@pytest.mark.parametrize(
    ("name", "part", "sectors", "segments"),
    [
        ("a", "= a[i]", 4, 1),
        ("b", "b[j * blockDim.x", 4, 1),
        ("c", "c[i * 4 + j];", 16, 4),
        ("d", "d[i + 8] =", 4, 2),  # 32 bytes on: whole sectors, but of two segments
        ("e", "e[i * 8] =", 32, 8),
    ],
)
def test_s4e_which_accesses_to_global_memory_are_coalesced(foo, name, part, sectors, segments):
    access = foo.access(name, part)
    assert access.ptx_requests == (32 if name not in "bc" else 4 * 32)
    assert access.ptx_sectors == sectors * access.ptx_requests
    if access.requests == access.ptx_requests:
        assert access.segments == segments * access.requests
    assert (access.ptx_sectors == 4 * access.ptx_requests) is (name in "abd")


@pytest.mark.parametrize(
    ("name", "part", "verb", "ways"),
    [
        ("a_s", "a_s[threadIdx.x] = a[i]", "store", 1),
        ("bc_s", "bc_s[j * 256 + threadIdx.x] =", "store", 1),
        ("a_s", "= a_s[threadIdx.x]", "load", 1),
        ("bc_s", "= bc_s[threadIdx.x * 4]", "load", 4),
    ],
)
def test_s4e_which_accesses_to_shared_memory_have_bank_conflicts(foo, name, part, verb, ways):
    access = foo.access(name, part, verb)
    assert access.wavefronts == ways * access.requests
    assert access.conflicts == (ways - 1) * access.requests


def test_s4e_the_text_points_at_those_three_and_at_no_other():
    text = tilelab_says("analyze", FOO, "-e", "foo-kernel").stdout
    first = " ".join(text[text.index(FIRST_LOOK) : text.index("Line by line")].split())
    for said in ("reads c uncoalesced", "writes e uncoalesced", "reads bc_s with 4-way bank conflicts"):
        assert said in first
    assert first.count("Line ") == 3


# -- S4f: table 6.1 ---------------------------------------------------------------------------------------------------

ROWS = {
    "occupancy": ("waits", "More requests run at the same time"),
    "coalescing": ("wait less for global memory", "Less traffic"),
    "divergence": ("No core idles", "None."),
    "tiling": ("wait less for global memory", "Less traffic"),
    "privatization": ("wait less for atomic updates", "Fewer updates of one address"),
    "coarsening": ("Less repeated work", "several blocks load"),
}


@pytest.mark.one_in(2, "every second exercise")
@pytest.mark.parametrize(
    ("exercise", "options"),
    [
        ("tiled-square", ("--tile", "4")),
        ("lab6-blocked", ("--tile", "4")),
        ("coalescing", ("--tile", "4")),
        ("foo-kernel", ()),
    ],
)
def test_s4f_every_accepted_report_is_the_checklist_with_evidence(exercise, options):
    report = graded(exercise, solution(exercise), *options)
    assert report.verdict is Verdict.ACCEPTED
    assert [row.key for row in report.evidence.checklist] == list(ROWS)
    for row in report.evidence.checklist:
        assert row.evidence.endswith(".")
        assert row.state.value in {"yes", "partly", "no", "not_needed"}


def test_s4f_each_row_has_the_course_s_benefits_and_the_text_shows_it():
    report = graded("tiled-square", solution("tiled-square"), "--tile", "4")
    for row in report.evidence.checklist:
        cores, memory = ROWS[row.key]
        assert cores in row.cores, row
        assert memory in row.memory, row
    text = tilelab_says("grade", solution("tiled-square"), "-e", "tiled-square", "--tile", "4").stdout
    assert all(row.title in text for row in report.evidence.checklist)


def test_s4f_a_kernel_that_is_not_accepted_has_none():
    report = graded("tiled-square", solution("tiled-square").replace("Pvalue +=", "Pvalue ="), "--tile", "4")
    assert report.verdict is Verdict.WRONG_ANSWER
    assert not report.evidence.checklist
