"""An exercise's reference ladder: correct kernels with their measured speeds, and the place of a speed among them."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from kernels.exercise import Exercise, ExerciseError, find_exercise

TABLE = "ladder.toml"
FOLDER = "ladder"
_KEY = re.compile(r"\d\d_[a-z0-9_]+")
_CLASS = re.compile(r"[a-z0-9][a-z0-9_-]*")
_FIGURES = ("gflops", "cublas_share")
_MODELLED = "modelled"

LEVEL = 0.01
"""Speeds that differ by at most this share count as the same. Otherwise a rung's own kernel, slightly slower this time,
would get that rung's idea as the next one.
"""


class LadderError(ValueError):
    """A ladder that can't be used. The text names the entry and the reason."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A rung's speeds on one device class, by size. A cublas_share of 1.0 is as fast as cuBLAS.

    modelled: its speed of light in GFLOPS; empty if the table has none
    """

    gflops: Mapping[int, float]
    cublas_share: Mapping[int, float]
    modelled: Mapping[int, float] = field(default_factory=dict)

    def at(self, size: int) -> float:
        """Return GFLOPS at a size, interpolated over the size's logarithm; outside the measured sizes, the nearest."""
        known = sorted(self.gflops)
        if size <= known[0]:
            return self.gflops[known[0]]
        for low, high in pairwise(known):
            if size <= high:
                part = math.log(size / low) / math.log(high / low)
                return self.gflops[low] + part * (self.gflops[high] - self.gflops[low])
        return self.gflops[known[-1]]


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of a ladder.

    number: from 1, as in the file's name
    idea: its new idea, which completes "next idea: ..."
    figures: by device class, such as "h200"; empty if it was never measured
    """

    number: int
    file: Path
    title: str
    idea: str
    figures: Mapping[str, Figures] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return self.file.read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Ladder:
    """The kernels of one exercise, from the slowest to the fastest."""

    exercise: str
    rungs: tuple[Rung, ...]

    def rung(self, number: int) -> Rung:
        """Return the rung with that number. Raise LadderError with the existing numbers."""
        for rung in self.rungs:
            if rung.number == number:
                return rung
        raise LadderError(f"there is no rung {number}; its rungs go from 1 to {len(self.rungs)}")


@dataclass(frozen=True, slots=True)
class Step:
    """A rung with its speed at the requested size."""

    rung: Rung
    gflops: float


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a speed on the ladder.

    below: the fastest measured rung that is slower or level; None below the whole ladder
    above: the slowest measured rung that is faster, whose idea is next; None at the top
    """

    device_class: str
    size: int
    gflops: float
    below: Step | None
    above: Step | None

    @property
    def level(self) -> bool:
        """Whether the speed equals the speed of the rung below, as far as speeds repeat."""
        return self.below is not None and abs(self.gflops - self.below.gflops) <= LEVEL * self.below.gflops


def read_ladder(exercise: Exercise) -> Ladder | None:
    """Return the ladder in an exercise's folder, or None. Raise LadderError if it can't be used."""
    if exercise.folder is None:
        return None
    path = exercise.folder / TABLE
    if not path.is_file():
        return None
    return parse_ladder(path.read_text("utf-8"), exercise.name, exercise.folder / FOLDER)


@lru_cache(maxsize=64)
def shipped_ladder(exercise: str) -> Ladder | None:
    try:
        return read_ladder(find_exercise(exercise, ()))
    except (ExerciseError, LadderError):
        return None


def parse_ladder(text: str, exercise: str, folder: Path) -> Ladder:
    """Parse the table of a ladder. Raise LadderError for the first entry that can't be used."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LadderError(f"the table of rungs is not TOML: {error}") from error
    rungs = tuple(_rung(key, entry, folder) for key, entry in table.items())
    for expected, rung in enumerate(rungs, 1):
        if rung.number != expected:
            raise LadderError(f"{rung.file.stem}: the file of this rung must be numbered {expected:02d}, by its order")
    return Ladder(exercise, rungs)


def place(ladder: Ladder, device_class: str, gflops: float, size: int) -> Place | None:
    """Return the place of a speed among the rungs measured on that device class; None without any."""
    steps = [Step(rung, rung.figures[device_class].at(size)) for rung in ladder.rungs if device_class in rung.figures]
    if not steps:
        return None
    # at another size than the ranking size, the order of neighbours on the ladder may differ
    steps.sort(key=lambda step: step.gflops)
    number = sum((1 - LEVEL) * step.gflops <= gflops for step in steps)
    reached, beyond = steps[:number], steps[number:]
    return Place(
        device_class=device_class,
        size=size,
        gflops=gflops,
        below=reached[-1] if reached else None,
        above=beyond[0] if beyond else None,
    )


def modelled_place(ladder: Ladder, device_class: str, gflops: float, size: int) -> Place | None:
    """Return the place of a modelled speed among the rungs' modelled speeds at this size; None without any.

    The model's order isn't quite the measured one. So the last rung that the model puts no higher is below, and the
    first later one that it puts higher is above. Their steps have the measured speeds.
    """
    known = [
        (figures.modelled[size], Step(rung, figures.at(size)))
        for rung in ladder.rungs
        if (figures := rung.figures.get(device_class)) is not None and size in figures.modelled
    ]
    most = (1 + LEVEL) * gflops
    reached = max((at for at, (speed, _) in enumerate(known) if speed <= most), default=-1)
    above = next((step for speed, step in known[reached + 1 :] if speed > most), None)
    if not known:
        return None
    return Place(device_class, size, gflops, known[reached][1] if reached >= 0 else None, above)


def _rung(key: str, entry: Any, folder: Path) -> Rung:
    if not _KEY.fullmatch(key):
        raise LadderError(f"{key}: a rung's name is two digits and small letters, such as 01_naive")
    if not isinstance(entry, dict):
        raise LadderError(f"{key}: a rung is a table, such as [{key}]")
    file = folder / f"{key}.cu"
    if not file.is_file():
        raise LadderError(f"{key}: there is no file {FOLDER}/{key}.cu")
    devices = {name: value for name, value in entry.items() if name not in ("title", "idea")}
    return Rung(
        number=int(key[:2]),
        file=file,
        title=_text(key, "title", entry),
        idea=_text(key, "idea", entry),
        figures={name: _figures(f"{key}.{name}", name, value) for name, value in devices.items()},
    )


def _text(key: str, name: str, entry: Mapping[str, Any]) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise LadderError(f"{key}: {name!r} is missing, or is not text in quotes")
    return value


def _figures(key: str, device_class: str, entry: Any) -> Figures:
    if not _CLASS.fullmatch(device_class) or not isinstance(entry, dict):
        raise LadderError(f"{key}: a rung has title, idea and tables of device classes, such as [{key}]")
    if set(entry) - {_MODELLED} != set(_FIGURES):
        raise LadderError(
            f"{key}: a device's table has {' and '.join(_FIGURES)}, perhaps {_MODELLED}, and nothing else"
        )
    figures = Figures(*(_by_size(f"{key}.{name}", entry[name]) for name in (*_FIGURES, _MODELLED) if name in entry))
    if figures.gflops.keys() != figures.cublas_share.keys():
        raise LadderError(f"{key}: {' and '.join(_FIGURES)} must have the same sizes")
    return figures


def _by_size(key: str, entry: Any) -> dict[int, float]:
    if not isinstance(entry, dict) or not entry:
        raise LadderError(f"{key}: figures are given by size, such as {{ 2048 = 9259 }}")
    for size, value in entry.items():
        if not size.isdecimal() or int(size) == 0:
            raise LadderError(f"{key}: {size!r} is not a size")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise LadderError(f"{key}: the figure at {size} is a number greater than 0, not {value!r}")
    return {int(size): float(entry[size]) for size in sorted(entry, key=int)}
