from __future__ import annotations

from kernels.ladder.table import Ladder, Place, Step, place
from kernels.measurement import Measurement
from kernels.rendering.measured_numbers import one_size, speed_text


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
