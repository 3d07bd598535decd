"""The interval of a score, from the interval of its time."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.exercise.model import Metric
from server.grading.metric import interval_of
from server.grading.models import Result


def measured(**changed: Any) -> Result:
    usual = {"gflops": 1000.0, "gbps": 10.0, "melements": 20.0, "ms_median": 2.0, "ms_low": 1.0, "ms_high": 4.0}
    return Result(**usual | changed)


@pytest.mark.parametrize(
    ("metric", "interval"),
    [
        (Metric.GFLOPS, (500.0, 2000.0)),
        (Metric.GBPS, (5.0, 20.0)),
        (Metric.ELEMENTS, (10.0, 40.0)),
        (Metric.TIME, (-4.0, -1.0)),
    ],
)
def test_the_interval_of_a_score_has_its_lower_end_first(metric, interval):
    assert interval_of(metric, measured()) == interval


@pytest.mark.parametrize(
    "changed", [{"gflops": None}, {"ms_median": 0.0}, {"ms_low": None}, {"ms_low": 0.0}, {"ms_high": None}]
)
def test_without_a_whole_interval_of_the_time_there_is_none(changed):
    assert interval_of(Metric.GFLOPS, measured(**changed)) is None
