"""Cheats at small sizes against the judge of a GPU, and times that no kernel can have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from tests.cheats.cases import cheats
from tests.cheats.classes import numbers
from tests.cheats.small import verdict_at_small_sizes
from tests.marks import first_of_each, linux
from tests.worker.gpu.measuring import Scripted, measured, request_for

SMALL = [cheat for cheat in cheats() if cheat.small is not None]


@linux
@pytest.mark.parametrize(
    "cheat",
    first_of_each(
        SMALL,
        lambda cheat: cheat.kind,
        lambda cheat: f"{numbers(cheat)}-{cheat.name}",
        "the short suite has one of each kind",
    ),
)
def test_a_cheat_is_found_at_small_sizes_by_the_judge_of_a_gpu(cheat):
    assert verdict_at_small_sizes(cheat) is cheat.small


@linux
@pytest.mark.parametrize("device_class", ["h200", "unknown"])
def test_cheats_04_and_18_a_time_of_zero_is_not_ranked(device_class):
    class Timeless(Scripted):
        @property
        def environment(self):
            return replace(super().environment, device_class=device_class)

    exercise = find_exercise("vector-addition", ())
    request = request_for(exercise.solution_text, exercise, {"n": 100}, cases=["none"])
    measurement = measured(request, Timeless([0.0]), real_judge=True).measurement

    assert measurement is not None
    assert not measurement.ranked
    assert measurement.gbps is None
