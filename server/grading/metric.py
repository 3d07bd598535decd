"""The rules of a published exercise, and scores of measurements by its metric: higher is better."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernels.exercise import ExerciseError, read_exercise
from kernels.exercise.model import Metric
from kernels.rendering import measured_numbers as numbers
from server.courses.models import Exercise
from server.grading.models import Result

UNITS: Mapping[str, str] = {**numbers.UNITS, Metric.TIME: "ms"}


def metric_of(exercise: Exercise) -> Metric:
    return _rules(exercise.name, exercise.definition)[0]


def ranking_of(exercise: Exercise) -> Mapping[str, int]:
    """The sizes at which kernels are compared."""
    return _rules(exercise.name, exercise.definition)[1]


def tiles_of(exercise: Exercise) -> tuple[int, ...]:
    """The tiles that a kernel may have; none if this version of Tilelab can't read the exercise."""
    try:
        return _rules(exercise.name, exercise.definition)[2]
    except ExerciseError:
        return ()


def score_of(
    metric: str, gflops: float | None, gbps: float | None, ms_median: float | None, melements: float | None = None
) -> float | None:
    """The score of a measurement; None if it lacks this metric."""
    if metric == Metric.TIME:
        return None if ms_median is None else -ms_median
    return {Metric.GBPS: gbps, Metric.ELEMENTS: melements}.get(Metric(metric), gflops)


def interval_of(metric: str, result: Result) -> tuple[float, float] | None:
    """The 95 % interval of a result's score, the lower end first; None if unknown.

    A speed is work over time: the lower end of a speed comes from the longer time.
    """
    score = score_of(metric, result.gflops, result.gbps, result.ms_median, result.melements)
    low, high, median = result.ms_low, result.ms_high, result.ms_median
    if score is None or low is None or high is None or not median or low <= 0:
        return None
    if metric == Metric.TIME:
        return -high, -low
    return score * median / high, score * median / low


@lru_cache(maxsize=256)
def _rules(name: str, definition: str) -> tuple[Metric, Mapping[str, int], tuple[int, ...]]:
    exercise = read_exercise(name, definition)
    return exercise.metric, exercise.ranking, tuple(exercise.tiles)
