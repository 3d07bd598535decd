"""The quantities of a point: each with its unit, and whether it is measured, counted or modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.counters import COUNTERS
from kernels.evidence import Basis
from kernels.experiment.result import PointResult
from kernels.measurement import Measurement
from kernels.wording import did_you_mean

Interval = tuple[float, float]


class NoSuchQuantity(ValueError):
    """A name that isn't a quantity; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a point.

    of: its value; None where the point has none
    interval: of a measured value, with 95 %; None where there isn't one
    better: "more" or "less"
    """

    name: str
    title: str
    unit: str
    basis: Basis
    of: Callable[[PointResult], float | None]
    interval: Callable[[PointResult], Interval | None] = lambda result: None
    better: str = "more"


def quantity(name: str) -> Quantity:
    """A quantity by its name, which may be a counter's; raises NoSuchQuantity."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    counter = COUNTERS.get(name)
    if counter is None:
        hint = did_you_mean(name, {*QUANTITIES, *COUNTERS})
        raise NoSuchQuantity(
            f"`{name}` isn't a quantity.{hint} Use {', '.join(QUANTITIES)} or a counter's name."
        )
    title = counter.compared or name.replace("_", " ").capitalize()
    better = counter.better or "less"
    return Quantity(
        name, title, counter.unit, Basis.COUNTED, lambda result: _counted(result, name), better=better
    )


def speed_of(results: list[PointResult]) -> Quantity | None:
    """The measured speed that the exercise ranks by; None where nothing was measured."""
    for result in results:
        if result.measurement is not None:
            return QUANTITIES["ms" if result.measurement.metric == "time" else result.measurement.metric]
    return None


def _counted(result: PointResult, name: str) -> float | None:
    return COUNTERS[name].of(result.counted.totals) if result.counted is not None else None


def _measured(name: str, title: str, unit: str, of: Callable[[Measurement], float | None]) -> Quantity:
    def value(result: PointResult) -> float | None:
        return of(result.measurement) if result.measurement is not None else None

    def interval(result: PointResult) -> Interval | None:
        """For a speed, the ends of the time's interval swap: a speed is work over time."""
        found, middle = result.measurement, value(result)
        if found is None or middle is None or min(found.ci) <= 0:
            return None
        low, high = found.ci
        if name == "ms":
            return low, high
        return middle * found.ms_median / high, middle * found.ms_median / low

    return Quantity(name, title, unit, Basis.MEASURED, value, interval, "less" if name == "ms" else "more")


QUANTITIES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        _measured("gflops", "Speed", "GFLOPS", lambda found: found.gflops),
        _measured("gbps", "Bandwidth", "GB/s", lambda found: found.gbps),
        _measured("ms", "Time", "ms", lambda found: found.ms_median),
        Quantity(
            "bound",
            "Speed of light",
            "GFLOPS",
            Basis.MODELLED,
            lambda result: result.modelled.gflops if result.modelled is not None else None,
        ),
        Quantity(
            "occupancy",
            "Occupancy",
            "share of warps",
            Basis.MODELLED,
            lambda result: result.occupancy.share if result.occupancy is not None else None,
        ),
        Quantity(
            "loads",
            "Global load requests",
            "requests",
            Basis.COUNTED,
            lambda result: _counted(result, "global_load_requests"),
            better="less",
        ),
    )
}
