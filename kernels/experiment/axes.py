"""The values of an axis as people write them: `4,8,16`, `1:8`, `512:4096:*2`, `64:256:+64`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from kernels.experiment.model import MOST_AXES, MOST_VALUES, Axis, DesignKind, Experiment

_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::([*+])(\d{1,18}))?", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_CLASS = re.compile(r"(?=.*[a-z])[a-z0-9][a-z0-9-]{0,47}", re.ASCII)

DEVICE = "device"
"""The name of the axis whose values can be device classes."""


class AxisError(ValueError):
    """An axis that can't be read; the message is a sentence without its full stop."""


def parse_axis(text: str) -> Axis:
    """An axis from `NAME=VALUES`; raises AxisError."""
    name, equals, values = text.partition("=")
    if not equals:
        raise AxisError(f"`{text}` isn't an axis. Write NAME=VALUES, as in TILE_WIDTH=4,8,16")
    return axis(name.strip(), parse_values(values))


def with_axes(experiment: Experiment, axes: Iterable[Axis]) -> Experiment:
    """The experiment with more axes, which replace its own of the same names. Raises AxisError for a list."""
    changed = {axis.name: axis for axis in axes}
    if changed and experiment.design.kind is DesignKind.LIST:
        raise AxisError("A list design has its own rows. Change the rows in the file")
    whole = {axis.name: axis for axis in experiment.axes} | changed
    if len(whole) > MOST_AXES:
        raise AxisError(f"An experiment has at most {MOST_AXES} axes")
    return replace(experiment, axes=tuple(whole.values()))


def device_classes(given: object) -> tuple[str, ...]:
    """The values of the axis `device` that are names, such as `h200,l40s`; () for numbers. Raises AxisError."""
    names = [each.strip() for each in given.split(",")] if isinstance(given, str) else given
    if not isinstance(names, list) or not any(isinstance(name, str) and _CLASS.fullmatch(name) for name in names):
        return ()
    for name in names:
        if not isinstance(name, str) or not _CLASS.fullmatch(name):
            raise AxisError(f"`{name}` isn't a device class, such as h200 or cpu")
        if names.count(name) > 1:
            raise AxisError(f"`{DEVICE}` has the value {name} twice")
    return tuple(names)


def axis(name: str, values: tuple[int, ...]) -> Axis:
    if not _NAME.fullmatch(name):
        raise AxisError(f"`{name[:100]}` isn't a C identifier of at most 100 characters")
    if not values:
        raise AxisError(f"`{name}` has no values")
    if len(values) > MOST_VALUES:
        raise AxisError(f"`{name}` has more than {MOST_VALUES:,} values")
    if len(set(values)) != len(values):
        twice = next(value for value, count in Counter(values).items() if count > 1)
        raise AxisError(f"`{name}` has the value {twice} twice")
    return Axis(name, values)


def parse_values(text: str) -> tuple[int, ...]:
    """Numbers and ranges with commas between them."""
    values: list[int] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if _NUMBER.fullmatch(part):
            values.append(int(part))
        else:
            values += _range(part)
        if len(values) > MOST_VALUES:
            raise AxisError(f"`{text}` has more than {MOST_VALUES:,} values")
    return tuple(values)


def _range(text: str) -> list[int]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise AxisError(f"`{text}` isn't a number or a range such as 1:8. Separate values with commas, such as 4,8,16")
    first, last, step = int(match[1]), int(match[2]), int(match[4] or 1)
    multiplies = match[3] == "*"
    if first > last:
        raise AxisError(f"`{text}` ends before it begins")
    if step == 0 or (multiplies and (step == 1 or first == 0)):
        raise AxisError(f"`{text}` never reaches its end")
    values = [first]
    while (value := values[-1] * step if multiplies else values[-1] + step) <= last:
        values.append(value)
        if len(values) > MOST_VALUES:
            raise AxisError(f"`{text}` has more than {MOST_VALUES:,} values")
    return values
