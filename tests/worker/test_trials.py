"""One run at chosen sizes and values, by the true way."""

from __future__ import annotations

import pytest

from kernels.exercise import find_exercise
from kernels.exercise.trial import Trial, input_kinds
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux
from tests.worker.in_process import NOWHERE, Here
from worker.steps.grading import Job, grade

pytestmark = linux

SOLUTION = find_exercise("naive").solution.read_text()


def tried(text: str, width: int, **typed: tuple[float, ...]) -> Report:
    exercise = find_exercise("naive")
    trial = Trial({"Width": width}, input_kinds(exercise)[0], typed)
    return grade(Job(text.encode(), exercise, "sm_90", "5eed", NOWHERE, trial=trial), Here())


def test_typed_values_are_multiplied():
    report = tried(SOLUTION, 2, M=(1, 2, 3, 4), N=(1, 0.5, 0, 1))
    assert (report.verdict, len(report.checks)) == (Verdict.ACCEPTED, 1)
    assert report.values is not None
    (output,) = report.values.outputs
    assert (output.values, output.expected, output.wrong) == (("1", "2.5", "3", "5.5"),) * 2 + ((),)


def test_fractions_that_round_are_no_mistake():
    assert tried(SOLUTION, 3, M=(0.1,) * 9, N=(0.3, 1e-3, 7.7) * 3).verdict is Verdict.ACCEPTED


def test_elements_that_differ_are_marked_and_unwritten_ones_are_empty():
    report = tried(
        SOLUTION.replace("P[", "if (Row == 0) P[", 1).replace("= Pvalue", "= Pvalue + Col"),
        2,
        M=(1, 2, 3, 4),
        N=(1, 0, 0, 1),
    )
    assert report.values is not None
    (output,) = report.values.outputs
    assert (output.values, output.expected, output.wrong) == (("1", "3", "", ""), ("1", "2", "3", "4"), (1, 2, 3))
    assert [each.element for each in report.values.differences] == ["P[0][1]", "P[1][0]", "P[1][1]"]


@pytest.mark.parametrize("width", [17, 40])
def test_a_large_matrix_is_only_named(width):
    values = tried(SOLUTION, width).values
    assert values is not None
    assert (values.outputs, values.large) == ((), ("M", "N", "P"))


def test_sizes_that_do_not_suit_the_files_own_tile_are_named():
    exercise = find_exercise("tiled-square")
    text = exercise.solution.read_text().replace("#define TILE_WIDTH 16", "#define TILE_WIDTH 8")
    job = Job(text.encode(), exercise, "sm_90", "5eed", NOWHERE, trial=Trial({"Width": 20}, input_kinds(exercise)[0]))
    warning = next(each for each in grade(job, Here()).findings if each.kind is Verdict.REJECTED)
    assert "multiples of 8 with tile 8" in warning.message
