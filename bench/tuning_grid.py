"""A grid in which every point has a result: measured ones from a folder, or made-up ones."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.evidence import Light, ResourceTime
from kernels.experiment.definition import read_definition
from kernels.experiment.model import Point
from kernels.experiment.points import points
from kernels.experiment.result import PointResult
from kernels.measurement import Environment, Measurement
from kernels.verdict import Verdict
from worker.experiment.folder import Folder

SAMPLE = Path(__file__).parents[1] / "samples" / "experiments" / "register_blocks.toml"
WIDTH = 2048
_PEAK, _MULTIPROCESSORS, _REGISTERS, _SHARED, _THREADS = 66_900, 132, 65_536, 233_472, 2048


@dataclass(frozen=True, slots=True)
class Grid:
    """All points with their results, in the same order."""

    points: Sequence[Point]
    results: Sequence[PointResult]

    @property
    def speeds(self) -> list[float]:
        """GFLOPS; 0 for a point that wasn't accepted."""
        return [each.measurement.gflops or 0.0 if each.measurement is not None else 0.0 for each in self.results]

    @property
    def best(self) -> float:
        return max(self.speeds)

    @property
    def near(self) -> int:
        """How many points are within 3 % of the best."""
        return sum(speed >= 0.97 * self.best for speed in self.speeds)


def recorded(folder: Path) -> Grid:
    """The grid that was measured in a folder."""
    results = Folder(folder).results()
    return Grid([Point(each.kernel, each.params) for each in results], results)


def made_up(seed: int) -> Grid:
    """A register-blocked product by a formula. Each pair of values has a random effect that no model knows."""
    space = points(read_definition(SAMPLE.read_text("utf-8")))
    dice = random.Random(seed)
    effects: dict[tuple[str, int, str, int], float] = {}
    results = []
    for number, point in enumerate(space):
        effect = dice.gauss(0, 0.02)
        for (one, its), (other, others) in itertools.combinations(point.params.items(), 2):
            effect += effects.setdefault((one, its, other, others), dice.gauss(0, 0.06))
        limit, speed = _speed(point)
        results.append(_result(number, point, speed * math.exp(effect), limit * math.exp(dice.gauss(0.3, 0.1))))
    return Grid(space, results)


def _speed(point: Point) -> tuple[float, float]:
    """The speed at which the units are busy, and with waiting for barriers, latency and the last blocks."""
    bm, bn, bk, tm, tn = point.params.values()
    threads = bm // tm * (bn // tn)
    needed = tm * tn + tm + tn + 26
    spilled = needed > min(_REGISTERS // threads, 255)
    registers = 8 * -(-min(needed, _REGISTERS // threads, 255) // 8)
    shared = 4 * bm * (bk + 1) + 4 * bk * bn
    blocks = max(1, min(_REGISTERS // (registers * threads), _SHARED // (shared + 1024), _THREADS // threads, 32))
    occupancy = blocks * threads / _THREADS
    launched, slots = (WIDTH // bm) * (WIDTH // bn), _MULTIPROCESSORS * blocks
    full = launched / (-(-launched // slots) * slots)
    loads = tm * max(1.0, 16 / min(32, bn // tn)) + tn
    fetches = 3 * (bm + bn) / threads
    limit = 0.92 * _PEAK * tm * tn / max(tm * tn + loads + fetches + 2 / bk, 2 * (loads + fetches))
    latency = min(1.0, occupancy * 64 * (1 + 0.25 * math.sqrt(tm * tn)) / 28)
    barriers = 1 / (1 + 0.02 * threads / 32 + 6 / bk / (1 + blocks))
    return limit, limit * latency * barriers * full**0.8 * (0.3 if spilled else 1)


def _result(number: int, point: Point, speed: float, limit: float) -> PointResult:
    ms = 2 * WIDTH**3 / speed / 1e6
    sizes = {"Width": WIDTH}
    return PointResult(
        number=number,
        params=point.params,
        kernel=point.kernel,
        verdict=Verdict.ACCEPTED,
        message="",
        digest="",
        tile=16,
        sizes=sizes,
        device="made up",
        measurement=Measurement(
            sizes=sizes,
            ms_median=ms,
            ci=(ms, ms),
            spread=(ms, ms),
            repeats=1,
            settled=True,
            gflops=speed,
            metric="gflops",
            environment=Environment("made up", "made up", "9.0", _MULTIPROCESSORS, 1, 1980, "", "", ""),
        ),
        modelled=Light("made up", sizes, (ResourceTime("issue", "", ms, ""),), "issue", ms, max(limit, 1.02 * speed)),
    )
