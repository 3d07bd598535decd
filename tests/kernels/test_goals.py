"""What an exercise asks of the counts is compared with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.counters import COUNTERS, Totals, number
from kernels.exercise import GoalRule, find_exercise
from kernels.exercise.goals import goals
from kernels.expression import Expression

TILED = find_exercise("tiled")
TOTALS = Totals(
    global_load_requests=64,
    global_load_sectors=256,
    shared_load_requests=30,
    shared_store_requests=10,
    shared_load_wavefronts=40,
    shared_store_wavefronts=40,
    divergent_branches=3,
    compute_to_memory=8.0,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("divergent_branches", 3.0),
        ("global_load_sectors_per_request", 4.0),
        ("global_store_sectors_per_request", 0.0),
        ("shared_wavefronts_per_request", 2.0),
        ("compute_to_memory", 8.0),
    ],
)
def test_a_counter_has_its_value(name, value):
    assert number(name, TOTALS) == value


def test_every_counter_has_a_value():
    assert {name: number(name, Totals()) for name in COUNTERS} == dict.fromkeys(COUNTERS, 0.0)


def test_a_goal_is_met_at_its_bound_and_not_above_it():
    exercise = replace(
        TILED,
        goals=(
            GoalRule("loads", "global_load_requests", Expression.parse("Width*Width/TILE_WIDTH")),
            GoalRule("loads", "global_load_requests", Expression.parse("Width*Width/TILE_WIDTH - 1")),
            GoalRule("sectors", "global_load_sectors_per_request", 4.5),
        ),
    )
    met = goals(exercise, {"Width": 32}, 16, TOTALS)
    assert [(goal.counted, goal.at_most, goal.met) for goal in met] == [
        (64.0, 64.0, True),
        (64.0, 63.0, False),
        (4.0, 4.5, True),
    ]


@pytest.mark.parametrize("tile", [1, *TILED.tiles, 64])
def test_tiles_of_any_width_meet_the_goal_of_the_tiled_exercise_and_no_tiles_miss_it(tile):
    width = 256
    untiled = 8 * width**3
    loaded = (untiled, untiled // max(2, tile))
    found = [goals(TILED, {"Width": width}, tile, Totals(global_load_bytes=each))[0] for each in loaded]
    assert [goal.met for goal in found] == [False, True]


def test_a_goal_may_name_a_macro_that_the_file_sets():
    exercise = replace(
        TILED, macros={"COARSE": 4}, goals=(GoalRule("x", "global_load_requests", Expression.parse("16*COARSE")),)
    )
    assert [goals(exercise, {}, 16, TOTALS, own)[0].met for own in (None, {"COARSE": 2})] == [True, False]
