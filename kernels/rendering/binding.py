"""Which limit binds a right kernel, as text: what was measured, counted and modelled, each said to be so."""

from __future__ import annotations

from kernels.analysis.devices import devices
from kernels.evidence import Light, State
from kernels.measurement.model import Measurement, Speed
from kernels.rendering.measured_numbers import ms_text, share_text, sizes_named, speed_text
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import Style
from kernels.report import Report
from kernels.wording import plural

_BOLD = "1"
_LIMITS = {"warps": "its warps", "blocks": "its blocks", "shared": "shared memory"}


def binding_text(report: Report, style: Style) -> list[str]:
    """A line for each kind of number, with what the kernel could reach first; nothing where no GPU was there."""
    if report.measurement is None and report.measured_occupancy is None:
        return []
    rows = [
        *(row for light in report.evidence.light for row in _bound(report.measurement, light)),
        ("modelled", _held(report)),
        _held_back(report),
        ("counted", _open_points(report)),
    ]
    lines = [line for kind, text in rows if text for line in style.wrap(f"{kind}: {text}", "  ", "    ")]
    return [style.paint("Which limit binds", _BOLD), *lines] if lines else []


def _held(report: Report) -> str:
    """Occupancy, as the driver works it out: nobody counted warps at work."""
    held = report.measured_occupancy
    if held is None:
        return ""
    fit = f"{plural(held.blocks_per_sm, 'block')} of {plural(held.threads, 'thread')} fit on an SM at once"
    of = f", {share_text(held.share)} of what it can hold" if held.max_warps else ""
    return f"by the driver's calculation, {fit}: {plural(held.warps_per_sm, 'warp')}{of}."


def _held_back(report: Report) -> tuple[str, str]:
    """What stops one more block: the driver gives a number only, the table of limits a reason."""
    held = report.measured_occupancy
    if held is None:
        return "", ""
    if held.note:
        return "modelled", safe(held.note)
    if not held.limit or held.share >= 1:
        return "", ""
    return "modelled", f"what keeps one more block out: {_LIMITS.get(held.limit, safe(held.limit))}."


def _open_points(report: Report) -> str:
    """What the checklist finds missing, by its titles; what each rests on stands with the checklist."""
    rows = [row for row in report.evidence.checklist if row.state in {State.NO, State.PARTLY}]
    if not report.evidence.checklist:
        return ""
    if not rows:
        return "nothing in the checklist below is missing."
    named = (safe(row.title) + (" (partly)" if row.state is State.PARTLY else "") for row in rows)
    return f"missing in the checklist below: {', '.join(named)}."


def _bound(found: Measurement | None, light: Light) -> list[tuple[str, str]]:
    """Speed of light, and how near to it the kernel came.

    A bound is for one size on one device. Beside a time of another size or device its figures would mislead, so then
    only what binds is told.
    """
    if light.milliseconds <= 0:
        return []
    title = safe(next((each.title for each in light.resources if each.resource == light.limit), light.limit))
    size, device = sizes_named(light.sizes), safe(light.device)
    speed = _same(found, light)
    if found is None or speed is None or speed.ms_median <= 0:
        return [("modelled", f"what binds at {size} on {device}: {title}.")]
    most = f", so {speed_text(light.gflops)} GFLOPS at most" if light.gflops else ""
    bound = f"what binds at {size}: {title}. {device} needs at least {ms_text(light.milliseconds)} ms there{most}."
    share = light.milliseconds / speed.ms_median
    against = f"at {size} this kernel took {ms_text(speed.ms_median)} ms, {share_text(share)} of that speed of light."
    if share > 1:
        against += " It is faster than the model allows, so the model is mistaken here."
    elif dict(light.sizes) != dict(found.sizes):
        against += f" At {sizes_named(found.sizes)} the bound is another."
    return [("modelled", bound), ("measured against modelled", against)]


def _same(found: Measurement | None, light: Light) -> Speed | None:
    """The measured speed at the size of a bound, on the device that the bound is for."""
    if found is None:
        return None
    named = devices().get(found.environment.device_class)
    if named is None or named.title != light.device:
        return None
    return next((speed for speed in (found, *found.curve) if dict(speed.sizes) == dict(light.sizes)), None)
