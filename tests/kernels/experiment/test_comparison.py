"""Two experiments: a difference is shown only if it is more than the intervals allow."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kernels.experiment.comparison import compare, repeated
from kernels.experiment.quantities import QUANTITIES, NoSuchQuantity, quantity, speed_of
from kernels.rendering.experiment import comparison_text, repeated_text, results_text, unlike_text
from kernels.rendering.text_style import Style
from kernels.verdict import Verdict
from kernels.wording import plural
from tests.kernels.experiment.made import failed, measured, result

SPEED = QUANTITIES["gflops"]


def speeds(*values: float, spread: float = 0.001):
    return [result(n, value, measurement=measured(value, spread)) for n, value in enumerate(values)]


def test_equal_speeds_show_no_difference():
    found = compare(speeds(1000, 2000, 3000), speeds(1000.4, 1999.5, 3000.3), SPEED)
    assert len(found.pairs) == 3
    assert not any(pair.differs for pair in found.pairs)
    assert not found.differs


def test_a_kernel_slower_by_a_hundredth_is_told_apart():
    found = compare(speeds(1000, 2000, 3000), speeds(990, 1980, 2970), SPEED)
    assert all(pair.differs for pair in found.pairs)
    assert found.ratio == pytest.approx(0.99)
    assert found.differs
    assert found.interval is not None
    assert found.interval[0] < 0.99 < found.interval[1] < 1


def test_what_differs_from_start_to_start_is_no_difference():
    one, other = speeds(1000, spread=0.0001), speeds(1000.6, spread=0.0001)
    assert not compare(one, other, SPEED).differs
    assert not any(each.differences for each in repeated(one, other, SPEED))


def test_intervals_of_both_sides_add_up():
    (pair,) = compare(speeds(1000, spread=0.03), speeds(1000, spread=0.04), SPEED).pairs
    assert pair.interval is not None
    assert pair.interval[1] == pytest.approx(1.05, abs=0.003)
    assert pair.interval[0] == pytest.approx(1 / 1.05, abs=0.003)


def test_counts_are_exact():
    found = compare([result(0, loads=100)], [result(0, loads=50)], QUANTITIES["loads"])
    assert [(pair.ratio, pair.interval, pair.differs) for pair in found.pairs] == [(0.5, None, True)]


@pytest.mark.parametrize(
    ("first", "second", "differ", "ratio", "differs"),
    [
        ([0, 7], [5, 7], [True, False], 1.0, True),
        ([5, 5], [0, 0], [True, True], None, True),
        ([5, 8], [0, 4], [True, True], 0.5, True),
        ([0, 0], [0, 0], [False, False], None, False),
        ([0, 8], [0, 8], [False, False], 1.0, False),
    ],
)
def test_a_count_of_0_has_no_ratio_but_may_differ(first, second, differ, ratio, differs):
    one, other = ([result(n, loads=loads) for n, loads in enumerate(side)] for side in (first, second))
    found = compare(one, other, QUANTITIES["loads"])
    assert [pair.differs for pair in found.pairs] == differ
    assert (found.ratio, found.differs) == (ratio, differs)
    lines = comparison_text(found, ("a", "b"), Style()).splitlines()
    assert [line.split()[-1] for line in lines[3:5]] == ["differs" if each else "same" for each in differ]
    ratios = sum(0 not in pair for pair in zip(first, second, strict=True))
    assert (f"Over {plural(ratios, 'point')}," in "\n".join(lines)) == (ratio is not None)


def test_points_without_a_partner_or_a_value_are_left_out():
    found = compare([result(0, 10.0), result(1, 10.0), result(3)], [result(0, 10.0), result(3), result(4)], SPEED)
    assert [pair.params["T"] for pair in found.pairs] == [1, 8]
    assert [pair.ratio for pair in found.pairs] == [1.0, None]
    assert (found.only_first, found.only_second) == (1, 1)


def test_two_kernels_of_other_names_are_compared():
    assert len(compare([result(0)], [result(0, kernel="b.cu")], QUANTITIES["loads"]).pairs) == 1
    both = [result(0), result(0, kernel="b.cu")]
    assert len(compare(both, [result(0, kernel="b.cu")], QUANTITIES["loads"]).pairs) == 1


def test_a_ratio_that_is_not_positive_is_left_out_of_the_mean():
    first = [result(0, loads=100), result(1, loads=100)]
    found = compare(first, [result(0, loads=-50), result(1, loads=50)], QUANTITIES["loads"])
    assert found.ratio == 0.5


def test_the_interval_of_many_pairs_is_narrow():
    first = [replace(result(0, loads=100), params={"T": n}) for n in range(5_000)]
    second = [replace(result(0, loads=100 + n % 2 * 10), params={"T": n}) for n in range(5_000)]
    found = compare(first, second, QUANTITIES["loads"])
    assert found.interval is not None
    half = math.log(1.1) / 2
    error = half / math.sqrt(5_000)
    assert [math.log(end) for end in found.interval] == pytest.approx(
        [half - 1.96 * error, half + 1.96 * error], abs=error / 4
    )


def test_the_bootstrap_repeats():
    one, other = speeds(1000, 2000, 3100), speeds(1010, 1990, 3000)
    assert compare(one, other, SPEED).interval == compare(one, other, SPEED).interval


def test_a_repeat_agrees_within_intervals_and_with_equal_counts():
    first = [*speeds(1000, 1000), result(2), failed(3)]
    again = [*speeds(1000.5, 900), result(2, loads=101), result(3)]
    found = repeated(first, again, SPEED)
    assert [len(each.differences) for each in found] == [0, 1, 1, 1]
    assert not any(each.differences for each in repeated(first, first, SPEED))


def test_of_several_kernels_a_failure_and_a_difference_name_theirs():
    first = [result(0), result(0, kernel="b.cu")]
    again = [result(0), replace(failed(0), kernel="b.cu")]
    assert "\n  b.cu, T=1: " in repeated_text(repeated(first, again, None), Style())
    hostile = [again[0], replace(again[1], kernel="b\x1b.cu")]
    assert "\n  b\\x1b.cu, T=1, line 12: " in results_text("name", hostile, 2, Style())
    assert "a.cu" not in repeated_text(repeated(first[:1], [failed(0)], None), Style())


def test_a_quantity_may_be_a_counter():
    assert quantity("global_load_requests").of(result(0, loads=7)) == 7
    assert quantity("shared_conflicts").basis == "counted"
    assert quantity("loads").of(failed(0, Verdict.COMPILE_ERROR)) is None
    with pytest.raises(NoSuchQuantity):
        quantity("levitation")


def test_the_measured_speed_is_what_the_exercise_ranks_by():
    timed = result(0, measurement=measured(10.0, metric="time"))
    assert speed_of([result(1), timed]) is QUANTITIES["ms"]
    assert speed_of([result(1), result(0, 10.0)]) is SPEED
    assert speed_of([result(1)]) is None


def test_other_sizes_devices_and_exercises_are_named():
    one, other = [result(0, 100.0)], [result(0, 100.0, sizes={"Width": 256}, device="a100")]
    assert unlike_text(one, one, ("Tiled", "Tiled")) == ""
    said = unlike_text(one, other, ("Tiled", "Naive"))
    for pair in ("Tiled and Naive", "Width=2,048 and Width=256", "H200 and A100"):
        assert pair in said
