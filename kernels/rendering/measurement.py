"""The measured part of a report as text for a student: the speed, where it stands, and what it was measured with.

Measured, counted and modelled numbers stand in lines of their own, each with its name; no table mixes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.measurement.median import FEWEST
from kernels.measurement.model import Clocks, Measurement
from kernels.rendering.binding import binding_text
from kernels.rendering.measured_numbers import (
    UNITS,
    interval_of,
    ms_text,
    share_text,
    sizes_named,
    speed_text,
    value_of,
)
from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe, width
from kernels.rendering.text_style import Style
from kernels.report import Report
from kernels.verdict import CPU_DEVICE, Verdict
from kernels.wording import plural

_BOLD, _DIM, _YELLOW = "1", "2", "33;1"
_MOST_REMARKS = 8
_LEAST_BAR, _MOST_BAR = 8, 20
_MS = "ms"


def measurement_text(
    report: Report, style: Style, ladder: Sequence[str] = (), profile: Sequence[str] = ()
) -> list[str]:
    """What a GPU showed of a right kernel, what says most of it first; nothing where none was there.

    ladder: sentences on where this speed stands among known kernels
    profile: sentences on what a profiler saw
    """
    found = report.measurement
    if report.verdict is not Verdict.ACCEPTED:
        return []
    if found is None:
        return binding_text(report, style)
    out = _headline(found, style)
    for sentence in ladder:
        out += style.wrap(safe(sentence), "  ")
    out += _reliability(found, style)
    out += _remarks(found, style)
    profiled = [line for sentence in profile for line in style.wrap(safe(sentence))]
    curve = _curve(found, style)
    left_out = [line for text in found.left_out for line in style.wrap(f"Left out: {safe(text)}", "  ")]
    return _joined([out, binding_text(report, style), profiled, [*curve, *left_out]])


def unmade_text(report: Report, style: Style) -> list[str]:
    """What nobody checked, where the GPU alone judged the kernel."""
    if not report.unmade_checks:
        return []
    why = "The CPU device does not know every instruction of this kernel, so the GPU alone judged it. Not checked:"
    out = [style.paint(line, _YELLOW) for line in style.wrap(why)]
    for text in report.unmade_checks:
        out += style.wrap(f"- {safe(text)}", "  ", "    ")
    return out


def device_text(report: Report) -> str:
    """Where the kernel was judged, for the line under the verdict."""
    if report.measurement is not None:
        return safe(report.measurement.environment.device)
    return "CPU device" if report.device == CPU_DEVICE else f"device class {safe(report.device)}"


def _headline(found: Measurement, style: Style) -> list[str]:
    value, unit = _ranked_by(found)
    where = f"Measured on {safe(found.environment.device)}"
    text = f"{_number(value, unit)} {unit} at {sizes_named(found.sizes)}"
    if found.cublas_share is not None:
        text += f", {share_text(found.cublas_share)} of cuBLAS"
    lines = style.wrap(f"{where}: {text}.", "", "  ")
    if len(lines[0]) >= len(where):
        lines[0] = style.paint(where, _BOLD) + lines[0][len(where) :]
    return lines


def _ranked_by(found: Measurement) -> tuple[float, str]:
    """The value that counts, with its unit; the time where a metric has no value."""
    value, unit = value_of(found, found.metric), UNITS.get(found.metric)
    return (found.ms_median, _MS) if value is None or unit is None else (value, unit)


def _number(value: float, unit: str) -> str:
    return ms_text(value) if unit == _MS else speed_text(value)


def _reliability(found: Measurement, style: Style) -> list[str]:
    """How far the number can be relied on: its interval, and what kept the device from its best."""
    held = _held_down(found.clocks)
    return [*style.wrap(_repeats(found), "  "), *(style.wrap(held, "  ") if held else [])]


def _repeats(found: Measurement) -> str:
    """What the median rests on; of too few repeats for an interval, their range."""
    unit = _ranked_by(found)[1]
    ms = "" if unit == _MS else f": {ms_text(found.ms_median)} ms"
    if found.repeats <= 1:
        return f"A single repeat{ms}. It took all the time that there is for repeats."
    ends = found.ci if unit == _MS else interval_of(found, found.metric)
    what = "95 % interval" if found.repeats >= FEWEST else "all of them"
    interval = f"; {what} {'-'.join(_number(end, unit) for end in ends)} {unit}" if ends else ""
    doubt = "" if found.settled else " That is not yet within 0.5 % of the median."
    return f"Median of {plural(found.repeats, 'repeat')}{ms}{interval}.{doubt}"


def _held_down(clocks: Clocks) -> str:
    """Why the device was slower than it can be; "" where nothing was in its way."""
    if not clocks.held_down:
        return ""
    at = f" at {clocks.sm_mhz:,} MHz" if clocks.sm_mhz else ""
    at += f" of {clocks.max_sm_mhz:,}" if at and clocks.max_sm_mhz > clocks.sm_mhz else ""
    return f"The device was held down{at} by: {', '.join(map(safe, clocks.held_down))}."


def _remarks(found: Measurement, style: Style) -> list[str]:
    shown = [safe(text) for text in found.remarks[:_MOST_REMARKS]]
    if not found.ranked:
        why = " ".join(_sentence(text) for text in shown)
        text = f"Not ranked: this result stands on no leaderboard. {why}".rstrip()
        return [style.paint(line, _YELLOW) for line in style.wrap(text, "  ")]
    return [line for text in shown for line in style.wrap(f"Note: {_sentence(text)}", "  ")]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _curve(found: Measurement, style: Style) -> list[str]:
    """The speed at each size, with a bar where there is room for one; nothing where there is one size only."""
    speeds = found.curve
    if len(speeds) < 2:
        return []
    names = list(found.sizes)
    unit = UNITS.get(found.metric)
    columns: list[list[str]] = [
        [name, *(str(speed.sizes.get(name, "")) for speed in speeds)] for name in names
    ]
    columns.append(["ms", *(ms_text(speed.ms_median) for speed in speeds)])
    if unit is not None:
        columns.append([unit, *(_or_blank(value_of(speed, found.metric)) for speed in speeds)])
    if any(speed.cublas_share is not None for speed in speeds):
        shares = (speed.cublas_share for speed in speeds)
        columns.append(["of cuBLAS", *("" if share is None else share_text(share) for share in shares)])
    columns.append(["repeats", *(f"{speed.repeats:,}" for speed in speeds)])
    lines = table(list(zip(*columns, strict=True)), ">" * len(columns))
    if unit is not None:
        lines = _with_bars(lines, [value_of(speed, found.metric) or 0.0 for speed in speeds], style)
    lines = [line if "\033" in line else cut(line, style.width) for line in lines]
    return [style.paint(lines[0], _DIM), *lines[1:]]


def _or_blank(value: float | None) -> str:
    return "" if value is None else speed_text(value)


def _with_bars(lines: list[str], values: Sequence[float], style: Style) -> list[str]:
    """The rows of a table, each with a bar for its value; as they are where the line is too short for bars."""
    used = max(map(width, lines))
    room = min(_MOST_BAR, style.width - used - 2)
    most = max(values)
    if room < _LEAST_BAR or most <= 0:
        return lines
    mark = "█" if style.unicode else "#"
    bars = (mark * round(room * max(0.0, value) / most) for value in values)
    rows = (
        f"{line:<{used}}  {style.paint(bar, _DIM)}".rstrip()
        for line, bar in zip(lines[1:], bars, strict=True)
    )
    return [lines[0], *rows]


def measured_with_text(report: Report, style: Style) -> list[str]:
    """What a measurement was made with, for the end of a report."""
    found = report.measurement
    if found is None or report.verdict is not Verdict.ACCEPTED:
        return []
    env = found.environment
    versions = (("driver", env.driver), ("NVRTC", env.compiler), ("CuPy", env.cupy))
    known = (f"{name} {safe(version)}" for name, version in versions if version)
    fastest, slowest = found.spread
    parts = [
        ", ".join((f"Device class {safe(env.device_class)}", *known)),
        _state(found.clocks),
        f"repeats took {ms_text(fastest)}-{ms_text(slowest)} ms",
        f"the device was at work for {found.busy_ms:,.0f} ms" if found.busy_ms > 0 else "",
    ]
    return [style.paint(line, _DIM) for line in style.wrap(f"{'; '.join(filter(None, parts))}.")]


def _state(clocks: Clocks) -> str:
    """The state of the device while it measured; "" where it does not tell."""
    most = f" of {clocks.max_sm_mhz:,}" if clocks.max_sm_mhz > clocks.sm_mhz else ""
    parts = (
        f"SM at {clocks.sm_mhz:,}{most} MHz" if clocks.sm_mhz else "",
        f"{clocks.temperature_c} C" if clocks.temperature_c else "",
        f"{clocks.power_w:.0f} W" if clocks.power_w else "",
    )
    return ", ".join(filter(None, parts))


def _joined(parts: Sequence[list[str]]) -> list[str]:
    """The parts with an empty line between them."""
    out: list[str] = []
    for part in filter(None, parts):
        out += [*([""] if out else []), *part]
    return out
