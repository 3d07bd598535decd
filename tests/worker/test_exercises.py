"""The exercises that come with Tilelab, graded: their solutions, their starters, and whether the lesson shows."""

from __future__ import annotations

import pytest

from kernels.exercise import find_exercise, list_exercises
from kernels.exercise.wrong_kernels import wrong_kernels
from kernels.verdict import Verdict
from tests.gpu.solutions import is_special
from tests.marks import first_of_each, linux, some_of
from worker.steps.grading import Job, grade

pytestmark = linux

EXERCISES = {exercise.name: exercise for exercise in list_exercises()}
# What a student gets who hands in the starter as it is. Blanks are pointed at; a right one has a goal left to meet.
STARTERS = {
    "bank-conflicts": Verdict.ACCEPTED,
    "coalescing": Verdict.ACCEPTED,
    "coarsened": Verdict.ACCEPTED,
    "column-major": Verdict.WRONG_ANSWER,
    "convolution": Verdict.UNINITIALIZED_READ,
    "corner-turning": Verdict.ACCEPTED,
    "divergence": Verdict.ACCEPTED,
    "foo-kernel": Verdict.ACCEPTED,
    "histogram": Verdict.DATA_RACE,
    "hopper-wgmma": Verdict.BARRIER_DIVERGENCE,
    "inclusive-scan": Verdict.WRONG_ANSWER,
    "lab6-blocked": Verdict.ACCEPTED,
    "lab6-occupancy": Verdict.REJECTED,
    "naive": Verdict.WRONG_ANSWER,
    "reduction": Verdict.ACCEPTED,
    "single-block": Verdict.REJECTED,
    "sparse-matrix-vector": Verdict.OUT_OF_BOUNDS,
    "stencil": Verdict.OUT_OF_BOUNDS,
    "tensor-cores": Verdict.ACCEPTED,
    "tensor-int8": Verdict.WRONG_ANSWER,
    "tensor-mma": Verdict.WRONG_ANSWER,
    "tensor-pipeline": Verdict.DATA_RACE,
    "tensor-wmma": Verdict.REJECTED,
    "tiled": Verdict.OUT_OF_BOUNDS,
    "tiled-square": Verdict.REJECTED,
    "vector-addition": Verdict.OUT_OF_BOUNDS,
}


def graded(name, file, cache, kept, tile=None, *, evidence=False):
    return graded_file(name, getattr(find_exercise(name), file), cache, kept, tile, evidence=evidence)


def graded_file(name, file, cache, kept, tile=None, *, evidence=False):
    exercise, source = find_exercise(name), file.read_bytes()
    job = Job(source, exercise, arch="sm_90", seed="5eed" * 8, cache=cache, tile=tile, evidence=evidence)
    return grade(job, kept.stages())


def test_every_exercise_has_a_starter_whose_verdict_is_known():
    assert STARTERS.keys() == EXERCISES.keys()


WITH_TILES = first_of_each(
    [(each, tile) for each in EXERCISES.values() for tile in sorted(each.tiles, key=lambda t: t != each.tile)],
    lambda with_tile: with_tile[0].name,
    lambda with_tile: f"{with_tile[0].name}-{with_tile[1]}",
    "the short suite has each solution with the tile of its exercise",
)


@pytest.mark.parametrize("with_tile", WITH_TILES)
def test_a_solution_is_right_with_every_tile(with_tile, cache, kept):
    name, tile = with_tile[0].name, with_tile[1]
    report = graded(name, "solution", cache, kept, tile)
    assert (report.verdict, report.findings) == (Verdict.ACCEPTED, ()), report.message


@pytest.mark.one_in(2, "every second of those here")
@pytest.mark.parametrize(
    "name", some_of([each.name for each in EXERCISES.values() if each.goals], 3, str, "the short suite has a third")
)
def test_a_solution_meets_every_goal_and_has_its_table_of_phases(name, cache, kept):
    evidence = graded(name, "solution", cache, kept, evidence=True).evidence
    assert len(evidence.goals) == len(EXERCISES[name].goals)
    assert not [f"{goal.text}: {goal.counted}" for goal in evidence.goals if not goal.met]
    if EXERCISES[name].phases is not None:
        table = evidence.phases or evidence.stages
        assert table is not None
        assert table.phases


@pytest.mark.one_in(2, "every second here, and tests/corpus has one of each verdict")
@pytest.mark.parametrize(
    "name", first_of_each(STARTERS, STARTERS.__getitem__, str, "the short suite has a starter of each verdict")
)
def test_a_starter_gets_its_verdict_and_leaves_a_goal_to_meet(name, cache, kept):
    report = graded(name, "starter", cache, kept, evidence=True)
    assert report.verdict is STARTERS[name], report.message
    if report.verdict is Verdict.ACCEPTED and EXERCISES[name].goals:
        assert not all(goal.met for goal in report.evidence.goals)


def test_an_untiled_kernel_is_accepted_as_tiled_and_misses_the_goal(cache, kept):
    naive = find_exercise("tiled").root / "ladder" / "04_naive_16.cu"
    report = graded_file("tiled", naive, cache, kept, evidence=True)
    assert report.verdict is Verdict.ACCEPTED
    assert [goal.met for goal in report.evidence.goals] == [False]
    assert [light.sizes for light in report.evidence.light] == [find_exercise("tiled").ranking]


STEPS = {
    "hopper-wgmma/bytes_of_one_tile": "barrier_bytes",
    "hopper-wgmma/coordinates_swapped": "one_tile",
    "hopper-wgmma/parity_of_the_phase": "barrier_phase",
    "tensor-wmma/half_sums": "narrow_sums",
    "tensor-wmma/not_filled": "unwritten.fragment",
    "tensor-pipeline/barrier_before_wait": "race.copy_barrier",
    "tensor-pipeline/fetch_before_barrier": "race.refill",
    "tensor-pipeline/no_barrier": "race.copy_barrier",
    "tensor-pipeline/no_empty_groups": "race.copy_open",
    "tensor-pipeline/wait_for_too_few": "race.copy_open",
}
"""The next step after some wrong kernels, by its key."""

WRONG = first_of_each(
    [(each.name, wrong) for each in EXERCISES.values() for wrong in wrong_kernels(each)],
    lambda named: named[1].verdicts,
    lambda named: f"{named[0]}-{named[1].name}",
    "the short suite has a wrong kernel of each verdict",
)


@pytest.mark.one_in(2, "every second here, and tests/corpus has one of each verdict")
@pytest.mark.parametrize("named", WRONG)
def test_a_wrong_kernel_gets_its_verdict_and_line(named, cache, kept):
    name, wrong = named
    report = graded_file(name, wrong.file, cache, kept)
    assert wrong.shown_by(report.verdict, report.findings), (report.verdict, report.message)
    assert report.explanation.advice == STEPS.get(f"{name}/{wrong.name}", report.explanation.advice)


def test_every_exercise_of_other_types_or_computations_has_five_wrong_kernels():
    compared = [each for each in EXERCISES.values() if is_special(each)]
    assert {each.name: len(wrong_kernels(each)) for each in compared} == {
        "convolution": 5, "divergence": 6, "histogram": 5, "hopper-wgmma": 7, "inclusive-scan": 5,
        "sparse-matrix-vector": 5, "stencil": 5, "tensor-cores": 6, "tensor-int8": 6, "tensor-mma": 6,
        "tensor-pipeline": 6, "tensor-wmma": 6, "vector-addition": 5,
    }  # fmt: skip


RIGHT = [(each.name, file) for each in EXERCISES.values() for file in sorted(each.root.glob("right/*.cu"))]


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    "named",
    first_of_each(
        RIGHT,
        lambda named: named[0],
        lambda named: f"{named[0]}-{named[1].stem}",
        "the short suite has one of each exercise",
    ),
)
def test_another_correct_kernel_is_accepted(named, cache, kept):
    name, file = named
    report = graded_file(name, file, cache, kept)
    assert (report.verdict, report.findings) == (Verdict.ACCEPTED, ()), report.message


@pytest.mark.long("the short suite counts bank conflicts of tiles in tests/kernels")
def test_longer_rows_spare_fragments_of_half_their_bank_conflicts(cache, kept):
    """The machine code loads such a fragment like `ldmatrix`, 16 bytes of eight rows at once."""
    root = EXERCISES["tensor-wmma"].root
    reports = [
        graded_file("tensor-wmma", root / file, cache, kept, evidence=True)
        for file in ("solution.cu", "right/longer_rows.cu")
    ]
    totals = [report.evidence.totals for report in reports]
    assert [each.shared_load_requests for each in totals] == [1024, 1024]
    # rows 64 bytes apart take four passes for each of the four matrices
    assert [each.shared_load_conflicts for each in totals] == [1024 * 4 * 3, 0]


def test_a_reduction_diverges_from_the_fifth_of_its_eight_iterations_on(cache, kept):
    """As the course has it for blocks of 256 threads: interleaved always, contiguous not before the fifth."""
    assert diverging("starter", cache, kept) == [8, 8, 8, 8, 8, 4, 2, 1]
    assert diverging("solution", cache, kept) == [0, 0, 0, 0, 1, 1, 1, 1]


def diverging(file, cache, kept):
    """Warps of a block that split at the branch in the loop, iteration by iteration."""
    lines = getattr(EXERCISES["reduction"], file).read_text("utf-8").split("\n")
    branch = next(number for number, line in enumerate(lines, 1) if line.startswith("        if (t "))
    evidence = graded("reduction", file, cache, kept, evidence=True).evidence
    (found,) = [line.branches for line in evidence.lines if line.line == branch]
    return [split // 4 for warps, split in found.intervals if warps][:8]
