from __future__ import annotations

from kernels.analysis.devices import devices
from kernels.ladder.table import Ladder, Place, Step, modelled_place, place
from kernels.measurement import Measurement
from kernels.rendering.measured_numbers import one_size, speed_text
from kernels.report import Report
from kernels.verdict import Verdict


def standing(ladder: Ladder | None, measurement: Measurement | None) -> tuple[str, ...]:
    """The position of a measurement and the next idea; nothing if ladder and measurement can't be compared.

    A ladder has GFLOPS by one size. A result that isn't ranked may not cover the whole work.
    """
    if ladder is None or measurement is None or not measurement.ranked or measurement.gflops is None:
        return ()
    size = one_size(measurement.sizes)
    if size is None:
        return ()
    stands = place(ladder, measurement.environment.device_class, measurement.gflops, size)
    return ladder_text(stands) if stands is not None else ()


def modelled_standing(ladder: Ladder | None, report: Report) -> str:
    """Near which rung the model puts an accepted kernel that no GPU measured, and the next idea; "" if unknown."""
    if ladder is None or report.verdict is not Verdict.ACCEPTED or report.measurement is not None:
        return ""
    for light in report.evidence.light:
        names = [device.name for device in devices().values() if device.title == light.device]
        size = one_size(light.sizes)
        stands = modelled_place(ladder, names[0], light.gflops, size) if names and size is not None else None
        if stands is not None:
            return _modelled_text(stands)
    return ""


def _modelled_text(stands: Place) -> str:
    idea = f" Idea of the next rung: {stands.above.rung.idea}." if stands.above is not None else ""
    if (near := stands.below) is None:
        return f"By the model, your kernel is below rung 1 of the reference ladder.{idea}"
    reached = f"which reached {speed_text(near.gflops)} GFLOPS on an {stands.device_class.upper()}"
    rung = f"rung {near.rung.number} of the reference ladder ({near.rung.title})"
    return f"By the model, your kernel is near {rung}, {reached}.{idea}"


def next_idea(ladder: Ladder | None, measurement: Measurement | None) -> str:
    sentences = standing(ladder, measurement)[1:]
    text = sentences[0].removeprefix(_NEXT_IDEA) if sentences else ""
    return text[:1].upper() + text[1:]


_NEXT_IDEA = "Next idea: "


def ladder_text(stands: Place) -> tuple[str, ...]:
    """A sentence on the position, and one on the next idea if there is one."""
    where = f"{_where(stands)} of the reference ladder."
    return (where,) if stands.above is None else (where, f"{_NEXT_IDEA}{stands.above.rung.idea}.")


def _where(stands: Place) -> str:
    below, above = stands.below, stands.above
    if below is None:
        assert above is not None, "a place has a neighbour"
        return f"Below {_named(above)}, the slowest measured rung"
    if above is None:
        return f"{'Level with' if stands.level else 'Above'} {_named(below)}, the fastest measured rung"
    if stands.level:
        return f"Level with {_named(below)}, below {_named(above)}"
    return f"Between {_named(below)} and {_named(above)}"


def _named(step: Step) -> str:
    return f"rung {step.rung.number} ({step.rung.title}: {speed_text(step.gflops)})"
