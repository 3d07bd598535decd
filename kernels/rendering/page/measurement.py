"""A GPU's measurement on the page. Numbers that the driver or the ladder adds keep their own basis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from kernels.experiment.plot.model import Chart, Kind, Panel, Scale, Series, Spot
from kernels.experiment.quantities import quantity
from kernels.ladder import Ladder
from kernels.measurement import Measurement, Speed
from kernels.rendering.ladder import standing
from kernels.rendering.measured_numbers import (
    MS,
    conditions,
    held_down_text,
    interval_of,
    ms_text,
    one_size,
    ranked_value,
    repeats_text,
    share_text,
    value_of,
    value_text,
)
from kernels.rendering.page import numbers
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.summary import Figure
from kernels.rendering.plot.labels import short_name
from kernels.report import Report
from kernels.wording import sizes_text

_MOST_REMARKS = 8
_MOST_RUNGS = 12
_LONGEST = 28


@dataclass(frozen=True, slots=True)
class Row:
    """The speed at one size. ranking: whether this size counts for the leaderboard."""

    size: str
    value: str
    interval: str
    share: str
    time: str
    repeats: str
    ranking: bool


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """A measurement with its context.

    sentences: its reliability
    remarks: the first notes on it
    standing: its position among the reference kernels
    unit: the unit of the rows' values
    """

    found: Measurement
    sentences: tuple[str, ...]
    remarks: tuple[str, ...]
    standing: tuple[str, ...]
    unit: str
    rows: tuple[Row, ...]
    chart: Markup | None
    facts: Mapping[str, str]


def measured_figures(report: Report) -> tuple[Figure, ...]:
    """The figures in large type: speed, time, share of cuBLAS, and the driver's occupancy."""
    measurement = report.measurement
    figures = []
    if measurement is not None:
        value, unit = ranked_value(measurement)
        note = f"at {sizes_text(measurement.sizes)}"
        figures.append(Figure(_TITLES[unit], f"{value_text(value, unit)}{numbers.SPACE}{unit}", note, "measured"))
        if unit != MS:
            least, most = (f"{ms_text(end)}" for end in measurement.ci)
            note = f"median, {least} to {most} ms"
            figures.append(Figure("Time", f"{ms_text(measurement.ms_median)}{numbers.SPACE}ms", note, "measured"))
        if measurement.cublas_share is not None:
            share = share_text(measurement.cublas_share).replace(" ", numbers.SPACE)
            figures.append(Figure("Of cuBLAS", share, "at the same size, in the same run", "measured"))
    held = report.measured_occupancy
    if held is not None and held.max_warps:
        note = f"{held.warps_per_sm} of {held.max_warps} warps, computed by the driver"
        figures.append(Figure("Occupancy", numbers.percent(held.share), note, "modelled"))
    return tuple(figures)


def measured_view(report: Report, ladder: Ladder | None = None) -> MeasuredView | None:
    """The measurement with its context; None without a measurement."""
    measurement = report.measurement
    if measurement is None:
        return None
    unit = ranked_value(measurement)[1]
    speeds = measurement.curve or (measurement,)
    return MeasuredView(
        found=measurement,
        sentences=tuple(filter(None, (repeats_text(measurement), held_down_text(measurement.clocks)))),
        remarks=measurement.remarks[:_MOST_REMARKS],
        standing=standing(ladder, measurement),
        unit=unit,
        rows=tuple(_row(speed, measurement, unit) for speed in speeds),
        chart=_chart(measurement, ladder),
        facts={"Device": measurement.environment.device, **conditions(measurement)},
    )


_TITLES = {"GFLOPS": "Speed", "GB/s": "Bandwidth", "M elements/s": "Speed", MS: "Time"}


def _row(speed: Speed, measurement: Measurement, unit: str) -> Row:
    value = speed.ms_median if unit == MS else value_of(speed, measurement.metric)
    ends = interval_of(speed, measurement.metric) if unit != MS else speed.ci
    return Row(
        size=sizes_text(speed.sizes),
        value="–" if value is None else value_text(value, unit),
        interval=" – ".join(value_text(end, unit) for end in ends) if ends and speed.repeats > 1 else "–",
        share="–" if speed.cublas_share is None else share_text(speed.cublas_share),
        time=ms_text(speed.ms_median),
        repeats=f"{speed.repeats:,}",
        ranking=dict(speed.sizes) == dict(measurement.sizes),
    )


def _chart(measurement: Measurement, ladder: Ladder | None) -> Markup | None:
    """Speed over size, with cuBLAS and the reference kernels; None for one size or no speed."""
    sized = ((one_size(speed.sizes), speed.gflops) for speed in measurement.curve)
    own = {size: gflops for size, gflops in sized if size and gflops is not None and gflops > 0}
    if len(own) < 2:
        return None
    cublas = {
        size: speed.gflops / speed.cublas_share
        for speed in measurement.curve
        if (size := one_size(speed.sizes)) and speed.gflops is not None and speed.cublas_share
    }
    curves = {"this kernel": own, **({"cuBLAS": cublas} if len(cublas) >= 2 else {})}
    rungs = _rungs(ladder, measurement.environment.device_class, min(own), max(own))
    series = []
    for number, (name, speeds) in enumerate({**curves, **rungs}.items()):
        spots = tuple(Spot(size, speed, name) for size, speed in sorted(speeds.items()))
        series.append(Series(number, name, spots, faint=name in rungs, leads=not number))
    title = "Speed over the size of the matrices"
    x, y = Scale("size of the matrices"), Scale("Speed", quantity("gflops"))
    return plot_svg(Chart(Kind.LINE, title, x, y, (Panel("", tuple(series)),)), "curve-chart")


def _rungs(ladder: Ladder | None, device_class: str, low: int, high: int) -> dict[str, dict[int, float]]:
    """The reference kernels measured on the same device class, within the sizes of the chart."""
    if ladder is None:
        return {}
    curves = {}
    for rung in ladder.rungs[:_MOST_RUNGS]:
        if device_class not in rung.figures:
            continue
        figures = rung.figures[device_class].gflops
        within = {size: speed for size, speed in figures.items() if low <= size <= high}
        if within:
            curves[short_name(f"{rung.number}. {rung.title}", _LONGEST)] = within
    return curves
