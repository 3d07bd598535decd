"""The quantities of a point: each with its unit, and whether it is measured, counted or modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernels.counters import COUNTERS
from kernels.evidence import Basis
from kernels.experiment.result import PointResult
from kernels.measurement import Measurement
from kernels.wording import did_you_mean

Interval = tuple[float, float]

START_TO_START, START_TO_START_MS = 0.0005, 0.0003
"""How much further the median of one kernel lies from start to start, as a share and in milliseconds.

A run's repeats don't show it: memory lies elsewhere after each start. On an H200, 154 of 164 repeated points
agreed without it. With it, all 108 points of later repeats agreed.
"""


_SPEED_UNITS = frozenset({"GFLOPS", "GB/s", "M elements/s", "ms", "mJ"})


class NoSuchQuantity(ValueError):
    """A name that isn't a quantity; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a point.

    of: its value; None where the point has none
    interval: of a measured value, with 95 %; None where there isn't one
    better: "more" or "less"
    device: what a point's number is of, such as "NVIDIA H200"
    """

    name: str
    title: str
    unit: str
    basis: Basis
    of: Callable[[PointResult], float | None]
    interval: Callable[[PointResult], Interval | None] = lambda result: None
    better: str = "more"
    device: Callable[[PointResult], str] = lambda result: "the CPU device"

    @property
    def speed_unit(self) -> str:
        """The unit, if it belongs next to the number: "" for shares and counts, whose titles say it."""
        return self.unit if self.unit in _SPEED_UNITS else ""

    @property
    def needs_gpu(self) -> bool:
        """Whether only measured points have it; the energy too, although it's modelled."""
        return self.device is _measured_on


def quantity(name: str) -> Quantity:
    """A quantity by its name, which may be a counter's; raises NoSuchQuantity."""
    if found := QUANTITIES.get(name) or _FOR_PLOTS.get(name):
        return found
    counter = COUNTERS.get(name)
    if counter is None:
        hint = did_you_mean(name, {*QUANTITIES, *_FOR_PLOTS, *COUNTERS})
        known = ", ".join((*QUANTITIES, *_FOR_PLOTS))
        raise NoSuchQuantity(f"`{name}` isn't a quantity.{hint} Use {known} or a counter's name.")
    title = counter.compared or name.replace("_", " ").capitalize()
    better = counter.better or "less"
    return Quantity(name, title, counter.unit, Basis.COUNTED, lambda result: _counted(result, name), better=better)


def origin(what: Quantity, results: Sequence[PointResult]) -> str:
    """The origin of a quantity's numbers: `measured on NVIDIA H200`, `counted on the CPU device`."""
    devices = {what.device(result) for result in results if what.of(result) is not None} - {""}
    if not devices:
        return what.basis.value
    name = devices.pop() if len(devices) == 1 else f"{len(devices)} devices"
    return f"{what.basis} {'for' if what.basis is Basis.MODELLED else 'on'} {name}"


def speed_of(results: list[PointResult]) -> Quantity | None:
    """The measured speed that the exercise ranks by; None where nothing was measured."""
    for result in results:
        if result.measurement is not None:
            return quantity_of(result.measurement.metric)
    return None


def quantity_of(metric: str) -> Quantity:
    """The quantity that an exercise with this metric ranks by."""
    return QUANTITIES["ms" if metric == "time" else metric]


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
        wider = START_TO_START * found.ms_median + START_TO_START_MS
        low, high = max(found.ci[0] - wider, found.ci[0] / 2), found.ci[1] + wider
        if name == "ms":
            return low, high
        return middle * found.ms_median / high, middle * found.ms_median / low

    better = "less" if name == "ms" else "more"
    return Quantity(name, title, unit, Basis.MEASURED, value, interval, better, _measured_on)


def _measured_on(result: PointResult) -> str:
    return result.measurement.environment.device if result.measurement is not None else ""


def _modelled_for(result: PointResult) -> str:
    return result.modelled.device if result.modelled is not None else ""


def _occupied(result: PointResult) -> str:
    cc = result.occupancy.cc if result.occupancy is not None else ""
    return f"compute capability {cc}" if cc else ""


def _energy(result: PointResult) -> float | None:
    found = result.measurement
    return found.clocks.power_w * found.ms_median if found is not None and found.clocks.power_w else None


QUANTITIES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        _measured("gflops", "Speed", "GFLOPS", lambda found: found.gflops),
        _measured("gbps", "Bandwidth", "GB/s", lambda found: found.gbps),
        _measured("elements", "Elements a second", "M elements/s", lambda found: found.melements),
        _measured("ms", "Time", "ms", lambda found: found.ms_median),
        _measured("cublas_share", "Speed compared with cuBLAS", "share of cuBLAS", lambda found: found.cublas_share),
        Quantity(
            "bound",
            "Speed of light",
            "GFLOPS",
            Basis.MODELLED,
            lambda result: result.modelled.gflops if result.modelled is not None else None,
            device=_modelled_for,
        ),
        Quantity(
            "occupancy",
            "Occupancy",
            "share of warps",
            Basis.MODELLED,
            lambda result: result.occupancy.share if result.occupancy is not None else None,
            device=_occupied,
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

_FOR_PLOTS: Mapping[str, Quantity] = {
    # The driver reports the power of one moment, so the energy is a model, although both factors are measured.
    "energy": Quantity("energy", "Energy", "mJ", Basis.MODELLED, _energy, better="less", device=_measured_on)
}
