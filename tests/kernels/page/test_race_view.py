"""The steps of a race."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.facts import Access, AccessKind, Facts, Mistake, Operation
from kernels.rendering.page.charts.race import Access as PictureAccess
from kernels.rendering.page.charts.race import Band, Shared, race_picture
from kernels.rendering.page.race_view import RaceView, race_view
from kernels.verdict import Finding, Verdict
from tests.kernels.explanations import with_source
from tests.kernels.facts_of import at
from tests.kernels.test_report_text import RACE, report

SOURCE = [
    "#define TILE_WIDTH 8",
    "__shared__ float Mds[TILE_WIDTH][TILE_WIDTH + 1];",
    "Mds[ty][tx] = M[i];  // not __syncthreads();",
    "sum += Mds[ty][k];",
    "__syncthreads();",
]
TWO = Finding(
    Verdict.DATA_RACE,
    "Thread (3,0) of block (0,1) writes `Mds[0][3]` at line 3. Thread (1,0) reads it in line 4, "
    "with no `__syncthreads()` between them.",
    4,
    3,
    example=at("Mds[0][3]", block=(0, 1, 0), threads=((1, 0, 0), (3, 0, 0))),
    facts=Facts(accesses=(Access((3, 0), AccessKind.WRITE, 3), Access((1, 0), AccessKind.READ, 4))),
)


def _view(finding: Finding) -> RaceView:
    view = race_view(with_source(report(finding), SOURCE))
    assert view is not None
    return view


def test_the_steps_light_one_thread_then_both_then_two_phases():
    view = _view(TWO)
    assert "line 5" in view.barriers
    assert "3" not in view.barriers
    first, both, repaired = (str(step.drawing) for step in view.steps)
    assert ("thread (3,0)" in first, "thread (1,0)" in first) == (True, False)
    assert 'class="racing"' in both
    assert both.count("thread (") == 2
    assert 'class="added"' in repaired
    assert 'class="racing"' not in repaired


def test_the_titles_name_the_memory_of_the_element():
    view = _view(TWO)
    assert "shared memory Mds[0][3]" in view.title
    assert all(">Mds[0][3] in shared memory<" in str(step.drawing) for step in view.steps)
    other = _view(replace(TWO, example=at("P[0][3]")))
    assert ">P[0][3]<" in str(other.steps[0].drawing), "its memory is unknown"


def test_the_array_has_the_extents_of_its_declaration():
    path = str(_view(TWO).steps[0].drawing).partition('class="cells"')[2].partition("/>")[0]
    assert (path.count("h"), path.count("v")) == (8 + 1, 9 + 1)


def test_an_array_of_one_row_is_a_box_and_not_a_line():
    drawn = str(
        race_picture(
            "race", "", Shared("sums[3]", "sums", 1, 32, 0, 3), [Band((PictureAccess("A", "3", "writes", 3),))]
        )
    )
    path = drawn.partition('class="cells"')[2].partition("/>")[0]
    assert (path.count("h"), path.count("v"), path.count("v22.0")) == (2, 2, 2)


def test_a_line_that_races_with_itself_gets_no_barrier():
    both = tuple(replace(access, kind=AccessKind.WRITE, line=3) for access in TWO.facts.accesses)
    facts = Facts(accesses=both, together=True)
    found = replace(TWO, line=3, other_line=3, example=at("sums[40]"), facts=facts)
    one, two = _view(found).steps
    assert "writes" in one.title
    assert "(1,0)" in two.title


def test_threads_of_two_blocks_are_named_with_their_blocks_and_get_no_barrier():
    places = zip(TWO.facts.accesses, ((0, 1), (1, 1)), strict=True)
    facts = Facts(accesses=tuple(replace(access, block=block) for access, block in places))
    one, two = _view(replace(TWO, facts=facts)).steps
    assert "of block (0,1) writes" in one.title
    assert "of block (1,1) reads" in two.title
    drawn = str(two.drawing)
    assert "block (0,1)" in drawn
    assert "block (1,1)" in drawn


def test_blocks_of_a_cluster_get_its_barrier():
    places = zip(TWO.facts.accesses, ((0, 1), (1, 1)), strict=True)
    accesses = tuple(replace(access, block=block) for access, block in places)
    view = _view(replace(TWO, facts=Facts(Mistake.CLUSTER_RACE, accesses=accesses)))
    assert "shared memory Mds[0][3]" in view.title
    assert "cluster.sync()" in view.barriers
    assert len(view.steps) == 3


@pytest.mark.parametrize("operation", [None, Operation.BULK_LOAD, Operation.PRODUCT])
def test_an_asynchronous_operation_needs_its_wait_not_only_a_barrier(operation):
    first, second = TWO.facts.accesses
    copy = replace(first, kind=AccessKind.COPY, operation=operation)
    view = _view(replace(TWO, facts=Facts(accesses=(copy, second))))
    assert "line 5" not in view.barriers
    assert "under way" in view.steps[1].title
    assert "wait" in view.steps[2].title
    refilled = _view(replace(TWO, facts=Facts(accesses=(second, replace(copy, operation=None)))))
    assert "wait" not in refilled.steps[2].title


@pytest.mark.parametrize("finding", [replace(RACE, example=None), replace(TWO, example=at("total"))])
def test_unknown_elements_have_no_picture(finding):
    assert race_view(with_source(report(finding), SOURCE)) is None
