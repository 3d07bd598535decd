"""Reading an experiment: what a file means, and the line that each mistake is at."""

from __future__ import annotations

import itertools

import pytest

from kernels.experiment.axes import AxisError, parse_axis
from kernels.experiment.constraint import Constraint
from kernels.experiment.definition import (
    MOST_CONSTRAINTS,
    DefinitionError,
    from_plain_definition,
    line_of,
    plain_definition,
    read_definition,
)
from kernels.experiment.model import MOST_AXES, Axis, Design, DesignKind, Experiment
from kernels.experiment.points import TooManyPoints, TooMuchWork, points, work_of

FILE = """\
[experiment]
name = "tile and width"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
TILE_WIDTH = [4, 8, 16]
Width = "512:4096:*2"

[constraints]
fits = "Width % TILE_WIDTH == 0 and TILE_WIDTH * TILE_WIDTH <= 256"
"""


def test_a_kernel_can_be_a_submission_or_the_best_of_an_assignment():
    kernels = '["tiled.cu", { submission = "5d2c6e0f" }, { best = "demo/tiled", label = "the best" }]'
    found = read_definition(FILE.replace('["tiled.cu"]', kernels))
    assert found.kernels == ("tiled.cu", "submission-5d2c6e0f.cu", "the best")
    assert {name: each.to_plain() for name, each in found.on_server.items()} == {
        "submission-5d2c6e0f.cu": {"submission": "5d2c6e0f"},
        "the best": {"best": "demo/tiled", "label": "the best"},
    }
    assert from_plain_definition(plain_definition(found)) == found


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("T=4,8,16", (4, 8, 16)),
        ("T=1:4", (1, 2, 3, 4)),
        ("T=64:256:+64", (64, 128, 192, 256)),
        ("T=512:4095:*2", (512, 1024, 2048)),
        ("T=1, 4:6, 9", (1, 4, 5, 6, 9)),
    ],
)
def test_an_axis_is_numbers_and_ranges(text, values):
    assert parse_axis(text) == Axis("T", values)


@pytest.mark.parametrize(
    "text", ["T", "T=", "1T=4", "T=4,4", "T=4:2", "T=0:8:*2", "T=1:9:*1", "T=1:9:+0", "T=1:9999999", "T=x", "T=-1"]
)
def test_an_axis_that_cannot_be_read_is_refused(text):
    with pytest.raises(AxisError):
        parse_axis(text)


@pytest.mark.parametrize("values", ["4 8 16", "4;8;16", "5,7,abc"])
def test_values_without_commas_are_refused_with_commas(values):
    with pytest.raises(AxisError, match=r"`(4 8 16|4;8;16|abc)` .* commas, such as 4,8,16"):
        parse_axis(f"T={values}")


def test_a_list_of_a_file_has_no_more_values_than_a_range():
    with pytest.raises(DefinitionError, match="more than 10,000 values") as refused:
        read_definition(FILE.replace("[4, 8, 16]", str([*range(10_001), 10_000])))
    assert refused.value.line == 7


def test_a_grid_is_every_valid_combination():
    experiment = read_definition(FILE)
    assert experiment.axes == (Axis("TILE_WIDTH", (4, 8, 16)), Axis("Width", (512, 1024, 2048, 4096)))
    found = points(experiment)
    assert len(found) == 12
    assert found[0].params == {"TILE_WIDTH": 4, "Width": 512}


def test_a_constraint_drops_rows_as_early_as_it_can_and_keeps_their_order():
    text = FILE.replace("[constraints]", "A = [1, 2, 3]\nB = [4, 5]\n[constraints]\nsmall = 'A * B < 11 and 1 < 2'")
    experiment = read_definition(text)
    every = itertools.product(*(axis.values for axis in experiment.axes))
    rows = [dict(zip((axis.name for axis in experiment.axes), values, strict=True)) for values in every]
    kept = [row for row in rows if all(each.holds(row) for each in experiment.constraints)]
    assert [point.params for point in points(experiment)] == kept
    assert 0 < len(kept) < len(rows)


def test_a_sample_repeats_with_its_seed():
    text = FILE + '[design]\nkind = "random"\npoints = 5\nseed = 3\n'
    experiment = read_definition(text)
    assert experiment.design.kind is DesignKind.RANDOM
    assert points(experiment) == points(read_definition(text))
    assert len({tuple(each.params.values()) for each in points(experiment)}) == 5
    assert points(experiment) != points(read_definition(text.replace("seed = 3", "seed = 4")))


def test_a_search_is_read_back_and_chooses_from_every_valid_point():
    text = FILE + '[design]\nkind = "tune"\npoints = 5\nseed = 3\ngoal = "shared_load_conflicts"\n'
    experiment = read_definition(text)
    assert experiment.design == Design(DesignKind.TUNE, 5, 3, goal="shared_load_conflicts")
    assert from_plain_definition(plain_definition(experiment)).design == experiment.design
    assert points(experiment) == points(read_definition(FILE))


def test_a_sample_of_a_space_too_large_to_list():
    axes = "\n".join(f'{name} = "1:1000"' for name in "ABC")
    text = f'[experiment]\nname = "n"\nexercise = "tiled"\nkernels = ["a.cu"]\n[axes]\n{axes}\n'
    with pytest.raises(TooManyPoints):
        points(read_definition(text))
    sample = points(read_definition(text + '[design]\nkind = "random"\npoints = 100\n'))
    assert len({tuple(each.params.values()) for each in sample}) == 100


def heavy(comparisons: int, last: int = 100, design: str = "") -> Experiment:
    """Two axes, and constraints that no student needs."""
    condition = " and ".join(["B > 0"] * comparisons)
    text = f'[experiment]\nname = "n"\nexercise = "tiled"\nkernels = ["a.cu"]\n[axes]\nA = "1:{last}"\nB = "1:{last}"\n'
    return read_definition(f'{text}[constraints]\na = "{condition}"\nend = "B < 1"\n{design}')


def count_evaluations(monkeypatch) -> list[str]:
    evaluated: list[str] = []
    holds = Constraint.holds

    def counted(self, values):
        evaluated.append(self.text)
        return holds(self, values)

    monkeypatch.setattr(Constraint, "holds", counted)
    return evaluated


def test_the_work_for_constraints_is_known_before_any_is_evaluated(monkeypatch):
    evaluated, experiment = count_evaluations(monkeypatch), heavy(50)
    work = work_of(experiment)
    with pytest.raises(TooMuchWork) as refused:
        points(experiment, work - 1)
    assert (refused.value.work, refused.value.most, evaluated) == (work, work - 1, [])
    assert points(experiment, work) == ()
    costs = {each.text: each.cost for each in experiment.constraints}
    assert sum(costs[text] for text in evaluated) <= work


def test_a_random_design_draws_within_the_limit(monkeypatch):
    design = '[design]\nkind = "random"\npoints = 9\n'
    evaluated, experiment = count_evaluations(monkeypatch), heavy(50, 5_000, design)
    assert points(experiment, 10_000) == ()
    cost = sum(each.cost for each in experiment.constraints)
    assert 0 < len(evaluated) <= 2 * 10_000 // cost
    with pytest.raises(TooManyPoints):
        points(experiment, 8 * cost)


def test_a_list_is_limited_too():
    rows = ",".join(["{ A = 1, B = 1 }"] * 500)
    experiment = heavy(50, 9, f'[design]\nkind = "list"\nrows = [{rows}]\n')
    with pytest.raises(TooMuchWork):
        points(experiment, 50_000)
    assert points(experiment) == ()


@pytest.mark.parametrize(("table", "limit"), [("axes", MOST_AXES), ("constraints", MOST_CONSTRAINTS)])
def test_the_number_of_axes_and_constraints_is_limited(table, limit):
    start = '[experiment]\nname = "n"\nexercise = "tiled"\nkernels = ["a.cu"]\n'
    line = {"axes": "A{} = [1]\n", "constraints": "c{} = '1 > 0'\n"}[table]
    fields = [line.format(number) for number in range(limit + 1)]
    assert read_definition(f"{start}[{table}]\n{''.join(fields[:-1])}")
    with pytest.raises(DefinitionError) as refused:
        read_definition(f"{start}[{table}]\n{''.join(fields)}")
    assert refused.value.line == 5


def test_a_long_constraint_is_refused():
    with pytest.raises(DefinitionError):
        heavy(100)


def test_the_ladder_reads_back():
    experiment = read_definition(FILE.replace('["tiled.cu"]', '"ladder"'))
    assert experiment.ladder
    assert experiment.kernels == ()
    assert from_plain_definition(plain_definition(experiment)) == experiment


@pytest.mark.parametrize("measured", ["", "repeats = 12\n", "interval = '0.3 %'\n", "interval = '5%'\n"])
def test_a_plain_definition_reads_back(measured):
    text = FILE + '[design]\nkind = "random"\npoints = 5\n[measure]\ncounts = false\n'
    text += measured
    experiment = read_definition(text)
    assert from_plain_definition(plain_definition(experiment)) == experiment


@pytest.mark.parametrize("text", ["[a]\nT = 3\n", "a.T = 3\n", "a = { T = 3 }\n", '[a]\n"T" = 3\n', "[a]\n"])
def test_the_line_of_a_field(text):
    found = line_of(f"# a comment\n{text}", "a", "T")
    assert found == (3 if text.count("\n") == 2 else 2)


def test_too_many_points_are_refused_before_they_are_listed():
    axes = "\n".join(f'{name} = "1:1000"' for name in "ABC")
    text = FILE.partition("[axes]")[0] + f"[axes]\n{axes}\n"
    with pytest.raises(TooManyPoints):
        points(read_definition(text))
    with pytest.raises(TooManyPoints):
        points(read_definition(text.replace("C = ", "# C = ")))


@pytest.mark.parametrize(
    "text", ["a." * 49_000 + "a = 1", "[" + ".".join('"a"' for _ in range(9_000)) + "]\n", "a = " + "[" * 90_000]
)
def test_a_file_with_deep_keys_is_refused_by_its_text(text):
    with pytest.raises(DefinitionError):
        read_definition(text)
