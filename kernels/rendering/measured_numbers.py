"""The format of measured numbers: whole speeds, shares with one decimal, times in ms."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernels.measurement.median import FEWEST
from kernels.measurement.model import Clocks, Measurement, Speed
from kernels.wording import plural

MS = "ms"
UNITS: Mapping[str, str] = {"gflops": "GFLOPS", "gbps": "GB/s", "elements": "M elements/s"}
"""The unit of each metric that is a speed; `time` is in ms."""

_WHOLE_FROM = 10
_DECIMALS = 3


def speed_text(number: float) -> str:
    """A speed without its unit: `8,134`; below 10 with two decimals."""
    return f"{number:,.0f}" if abs(number) >= _WHOLE_FROM or not math.isfinite(number) else f"{number:.2f}"


def ms_text(number: float) -> str:
    """Milliseconds with three decimals or three significant figures: `2.112`, `0.0123`."""
    if not math.isfinite(number) or number <= 0:
        return f"{number:.3f}"
    decimals = max(_DECIMALS, _DECIMALS - 1 - math.floor(math.log10(number)))
    return f"{number:,.{decimals}f}"


def share_text(share: float) -> str:
    """A share as percent: `16.2 %`."""
    return f"{100 * share:.1f} %"


def sizes_named(sizes: Mapping[str, int]) -> str:
    """Sizes as in names of cases: `Width=2048`."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def value_of(speed: Speed, metric: str) -> float | None:
    values = {"time": speed.ms_median, "gbps": speed.gbps, "elements": speed.melements}
    return values.get(metric, speed.gflops)


def interval_of(speed: Speed, metric: str) -> tuple[float, float] | None:
    """The 95 % interval of that value, the lower end first; None without a value.

    A speed is work over time, so the ends of the time's interval change places.
    """
    value, (short, long) = value_of(speed, metric), speed.ci
    if metric == "time":
        return speed.ci
    if value is None or short <= 0 or long <= 0:
        return None
    return value * speed.ms_median / long, value * speed.ms_median / short


def ranked_value(measurement: Measurement) -> tuple[float, str]:
    """The value that ranks, with its unit; the time if the metric has no value."""
    value, unit = value_of(measurement, measurement.metric), UNITS.get(measurement.metric)
    return (measurement.ms_median, MS) if value is None or unit is None else (value, unit)


def value_text(value: float, unit: str) -> str:
    return ms_text(value) if unit == MS else speed_text(value)


def repeats_text(found: Measurement) -> str:
    """The repeats behind the median, and their interval; with too few repeats, their range."""
    unit = ranked_value(found)[1]
    ms = "" if unit == MS else f": {ms_text(found.ms_median)} ms"
    if found.repeats <= 1:
        return f"A single repeat{ms}. It took all the time for repeats."
    ends = found.ci if unit == MS else interval_of(found, found.metric)
    what = "95 % interval" if found.repeats >= FEWEST else "range"
    interval = f"; {what} {' to '.join(value_text(end, unit) for end in ends)} {unit}" if ends else ""
    doubt = (
        "" if found.settled else " The interval is wider than 0.5 % of the median, so the last digits are uncertain."
    )
    return f"Median of {plural(found.repeats, 'repeat')}{ms}{interval}.{doubt}"


def conditions(measurement: Measurement) -> Mapping[str, str]:
    env, clocks = measurement.environment, measurement.clocks
    most = f" of {clocks.max_sm_mhz:,}" if clocks.max_sm_mhz > clocks.sm_mhz else ""
    said = {
        "Device class": env.device_class,
        "Clock": f"{clocks.sm_mhz:,}{most} MHz" if clocks.sm_mhz else "",
        "Temperature": f"{clocks.temperature_c} °C" if clocks.temperature_c else "",
        "Power": f"{clocks.power_w:.0f} W" if clocks.power_w else "",
        "Driver": env.driver,
        "Compiler": f"NVRTC {env.compiler}" if env.compiler else "",
        "CuPy": env.cupy,
        "Fastest and slowest repeat": f"{ms_text(measurement.spread[0])} and {ms_text(measurement.spread[1])} ms",
        "Device busy for": f"{measurement.busy_ms:,.0f} ms" if measurement.busy_ms > 0 else "",
    }
    return {title: value for title, value in said.items() if value}


def held_down_text(clocks: Clocks) -> str:
    """Why the device ran slower than it can, in the driver's words; "" if it didn't."""
    if not clocks.held_down:
        return ""
    at = f" at {clocks.sm_mhz:,} MHz" if clocks.sm_mhz else ""
    at += f" of {clocks.max_sm_mhz:,}" if at and clocks.max_sm_mhz > clocks.sm_mhz else ""
    return f"The device was slowed down{at} by: {', '.join(clocks.held_down)}."


def one_size(sizes: Mapping[str, int]) -> int | None:
    """The one size of a case; None if its sizes differ."""
    different = set(sizes.values())
    return next(iter(different)) if len(different) == 1 and min(different) > 0 else None
