"""The numbers of a report that get their own columns, so that tables and leaderboards needn't unpack it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernels.launch import Launch
from kernels.report import Report
from kernels.report.causes import cause_of
from server.grading.models import Result
from server.grading.reports import ReportError, unpack

_WHY_CHARACTERS = 500


def columns_of(report: Report) -> dict[str, Any]:
    measured, light = report.measurement, next(iter(report.evidence.light), None)
    counted = report.evidence.extent
    goals = report.evidence.goals
    # The launch must match the numbers: the measured launch, or the counted one.
    launch = (
        (measured.launch if measured is not None else None)
        or (counted.launch if counted is not None else None)
        or report.launch
    )
    return {
        "cause": cause_of(report) or "",
        "gflops": measured.gflops if measured else None,
        "gbps": measured.gbps if measured else None,
        "melements": measured.melements if measured else None,
        "ms_median": measured.ms_median if measured else None,
        "ms_low": measured.ci[0] if measured else None,
        "ms_high": measured.ci[1] if measured else None,
        "cublas_share": measured.cublas_share if measured else None,
        "occupancy": _occupancy(report),
        "tile": report.tile,
        "launch": launch_text(launch) if launch is not None else "",
        "bound_ms": light.milliseconds if light is not None else None,
        "bound_gflops": (light.gflops or None) if light is not None else None,
        "goals_missed": sum(not goal.met for goal in goals) if goals else None,
        "not_ranked": why_not(measured.remarks) if measured is not None and not measured.ranked else "",
    }


NOT_RELIED_ON = "Its measurement cannot be relied on."
"""The text for an unranked measurement without a remark."""


def complete(result: Result) -> None:
    """Fill in columns that earlier versions kept in the report only. Loads the report only for these."""
    if result.ms_median is None or result.ms_low is not None:
        return
    try:
        report = unpack(result.report)
    except ReportError:
        return
    measured: Mapping[str, Any] = report.get("measurement") or {}
    result.ms_low, result.ms_high = measured.get("ci") or (None, None)
    result.gbps = measured.get("gbps")
    result.tile = report.get("tile", 0)


def launch_text(launch: Launch) -> str:
    """Grid, block and any cluster, such as `64×64 · 16×16 · 2×1`."""
    extents = (launch.grid, launch.block, *((launch.cluster,) if launch.cluster_blocks > 1 else ()))
    return " · ".join(map(_sides, extents))


def why_not(remarks: Sequence[str]) -> str:
    """The worker's remarks as sentences: why a measurement isn't ranked."""
    sentences = [text[:1].upper() + text[1:] for text in remarks]
    ended = (text if text.endswith((".", "!", "?")) else f"{text}." for text in sentences)
    return " ".join(ended)[:_WHY_CHARACTERS]


def _sides(sides: tuple[int, int, int]) -> str:
    x, y, z = sides
    shown = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
    return "×".join(map(str, shown))


def _occupancy(report: Report) -> float | None:
    """The modelled occupancy: from the driver if it was asked, otherwise from the table."""
    held = report.measured_occupancy
    if held is not None and held.max_warps:
        return held.share
    return report.occupancy.share if report.occupancy is not None else None
