"""Results as runs leave them, made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.counters import Totals
from kernels.evidence import Light, ResourceTime
from kernels.experiment.result import Counted, PointResult
from kernels.measurement import Environment, Measurement
from kernels.occupancy import Occupancy
from kernels.verdict import Finding, Verdict

ENVIRONMENT = Environment("H200", "h200", "9.0", 132, 1, 1980, "580", "14", "13.5")


def measured(gflops: float, spread: float = 0.01, **changes: Any) -> Measurement:
    """A measurement whose interval goes `spread` to each side of the time."""
    ms = 2 * 2048**3 / gflops / 1e6
    ends = ms * (1 - spread), ms * (1 + spread)
    made = Measurement(
        sizes={"Width": 2048},
        ms_median=ms,
        ci=ends,
        spread=ends,
        repeats=20,
        settled=True,
        gflops=gflops,
        metric="gflops",
        environment=ENVIRONMENT,
    )
    return replace(made, **changes)


def result(number: int = 0, gflops: float | None = None, loads: int = 100, **changes: Any) -> PointResult:
    """An accepted point with counts and models; measured, if a speed is given."""
    made = PointResult(
        number=number,
        params={"T": 2**number},
        kernel="a.cu",
        verdict=Verdict.ACCEPTED,
        message="Correct.",
        digest="d" * 64,
        tile=16,
        sizes={"Width": 2048},
        device="cpu" if gflops is None else "h200",
        measurement=measured(gflops) if gflops is not None else None,
        counted=Counted(4, 4, True, "", Totals(global_load_requests=loads)),
        modelled=Light("H200", {"Width": 2048}, (ResourceTime("flops", "cores", 1.0, ""),), "flops", 1.0, 5000.0),
        occupancy=Occupancy(2, 64, 1.0, "warps"),
        seconds={"compile": 0.1, "check": 0.2, "count": 0.3},
        ended="2026-11-23T10:00:00+00:00",
    )
    return replace(made, **changes)


def failed(number: int, verdict: Verdict = Verdict.DATA_RACE) -> PointResult:
    """A point that isn't accepted."""
    finding = Finding(verdict, "Two threads meet.", 12)
    made = result(number, verdict=verdict, message=finding.message, finding=finding)
    return replace(made, counted=None, modelled=None, occupancy=None)
