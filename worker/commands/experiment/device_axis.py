"""The axis `device` of the command line and of a file's text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

from worker.commands.root import WrongUse

_HEADER = re.compile(r"\s*\[\s*\"?(\w+)\"?\s*\]")
_DEVICE = re.compile(r"\s*\"?device\"?\s*=")


def device_axis(axes: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The device classes that `-a device=...` names, and the other axes."""
    from kernels.experiment.axes import DEVICE, AxisError, device_classes

    found: tuple[str, ...] = ()
    rest = []
    for text in axes:
        name, _, values = text.partition("=")
        try:
            classes = device_classes(values) if name.strip() == DEVICE else ()
        except AxisError as error:
            raise WrongUse(f"--axis: {error}.") from error
        found = found or classes
        if not classes:
            rest.append(text)
    return found, tuple(rest)


def without_devices(text: str) -> str:
    """A file's text without its axis `device`; all other lines keep their numbers."""
    whole = tomllib.loads(text)
    wanted = {**whole, "axes": {name: each for name, each in whole["axes"].items() if name != "device"}}
    lines, table = text.split("\n"), ""
    for start, line in enumerate(lines):
        if header := _HEADER.match(line):
            table = header[1]
        if table != "axes" or not _DEVICE.match(line):
            continue
        for end in range(start + 1, len(lines) + 1):
            shorter = "\n".join([*lines[:start], *[""] * (end - start), *lines[end:]])
            try:
                if tomllib.loads(shorter) == wanted:
                    return shorter
            except tomllib.TOMLDecodeError:
                continue
    raise WrongUse("The axis `device` needs lines of its own below [axes].")
