"""The measured part of a report as text for a student: the speed, what it was measured with, and what limits it.

Measured, counted and modelled numbers stand in lines of their own, each with its name; no table mixes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kernels.devices import devices
from kernels.evidence import Light, State
from kernels.measured_numbers import (
    UNITS,
    interval_of,
    ms_text,
    share_text,
    sizes_named,
    speed_text,
    value_of,
)
from kernels.measurement import Clocks, Measurement, Speed
from kernels.report import CPU_DEVICE, Report
from kernels.table import table
from kernels.text_safety import cut, safe, width
from kernels.text_style import Style
from kernels.verdict import Verdict
from kernels.wording import byte_size, plural

_BOLD, _DIM, _YELLOW = "1", "2", "33;1"
_MOST_REMARKS = 8
_LEAST_BAR, _MOST_BAR = 8, 20


def measurement_text(report: Report, style: Style, ladder: Sequence[str] = ()) -> list[str]:
    """Everything that a GPU showed of a right kernel; nothing where none was there.

    ladder: sentences on where this speed stands among known kernels
    """
    found = report.measurement
    if report.verdict is not Verdict.ACCEPTED:
        return []
    if found is None:
        return _binding(report, style)
    out = _headline(found, style)
    for sentence in ladder:
        out += _wrap(safe(sentence), style, "  ")
    out += _reliability(found, style)
    out += _remarks(found, style)
    curve = _curve(found, style)
    left_out = [line for text in found.left_out for line in _wrap(f"Left out: {safe(text)}", style, "  ")]
    parts = [out, [*curve, *left_out], _binding(report, style), _made_with(found, style)]
    return _joined(parts)


def unmade_text(report: Report, style: Style) -> list[str]:
    """What nobody checked, where the GPU alone judged the kernel."""
    if not report.unmade_checks:
        return []
    why = "The CPU device does not know every instruction of this kernel, so the GPU alone judged it. Not checked:"
    out = [style.paint(line, _YELLOW) for line in _wrap(why, style)]
    for text in report.unmade_checks:
        out += textwrap.wrap(
            f"- {safe(text)}",
            style.width,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
    return out


def device_text(report: Report) -> str:
    """Where the kernel was judged, for the line under the verdict."""
    if report.measurement is not None:
        return safe(report.measurement.environment.device)
    return "CPU device" if report.device == CPU_DEVICE else f"device class {safe(report.device)}"


def _headline(found: Measurement, style: Style) -> list[str]:
    value, unit = value_of(found, found.metric), UNITS.get(found.metric)
    where = f"Measured on {safe(found.environment.device)}"
    repeats, size = plural(found.repeats, "repeat"), sizes_named(found.sizes)
    if unit is None or value is None:
        ends = "-".join(map(ms_text, found.ci))
        text = f"{ms_text(found.ms_median)} ms at {size} (95 % interval {ends}, {repeats})"
    else:
        ends = _ends(interval_of(found, found.metric))
        text = f"{speed_text(value)} {unit} at {size} ({ends}{repeats}, {ms_text(found.ms_median)} ms)"
    if found.cublas_share is not None:
        text += f", {share_text(found.cublas_share)} of cuBLAS"
    lines = textwrap.wrap(f"{where}: {text}.", style.width, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines[0]) >= len(where):
        lines[0] = style.paint(where, _BOLD) + lines[0][len(where) :]
    return lines


def _ends(interval: tuple[float, float] | None) -> str:
    return f"95 % interval {speed_text(interval[0])}-{speed_text(interval[1])}, " if interval else ""


def _reliability(found: Measurement, style: Style) -> list[str]:
    """How far the number can be relied on: the spread, and the device's state meanwhile."""
    fastest, slowest = found.spread
    text = f"Repeats took {ms_text(fastest)}-{ms_text(slowest)} ms."
    if not found.settled:
        text += " The time for repeats was over before the interval was within 0.5 % of the median."
    return [*_wrap(text, style, "  "), *_wrap(clocks_text(found.clocks), style, "  ")]


def clocks_text(clocks: Clocks) -> str:
    """The state of the device while it measured, in one line."""
    parts = []
    if clocks.sm_mhz:
        most = clocks.max_sm_mhz
        parts.append(f"SM {clocks.sm_mhz:,} MHz" + (f" of {most:,}" if most > clocks.sm_mhz else ""))
    if clocks.temperature_c:
        parts.append(f"{clocks.temperature_c} C")
    if clocks.power_w:
        parts.append(f"{clocks.power_w:.0f} W")
    if not parts and not clocks.held_down:
        return "Clocks: the device does not tell them."
    held = f"held down by: {', '.join(map(safe, clocks.held_down))}" if clocks.held_down else ""
    return f"Clocks: {'; '.join(filter(None, (', '.join(parts), held)))}."


def _remarks(found: Measurement, style: Style) -> list[str]:
    shown = [safe(text) for text in found.remarks[:_MOST_REMARKS]]
    if not found.ranked:
        why = " ".join(_sentence(text) for text in shown)
        text = f"Not ranked: this result stands on no leaderboard. {why}".rstrip()
        return [style.paint(line, _YELLOW) for line in _wrap(text, style, "  ")]
    return [line for text in shown for line in _wrap(f"Note: {_sentence(text)}", style, "  ")]


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


def _binding(report: Report, style: Style) -> list[str]:
    """Which limit binds: what was measured, counted and modelled, each said to be so."""
    if report.measurement is None and report.measured_occupancy is None:
        return []
    rows = [
        ("measured", _held(report)),
        _held_back(report),
        ("counted", _open_points(report)),
        *(row for light in report.evidence.light for row in _bound(report, light)),
    ]
    lines = [
        line
        for kind, text in rows
        if text
        for line in textwrap.wrap(
            f"{kind}: {text}",
            style.width,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
    ]
    return [style.paint("Which limit binds", _BOLD), *lines] if lines else []


def _held(report: Report) -> str:
    """Occupancy by the driver."""
    held = report.measured_occupancy
    if held is None:
        return ""
    warps = plural(held.warps_per_sm, "warp")
    of = f", {share_text(held.share)} of the warps it can hold" if held.max_warps else ""
    text = f"{plural(held.blocks_per_sm, 'block')} of {plural(held.threads, 'thread')} ({warps}) fit on an SM at once"
    use = f"{byte_size(held.shared_bytes)} of shared memory a block"
    if held.registers:
        use = f"{plural(held.registers, 'register')} a thread, {use}"
    if held.local_bytes:
        use += f", {byte_size(held.local_bytes)} of local memory a thread"
    return f"{text}{of}, says the driver; it counts {use}."


def _held_back(report: Report) -> tuple[str, str]:
    """What stops one more block: the driver gives a number only, the table of limits a reason."""
    held = report.measured_occupancy
    if held is None or not (held.limit or held.note):
        return "", ""
    if held.note:
        return "measured against modelled", safe(held.note)
    limit = _LIMITS.get(held.limit, safe(held.limit))
    return "modelled", f"the table of limits says so too; what stops one more block: {limit}."


_LIMITS = {"warps": "its warps", "blocks": "its blocks", "shared": "shared memory"}


def _open_points(report: Report) -> str:
    """What the checklist finds missing, by its titles; what each rests on stands with the checklist."""
    rows = [row for row in report.evidence.checklist if row.state in {State.NO, State.PARTLY}]
    if not report.evidence.checklist:
        return ""
    if not rows:
        return "nothing in the course's checklist is missing."
    named = (safe(row.title) + (" (partly)" if row.state is State.PARTLY else "") for row in rows)
    return f"missing in the course's checklist: {', '.join(named)}."


def _bound(report: Report, light: Light) -> list[tuple[str, str]]:
    """Speed of light; the measured time is set against it where both are of one device and size."""
    if light.milliseconds <= 0:
        return []
    title = next((each.title for each in light.resources if each.resource == light.limit), light.limit)
    most = f", at most {speed_text(light.gflops)} GFLOPS" if light.gflops else ""
    bound = (
        f"at {sizes_named(light.sizes)} no run on {safe(light.device)} takes less than "
        f"{ms_text(light.milliseconds)} ms{most}; what binds there: {safe(title)}."
    )
    speed = _same(report, light)
    if speed is None or speed.ms_median <= 0:
        return [("modelled", bound)]
    share = light.milliseconds / speed.ms_median
    against = f"this run reaches {share_text(share)} of that speed of light"
    against += "; it is faster than the model allows, so the model is mistaken here." if share > 1 else "."
    return [("modelled", bound), ("measured against modelled", against)]


def _same(report: Report, light: Light) -> Speed | None:
    """The measured speed at the size of a bound, on the device that the bound is for."""
    found = report.measurement
    if found is None:
        return None
    named = devices().get(found.environment.device_class)
    if named is None or named.title != light.device:
        return None
    return next((speed for speed in (found, *found.curve) if dict(speed.sizes) == dict(light.sizes)), None)


def _made_with(found: Measurement, style: Style) -> list[str]:
    env = found.environment
    versions = (("driver", env.driver), ("NVRTC", env.compiler), ("CuPy", env.cupy))
    known = (f"{name} {safe(version)}" for name, version in versions if version)
    text = ", ".join((f"Device class {safe(env.device_class)}", *known))
    if found.busy_ms > 0:
        text += f"; the device was at work for {found.busy_ms:,.0f} ms"
    return [style.paint(line, _DIM) for line in _wrap(f"{text}.", style)]


def _joined(parts: Sequence[list[str]]) -> list[str]:
    """The parts with an empty line between them."""
    out: list[str] = []
    for part in filter(None, parts):
        out += [*([""] if out else []), *part]
    return out


def _wrap(text: str, style: Style, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, style.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
