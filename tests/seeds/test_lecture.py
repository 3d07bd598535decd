"""The lecture on tiling (document 000): square matrices in tiles, phases of loading and computing, and N^3 / (16 W)."""

from __future__ import annotations

import pytest

from kernels.launch import Launch
from kernels.phases.views import block_phase, course_place
from kernels.verdict import Verdict
from tests.seeds.course import analysed, graded, line_of, outcomes, solution

SQUARE = solution("tiled-square")


def test_s0a_twelve_by_twelve_is_nine_blocks_of_four_by_four_threads():
    report = graded("tiled-square", SQUARE, "--tile", "4", "--case", "Width=12", sandboxed=True)
    assert report.verdict is Verdict.ACCEPTED
    assert outcomes(report) == {"passed"}
    assert report.launch == Launch(grid=(3, 3, 1), block=(4, 4, 1), shared=0)


def test_s0a_only_multiples_of_the_tile_are_asked_for():
    checks = graded("tiled-square", SQUARE, "--tile", "4").checks
    widths = {int(check.case.split()[0].removeprefix("Width=")) for check in checks}
    assert 12 in widths
    assert {width % 4 for width in widths} == {0}


def test_s0b_threads_load_an_element_of_each_tile_and_use_what_the_others_brought():
    table = analysed("tiled-square", SQUARE, "--size", "12", "--tile", "4").phases
    assert [phase.number for phase in table.phases] == [0, 1]
    for phase in table.phases:
        for block in phase.blocks:
            by_thread: dict[str, list[str]] = {}
            for fetch in block.fetches:
                by_thread.setdefault(course_place(fetch.thread, (2, 2, 1)), []).append(fetch.cell)
            assert by_thread == {
                place: [f"Mds[{place[0]}][{place[2]}]", f"Nds[{place[0]}][{place[2]}]"]
                for place in ("0,0", "0,1", "1,0", "1,1")
            }
    beside = block_phase(table, 0, (1, 0, 0))
    assert beside is not None
    (sums,) = [each for each in beside.accumulations if each.thread == (1, 0, 0)]
    assert (sums.target, sums.elements) == ("P[0][3]", "M[0][0]*N[0][3] + M[0][1]*N[1][3]")


def test_s0b_a_block_waits_after_loading_and_after_computing():
    found = analysed("tiled-square", SQUARE, "--size", "12", "--tile", "4")
    barriers = found.theory["barriers"]
    assert barriers.expected == barriers.counted == 2 * 3  # three phases


@pytest.mark.long("the short suite counts the same in tests/kernels/test_theory.py")
@pytest.mark.parametrize(("tile", "requests"), [(16, 65_536), (32, 32_768)])
def test_s0c_memory_accesses_are_n_cubed_by_16_w(tile, requests):
    found = analysed("tiled-square", SQUARE, "--size", "256", "--tile", str(tile), sandboxed=True)
    evidence = found.analysis.evidence
    assert evidence.extent is not None
    assert evidence.extent.exact
    assert evidence.totals.global_load_requests == requests
    row = found.theory["load_requests"]
    assert (row.expected, row.counted, row.departs) == (requests, requests, 0)
    assert requests == (tile * tile // 32) * (2 * 256 // tile) * (256 // tile) ** 2
    for name in "MN":
        access = found.access(name, f"= {name}[")
        assert access.requests == requests / 2
        assert access.sectors == access.ideal_sectors == 4 * access.requests


def test_s0c_where_a_kernel_loads_more_the_formula_says_where():
    twice = SQUARE.replace("Nds[ty][tx] = N[", "Nds[ty][tx] = N[Col] * 0.0f + N[")
    row = analysed("tiled-square", twice, "--size", "32").theory["load_requests"]
    assert row.departs > 0
    assert row.line == line_of(twice, "Nds[ty][tx] =")
