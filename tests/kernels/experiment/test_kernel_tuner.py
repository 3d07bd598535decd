"""Cache files of Kernel Tuner: what their entries become, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kernels.experiment.kernel_tuner import CacheError, read_cache
from kernels.rendering.experiment import NO_POINT_MEASURED, NOTHING_MEASURED, nothing_measured
from kernels.verdict import Verdict
from tests.kernels.experiment.made import failed, result

TIMES = [1.0, 1.2, 1.1, 1.3, 1.1, 1.2, 1.1]
GOOD: dict[str, Any] = {
    "times": TIMES,
    "time": 1.25,
    "compile_time": 400.0,
    "verification_time": 0,
    "benchmark_time": 12.0,
    "GFLOP/s": 1000.0,
    "timestamp": "2026-11-23 10:00:00+00:00",
}


def entry(x: object, **more: Any) -> dict[str, Any]:
    return {"block_size_x": x, "use_padding": 0, **(more or GOOD)}


def cache(**changes: Any) -> dict[str, Any]:
    whole = {
        "device_name": "NVIDIA H200",
        "kernel_name": "matmul",
        "problem_size": [2048, 1024],
        "tune_params_keys": ["block_size_x", "use_padding"],
        "tune_params": {"block_size_x": [16, 32, 64], "use_padding": [0, 1]},
        "objective": "time",
        "cache": {
            "16,0": entry(16),
            "32,0": entry(32, time="CompilationFailedConfig", __error__="CompilationFailedConfig"),
            "64,0": entry(64, time="InvalidConfig"),
            "128,0": entry(128, __error__="RuntimeFailedConfig"),
        },
    }
    return {name: value for name, value in {**whole, **changes}.items() if value is not ...}


def test_each_configuration_is_a_point():
    found = read_cache(json.dumps(cache()))
    assert (found.kernel, found.device) == ("matmul", "NVIDIA H200")
    assert found.values == {"block_size_x": (16, 32, 64, 128), "use_padding": (0,)}
    first = found.results[0]
    assert first.params == {"block_size_x": 16, "use_padding": 0}
    assert first.sizes == {"problem_size_x": 2048, "problem_size_y": 1024}
    assert first.seconds == {"compile": 0.4, "measure": 0.012}
    assert first.measurement is not None
    assert first.measurement.ms_median == 1.1
    assert first.measurement.ci == (1.0, 1.3)
    assert first.measurement.repeats == 7
    assert first.measurement.gflops == pytest.approx(1000 * 1.25 / 1.1), "its speed is of the mean"


def test_a_configuration_that_failed_has_a_verdict_and_no_time():
    found = read_cache(json.dumps(cache())).results
    assert [each.verdict for each in found] == [
        Verdict.ACCEPTED, Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.RUNTIME_ERROR,
    ]  # fmt: skip
    assert all(each.measurement is None and each.finding is not None for each in found[1:])


@pytest.mark.parametrize("end", ["}\n}", ",", ""])
def test_a_cache_of_a_run_that_goes_on_is_read(end):
    text = json.dumps(cache()).removesuffix("}}") + end
    assert len(read_cache(text).results) == 4


@pytest.mark.parametrize("size", [2048, 2048.0, [2048], None, "callable"])
def test_a_problem_may_have_one_size_or_none(size):
    sizes = read_cache(json.dumps(cache(problem_size=size))).results[0].sizes
    assert list(sizes.values()) in ([2048], [])


def test_one_time_alone_has_no_interval_and_true_is_one():
    made = entry(True, time=2.0)
    first = read_cache(json.dumps(cache(cache={"1,0": made}))).results[0]
    assert first.params["block_size_x"] == 1
    assert first.measurement is not None
    assert first.measurement.ms_median == 2.0
    assert min(first.measurement.ci) == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", 1),
        ('{"cache": {\n"1": {"a": }', 2),
        ("[" * 50_000, ""),
        ("[1, 2]", ""),
        (json.dumps(cache(kernel_name=...)), "kernel_name"),
        (json.dumps(cache(kernel_name="k" * 300)), "kernel_name"),
        (json.dumps(cache(device_name=7)), "device_name"),
        (json.dumps(cache(kernel_name="k\x1b[31m")), "kernel_name"),
        (json.dumps(cache(device_name="\ud800")), "device_name"),
        (json.dumps(cache(tune_params_keys=["block_size_x", "block_size_x"])), "tune_params_keys"),
        (json.dumps(cache(problem_size=10**400)), "problem_size"),
        (json.dumps(cache(cache={"k" * 9000: 3})), f'cache["{"k" * 60}..."]'),
        (json.dumps(cache(cache={"1": entry(10**400)})), 'cache["1"].block_size_x'),
        (json.dumps(cache(cache={"1": entry(1e300)})), 'cache["1"].block_size_x'),
        (json.dumps(cache(cache={"1": entry(1, times=[10**400])})), 'cache["1"].times'),
        (json.dumps(cache(cache={"1": entry(1, times=[1e308])})), 'cache["1"].times'),
        (json.dumps(cache(cache={"1": entry(1, times=[5e-324])})), 'cache["1"].times'),
        (json.dumps(cache(tune_params_keys=...)), "tune_params_keys"),
        (json.dumps(cache(tune_params_keys=[])), "tune_params_keys"),
        (json.dumps(cache(tune_params_keys=[3])), "tune_params_keys"),
        (json.dumps(cache(tune_params_keys=["a b"])), "tune_params_keys"),
        (json.dumps(cache(tune_params_keys=["other"])), 'cache["16,0"].other'),
        (json.dumps(cache(problem_size=[1, 2, 3, 4])), "problem_size"),
        (json.dumps(cache(problem_size={})), "problem_size"),
        (json.dumps(cache(cache=...)), "cache"),
        (json.dumps(cache(cache={})), "cache"),
        (json.dumps(cache(cache=[entry(16)])), "cache"),
        (json.dumps(cache(cache={"1": 3})), 'cache["1"]'),
        (json.dumps(cache(cache={"1": entry("float4")})), 'cache["1"].block_size_x'),
        (json.dumps(cache(cache={"1": entry(1.5)})), 'cache["1"].block_size_x'),
        (json.dumps(cache(cache={"1": entry(float("inf"))})), 'cache["1"].block_size_x'),
        (json.dumps(cache(cache={"1": entry(1), "2": entry(1)})), 'cache["2"]'),
        (json.dumps(cache(cache={"1": entry(1, time="soon")})), 'cache["1"].time'),
        (json.dumps(cache(cache={"1": entry(1, time=0)})), 'cache["1"].time'),
        (json.dumps(cache(cache={"1": entry(1, time=float("nan"))})), 'cache["1"].time'),
        (json.dumps(cache(cache={"1": entry(1, times=[])})), 'cache["1"].times'),
        (json.dumps(cache(cache={"1": entry(1, times=[1, "2"])})), 'cache["1"].times'),
        (json.dumps(cache(cache={str(n): 0 for n in range(100_001)})), "cache"),
    ],
)
def test_a_file_that_is_not_a_cache_is_refused_with_its_place(text, place):
    with pytest.raises(CacheError) as refused:
        read_cache(text)
    assert (refused.value.line or refused.value.place) == place
    assert refused.value.reason.endswith(".")


@pytest.mark.parametrize("given", ["2026-11-23 10:00:00", "2026-11-23T11:00:00+01:00"])
def test_a_moment_without_a_time_zone_is_in_utc(given):
    (only,) = read_cache(json.dumps(cache(cache={"1": entry(1, time=1.0, timestamp=given)}))).results
    assert datetime.fromisoformat(only.ended) == datetime(2026, 11, 23, 10, tzinfo=UTC)


def test_points_that_all_failed_were_counted_nowhere():
    failing = read_cache(json.dumps(cache(cache={"1": entry(1, time="InvalidConfig")}))).results
    assert nothing_measured(failing) == NO_POINT_MEASURED
    assert nothing_measured([failed(0)]) == NO_POINT_MEASURED
    assert nothing_measured([result(0), failed(1)]) == NOTHING_MEASURED


def test_figures_that_cannot_be_and_texts_that_are_not_moments_are_left_out():
    odd = {"GFLOP/s": 1e308, "GB/s": 10**400, "compile_time": 10**400, "timestamp": "\ud800"}
    first = read_cache(json.dumps(cache(cache={"1": entry(1, times=TIMES, **odd)}))).results[0]
    assert first.measurement is not None
    assert (first.measurement.gflops, first.measurement.gbps) == (None, None)
    assert (first.seconds, first.ended) == ({}, "")
