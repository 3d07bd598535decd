"""Which sizes and values a trial may have, before any work."""

from __future__ import annotations

import pytest

from kernels.exercise import InputKind, find_exercise, list_exercises
from kernels.exercise.trial import Trial, TrialError, check_trial, input_kinds, usual_sizes

TILED, HISTOGRAM = find_exercise("tiled"), find_exercise("histogram")
SPARSE, SQUARE = find_exercise("sparse-matrix-vector"), find_exercise("tiled-square")
LEFT, RANDOM = InputKind.INTEGERS_LEFT, InputKind.RANDOM
FOUR = (1.0, 2.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("exercise", "trial", "about"),
    [
        (TILED, Trial({"Width": 0}, LEFT), "Width"),
        (TILED, Trial({"Width": 301}, LEFT), "Width"),
        (TILED, Trial({}, LEFT), "Width"),
        (TILED, Trial({"Width": 3}, RANDOM), ""),
        (TILED, Trial({"Width": 33}, InputKind.REAL), ""),
        (TILED, Trial({"Width": 2}, LEFT, {"M": FOUR[:3]}), "M"),
        (TILED, Trial({"Width": 2}, LEFT, {"P": FOUR}), "P"),
        (TILED, Trial({"Width": 2}, LEFT, {"X": FOUR}), "X"),
        (TILED, Trial({"Width": 2}, LEFT, {"M": (1.0, 2.0, 3.0, float("inf"))}), "M"),
        (TILED, Trial({"Width": 9}, LEFT, {"M": (1.0,) * 81}), "M"),
        (SQUARE, Trial({"Width": 17}, LEFT), ""),
        (HISTOGRAM, Trial({"n": 4, "bins": 3}, RANDOM, {"values": (0.0, 1.0, 2.0, 3.0)}), "values"),
        (HISTOGRAM, Trial({"n": 4, "bins": 4}, RANDOM, {"values": (0.0, 1.0, 2.0, 0.5)}), "values"),
        (SPARSE, Trial({"rows": 1, "cols": 1, "entries": 9}, RANDOM), ""),
        (SPARSE, Trial({"rows": 2, "cols": 2, "entries": 2}, RANDOM, {"rowStarts": (0.0, 9.0, 2.0)}), "rowStarts"),
    ],
)
def test_what_cannot_run_is_refused(exercise, trial, about):
    with pytest.raises(TrialError) as refused:
        check_trial(exercise, trial, exercise.tile)
    assert refused.value.about == about


def test_every_exercise_can_be_tried_as_the_form_begins():
    for exercise in list_exercises():
        for kind in input_kinds(exercise)[:1]:
            check_trial(exercise, Trial(usual_sizes(exercise, exercise.tile), kind), exercise.tile)
