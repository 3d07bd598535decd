"""What each point changes: the kernel's text, its tile, a macro, or the sizes."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.evidence import PTX_ONLY, Evidence, Extent, Light
from kernels.exercise import ExerciseError, Layout, find_exercise, list_exercises, read_exercise
from kernels.exercise.checks import check_ranking
from kernels.exercise.schema import definition_in
from kernels.experiment.plan import point_exercise, point_text
from kernels.experiment.roles import Change
from kernels.expression import Expression
from kernels.launch import Launch
from kernels.report import Report
from kernels.verdict import Verdict
from tests.kernels.experiment.made import result
from tests.worker.experiment.runs import FILE, HERE, KERNEL, experiment, planned
from worker.bench.backlog import Graded, Step
from worker.contract.measure_work import Repeats
from worker.contract.messages import StepKind, StepResult, Ticket
from worker.experiment.plan import result_of
from worker.experiment.setup import SetupError, set_up

OWN = KERNEL.replace("#ifndef TILE_WIDTH\n", "").replace("#endif\n", "", 1)


def work(plan, number, passed=None):
    made = plan.work(plan.point(number), passed)
    return (made, read_exercise(made.exercise.name, made.exercise.definition), base64.b64decode(made.source).decode())


def test_a_tile_that_the_exercise_gives_leaves_the_text_as_it_is(tmp_path):
    _, plan = planned(tmp_path, "TILE_WIDTH=4,8")
    made, exercise, text = work(plan, 1)
    assert (made.tile, text) == (8, KERNEL)
    assert exercise.ranking == {"Width": 2048}


@pytest.mark.parametrize(
    ("measured", "repeats"),
    [("counts = false", None), ("repeats = 20", Repeats(number=20)), ("interval = '0.3 %'", Repeats(interval=0.003))],
)
def test_the_repeats_of_the_file_are_asked_of_the_gpu(tmp_path, measured, repeats):
    file = experiment(tmp_path, f"{FILE}\n[measure]\n{measured}\n")
    _, plan = set_up(file, (), None, HERE)
    assert work(plan, 0)[0].repeats == repeats


def test_a_tile_of_the_file_is_changed_in_the_text(tmp_path):
    _, plan = planned(tmp_path, "TILE_WIDTH=4,64", text=OWN)
    made, _, text = work(plan, 1)
    assert made.tile is None
    assert "#define TILE_WIDTH 64" in text
    assert len(text.split("\n")) == len(OWN.split("\n"))


def test_a_size_is_where_a_point_is_measured_and_counted_and_nowhere_else(tmp_path):
    _, plan = planned(tmp_path, "Width=64,128")
    _, exercise, text = work(plan, 1)
    assert exercise.ranking == {"Width": 128}
    assert exercise.analysis is not None
    assert exercise.analysis.sizes == {"Width": 128}
    assert not exercise.curve
    assert exercise.phases is None
    assert text == KERNEL


def test_a_text_that_passed_repeats_one_case_and_is_made_for_the_same_sizes(tmp_path):
    _, plan = planned(tmp_path, "Width=64,128")
    _, whole, _ = work(plan, 1)
    _, short, _ = work(plan, 1, result(0, params={"Width": 64}))
    assert len(whole.cases(16)) > 10
    assert len(short.cases(16)) == 2, "one small case, and the size of the ranking"


def test_a_macro_of_the_exercise_is_given_another_value(tmp_path):
    solution = next(each for each in list_exercises() if each.name == "coarsened").solution.read_text("utf-8")
    manifest, plan = planned(tmp_path, "COARSE_FACTOR=1,2", text=solution, exercise="coarsened")
    assert manifest.points == 2
    made, exercise, text = work(plan, 1)
    assert exercise.macros["COARSE_FACTOR"] == 2 or "COARSE_FACTOR 2" in text
    assert made.tile is None


def test_a_flag_changes_how_the_kernel_is_compiled(tmp_path):
    _, plan = planned(tmp_path, "fmad=0,1", "maxrregcount=32,255")
    found = [work(plan, number)[1] for number in range(4)]
    assert [(each.fmad, each.max_registers) for each in found] == [
        (False, 32), (False, 255), (True, 32), (True, 255),
    ]  # fmt: skip
    assert len({plan.point(number).group for number in range(4)}) == 4


def test_a_layout_changes_the_exercise_and_the_macro_of_its_name(tmp_path):
    _, plan = planned(tmp_path, "N_COLUMN_MAJOR=0,1", "P_COLUMN_MAJOR=0,1", text=f"#define N_COLUMN_MAJOR 5\n{KERNEL}")
    for number, (n, p) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        _, exercise, text = work(plan, number)
        layouts = {each.name: each.layout is Layout.COLUMN_MAJOR for each in exercise.operands}
        assert layouts == {"M": False, "N": bool(n), "P": bool(p)}
        assert f"#define N_COLUMN_MAJOR {n}\n" in text
    assert len({plan.point(number).group for number in range(4)}) == 4


@pytest.mark.parametrize(
    "axis", ["fmad=0,2", "maxrregcount=15", "maxrregcount=256", "N_COLUMN_MAJOR=0,2", "Width_COLUMN_MAJOR=1"]
)
def test_a_flag_has_values_that_the_compiler_takes(tmp_path, axis):
    with pytest.raises(SetupError, match=axis.partition("=")[0]):
        planned(tmp_path, axis)


def test_a_macro_of_the_kernel_wins_over_a_flag_of_its_name(tmp_path):
    _, plan = planned(tmp_path, "fmad=7", text=f"#define fmad 3\n{KERNEL}")
    _, exercise, text = work(plan, 0)
    assert exercise.fmad
    assert "#define fmad 7" in text


def test_an_axis_that_changes_nothing_is_refused(tmp_path):
    with pytest.raises(SetupError, match="TILE_WIDTH"):
        planned(tmp_path, "TILE_WIDT=4")


def test_a_tile_that_a_launch_comment_sets_is_no_axis(tmp_path):
    text = "//!tilelab tile=16\n" + KERNEL.replace("TILE_WIDTH", "SIDE")
    with pytest.raises(SetupError, match="own tile"):
        planned(tmp_path, "TILE_WIDTH=4,8", text=text)


def test_points_of_the_same_text_are_a_group(tmp_path):
    _, plan = planned(tmp_path, "TILE_WIDTH=4,8", "Width=64,128")
    groups = [plan.point(number).group for number in range(4)]
    assert groups[0] == groups[1] != groups[2] == groups[3]


@pytest.mark.parametrize("exercise", list_exercises(), ids=lambda each: each.name)
def test_every_exercise_reads_back_at_its_own_sizes(exercise):
    definition = definition_in(exercise.root)
    made = read_exercise(exercise.name, point_text(definition, Change(sizes=exercise.ranking)))
    assert made.digest == exercise.digest
    assert made.ranking == exercise.ranking


@pytest.mark.parametrize("exercise", list_exercises(), ids=lambda each: each.name)
def test_the_exercise_of_a_point_is_the_one_that_its_text_describes(exercise):
    definition = definition_in(exercise.root)
    sizes = {name: max(1, size // 2) for name, size in exercise.ranking.items()}
    # a box of a tensor map can't have one element
    maps = any(parameter.map is not None for parameter in exercise.parameters)
    changed = Change(sizes=sizes, macros=exercise.macros if maps else dict.fromkeys(exercise.macros, 1))
    made = point_exercise(read_exercise(exercise.name, definition), changed)
    read = read_exercise(exercise.name, point_text(definition, changed))
    assert replace(made, digest=read.digest) == read
    check_ranking(made, Path(exercise.name))


@pytest.mark.parametrize("size", [24, 4097])
def test_a_size_that_contradicts_the_exercise_is_found(size):
    made = point_exercise(find_exercise("tiled"), Change(sizes={"Width": size}))
    left, *others = made.operands
    wrong = replace(made, operands=(replace(left, rows=Expression.parse("Width + 1")), *others))
    with pytest.raises(ExerciseError):
        check_ranking(wrong, Path("tiled"))


@pytest.mark.parametrize(("notes", "bound"), [((), 9000.0), ((PTX_ONLY,), None)])
def test_only_counts_of_the_machine_code_give_a_bound(tmp_path, notes, bound):
    _, plan = planned(tmp_path, "Width=64,128")
    sizes = {"Width": 64}
    extent = Extent(sizes, 16, Launch((4, 4, 1), (16, 16, 1), 0), 16, exact=True)
    light = Light("H200", sizes, (), "fp32", 1.0, 9000.0)
    report = Report(
        Verdict.ACCEPTED, "said", "tiled", "cpu", "sm_90", 16,
        evidence=Evidence(extent=extent, light=(light,), notes=notes),
    )  # fmt: skip
    step = Step(StepResult(Ticket(0, StepKind.CHECK, ""), "", report), None, 0.0, None, 1.0)
    found = result_of(plan, plan.point(0), Graded(0, (step,)))
    assert (found.modelled and found.modelled.gflops) == bound
    assert found.counted is not None
