"""An experiment: kernels, axes, and which combinations of their values are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernels.experiment.constraint import Constraint
from kernels.experiment.plot.model import Request

MOST_POINTS = 100_000
MOST_VALUES = 10_000
MOST_AXES = 32
MOST_TRIED = 1000
"""The largest budget of a search."""

Params = Mapping[str, int]
"""A value for each axis."""


class DesignKind(StrEnum):
    """Which combinations are tried."""

    GRID = "grid"
    RANDOM = "random"
    LIST = "list"
    TUNE = "tune"


@dataclass(frozen=True, slots=True)
class Axis:
    """A name and its values. It names a macro or constant of the kernel, its tile, or a size of the exercise."""

    name: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """Which combinations are tried.

    points: the size of a random sample, or the budget of a search
    rows: the points of a list
    goal: the quantity whose best value a search looks for
    """

    kind: DesignKind = DesignKind.GRID
    points: int = 0
    seed: int = 0
    rows: tuple[Params, ...] = ()
    goal: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is recorded of a point.

    counts: whether accesses are counted on the CPU device
    repeats: of each measurement; 0 for as many as its median needs
    interval: the largest distance of the interval's ends from the median, in percent; 0 for the usual 0.5
    """

    counts: bool = True
    repeats: int = 0
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class OnServer:
    """A kernel that a server has: a submission, or the best accepted one of an assignment.

    submission: its ID; best: such as demo/tiled; one of them is ""
    label: what plots and tables call it; "" for a name that is made of the other two
    """

    submission: str = ""
    best: str = ""
    label: str = ""

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        return f"submission-{self.submission}.cu" if self.submission else f"best-{self.best}.cu".replace("/", "-")

    def to_plain(self) -> dict[str, str]:
        there = {"submission": self.submission} if self.submission else {"best": self.best}
        return there | ({"label": self.label} if self.label else {})


@dataclass(frozen=True, slots=True)
class Experiment:
    """A whole experiment, as its file describes it.

    exercise: the name of an exercise, or its folder
    kernels: files, from the experiment's folder
    on_server: kernels whose texts a server has, by name
    ladder: the kernels are the exercise's ladder, and `kernels` is empty
    question: what it answers, in one sentence
    expect: what the course says about the answer
    plot: the plot that shows the answer
    devices: the device classes of its axis `device`, each a run of its own; () for any class
    """

    name: str
    exercise: str
    kernels: tuple[str, ...]
    axes: tuple[Axis, ...]
    constraints: tuple[Constraint, ...] = ()
    design: Design = Design()
    measure: Measure = Measure()
    on_server: Mapping[str, OnServer] = field(default_factory=dict)
    ladder: bool = False
    question: str = ""
    expect: str = ""
    plot: Request | None = None
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One kernel with one value for each axis."""

    kernel: str
    params: Params
