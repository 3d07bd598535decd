"""The measured part of a report as text: the speed, its position, and the conditions.

Measured, counted and modelled numbers have separate lines, each with its basis. No table mixes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.analysis.devices import devices
from kernels.evidence import Light, State
from kernels.measurement.model import Measurement, Speed
from kernels.occupancy import resource_title
from kernels.rendering.measured_numbers import (
    UNITS,
    conditions,
    held_down_text,
    ms_text,
    ranked_value,
    repeats_text,
    share_text,
    sizes_named,
    speed_text,
    value_of,
    value_text,
)
from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe, width
from kernels.rendering.text_style import BOLD, DIM, YELLOW, Style
from kernels.report import Report
from kernels.verdict import CPU_DEVICE, Verdict
from kernels.wording import plural

_MOST_REMARKS = 8
_LEAST_BAR, _MOST_BAR = 8, 20


def measurement_text(
    report: Report, style: Style, ladder: Sequence[str] = (), profile: Sequence[str] = ()
) -> list[str]:
    """The measurement of an accepted kernel, the most important line first; nothing without a GPU.

    ladder: sentences on the position among known kernels
    profile: sentences from a profiler
    """
    measurement = report.measurement
    if report.verdict is not Verdict.ACCEPTED:
        return []
    if measurement is None:
        return binding_text(report, style)
    out = _headline(measurement, style)
    for sentence in ladder:
        out += style.wrap(safe(sentence), "  ")
    for sentence in filter(None, (repeats_text(measurement), held_down_text(measurement.clocks))):
        out += style.wrap(safe(sentence), "  ")
    out += _remarks(measurement, style)
    profiled = [line for sentence in profile for line in style.wrap(safe(sentence))]
    curve = _curve(measurement, style)
    left_out = [line for text in measurement.left_out for line in style.wrap(f"Left out: {safe(text)}", "  ")]
    return style.joined([out, binding_text(report, style), profiled, [*curve, *left_out]]).split("\n")


GPU_ONLY = "The CPU device doesn't know every instruction of this kernel, so only the GPU judged it."


def unmade_text(report: Report, style: Style) -> list[str]:
    """The checks that are missing if only a GPU judged the kernel."""
    if not report.unmade_checks:
        return []
    why = f"{GPU_ONLY} Not checked:"
    out = [style.paint(line, YELLOW) for line in style.wrap(why)]
    for text in report.unmade_checks:
        out += style.wrap(f"- {safe(text)}", "  ", "    ")
    return out


def device_text(report: Report) -> str:
    """The device that judged the kernel, for the line under the verdict."""
    if report.measurement is not None:
        return safe(report.measurement.environment.device)
    return "CPU device" if report.device == CPU_DEVICE else f"device class {safe(report.device)}"


def _headline(measurement: Measurement, style: Style) -> list[str]:
    value, unit = ranked_value(measurement)
    where = f"Measured on {safe(measurement.environment.device)}"
    text = f"{value_text(value, unit)} {unit} at {sizes_named(measurement.sizes)}"
    if measurement.cublas_share is not None:
        text += f", {share_text(measurement.cublas_share)} of cuBLAS"
    lines = style.wrap(f"{where}: {text}.", "", "  ")
    if len(lines[0]) >= len(where):
        lines[0] = style.paint(where, BOLD) + lines[0][len(where) :]
    return lines


def _remarks(measurement: Measurement, style: Style) -> list[str]:
    shown = [safe(text) for text in measurement.remarks[:_MOST_REMARKS]]
    if not measurement.ranked:
        why = " ".join(_sentence(text) for text in shown)
        text = f"Not ranked. {why}".rstrip()
        return [style.paint(line, YELLOW) for line in style.wrap(text, "  ")]
    return [line for text in shown for line in style.wrap(f"Note: {_sentence(text)}", "  ")]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _curve(measurement: Measurement, style: Style) -> list[str]:
    """The speed at each size, with a bar if there is room; nothing for a single size."""
    speeds = measurement.curve
    if len(speeds) < 2:
        return []
    names = list(measurement.sizes)
    unit = UNITS.get(measurement.metric)
    values = [value_of(speed, measurement.metric) for speed in speeds]
    columns: list[list[str]] = [[name, *(str(speed.sizes.get(name, "")) for speed in speeds)] for name in names]
    columns.append(["ms", *(ms_text(speed.ms_median) for speed in speeds)])
    if unit is not None:
        columns.append([unit, *("" if value is None else speed_text(value) for value in values)])
    if any(speed.cublas_share is not None for speed in speeds):
        shares = (speed.cublas_share for speed in speeds)
        columns.append(["of cuBLAS", *("" if share is None else share_text(share) for share in shares)])
    columns.append(["repeats", *(f"{speed.repeats:,}" for speed in speeds)])
    lines = table(list(zip(*columns, strict=True)), ">" * len(columns))
    if unit is not None:
        lines = _with_bars(lines, [value or 0.0 for value in values], style)
    lines = [line if "\033" in line else cut(line, style.width) for line in lines]
    return [style.paint(lines[0], DIM), *lines[1:]]


def _with_bars(lines: list[str], values: Sequence[float], style: Style) -> list[str]:
    """The rows of a table, each with a bar for its value if the line has room."""
    used = max(map(width, lines))
    room = min(_MOST_BAR, style.width - used - 2)
    most = max(values)
    if room < _LEAST_BAR or most <= 0:
        return lines
    mark = "█" if style.unicode else "#"
    bars = (mark * round(room * max(0.0, value) / most) for value in values)
    rows = (f"{line:<{used}}  {style.paint(bar, DIM)}".rstrip() for line, bar in zip(lines[1:], bars, strict=True))
    return [lines[0], *rows]


def measured_with_text(report: Report, style: Style) -> list[str]:
    measurement = report.measurement
    if measurement is None or report.verdict is not Verdict.ACCEPTED:
        return []
    said = "; ".join(f"{title}: {safe(value)}" for title, value in conditions(measurement).items())
    return [style.paint(line, DIM) for line in style.wrap(f"{said.replace('°', '')}.")]


def binding_text(report: Report, style: Style) -> list[str]:
    """The limits of the kernel's speed, a line for each basis; nothing without a GPU."""
    if report.measurement is None and report.measured_occupancy is None:
        return []
    rows = [
        *(row for light in report.evidence.light for row in _bound(report.measurement, light)),
        ("modelled", _held(report)),
        _held_back(report),
        ("counted", _open_points(report)),
    ]
    lines = [line for kind, text in rows if text for line in style.wrap(f"{kind}: {text}", "  ", "    ")]
    return [style.paint("Limits", BOLD), *lines] if lines else []


def _held(report: Report) -> str:
    """Occupancy as the driver computes it. Active warps aren't counted."""
    held = report.measured_occupancy
    if held is None:
        return ""
    fit = f"{plural(held.blocks_per_sm, 'block')} of {plural(held.threads, 'thread')} fit on an SM at once"
    of = f", {share_text(held.share)} of its limit" if held.max_warps else ""
    return f"the driver computes that {fit}. That makes {plural(held.warps_per_sm, 'warp')}{of}."


def _held_back(report: Report) -> tuple[str, str]:
    """The limit on blocks. The driver gives only a number; the table of limits gives the reason."""
    held = report.measured_occupancy
    if held is None:
        return "", ""
    if held.note:
        return "modelled", safe(held.note)
    if not held.limit or held.share >= 1:
        return "", ""
    return "modelled", f"occupancy is limited by {safe(resource_title(held.limit))}."


def _open_points(report: Report) -> str:
    """The titles of the checklist's missing optimisations; the checklist has the numbers."""
    rows = [row for row in report.evidence.checklist if row.state in {State.NO, State.PARTLY}]
    if not report.evidence.checklist:
        return ""
    if not rows:
        return "nothing in the checklist below is missing."
    named = (safe(row.title) + (" (partly)" if row.state is State.PARTLY else "") for row in rows)
    return f"missing in the checklist below: {', '.join(named)}."


def _bound(measurement: Measurement | None, light: Light) -> list[tuple[str, str]]:
    """The likely bottleneck, the speed of light, and how close the kernel came.

    A bound is for one size on one device. For a time of another size or device, only the bottleneck is given.
    """
    if light.milliseconds <= 0:
        return []
    title = safe(next((each.title for each in light.resources if each.resource == light.limit), light.limit))
    size, device = sizes_named(light.sizes), safe(light.device)
    speed = _same(measurement, light)
    if measurement is None or speed is None or speed.ms_median <= 0:
        return [("modelled", f"likely bottleneck at {size} on {device}: {title}.")]
    most = f", so {speed_text(light.gflops)} GFLOPS at most" if light.gflops else ""
    least = f"{device} needs at least {ms_text(light.milliseconds)} ms there{most}"
    bound = f"likely bottleneck at {size}: {title}. {least}."
    share = light.milliseconds / speed.ms_median
    against = f"at {size} this kernel took {ms_text(speed.ms_median)} ms, {share_text(share)} of the speed of light."
    if share > 1:
        against += " It is faster than the model allows, so the model doesn't fit this kernel."
    elif dict(light.sizes) != dict(measurement.sizes):
        against += f" At {sizes_named(measurement.sizes)} the speed of light differs."
    return [("modelled", bound), ("measured against modelled", against)]


def _same(measurement: Measurement | None, light: Light) -> Speed | None:
    """The measured speed at the bound's size and on the bound's device."""
    if measurement is None:
        return None
    named = devices().get(measurement.environment.device_class)
    if named is None or named.title != light.device:
        return None
    return next((speed for speed in (measurement, *measurement.curve) if dict(speed.sizes) == dict(light.sizes)), None)
