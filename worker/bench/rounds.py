"""How fast this worker is: a few rounds of the ladder of known kernels, worked off as a backlog of submissions."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.exercise import Exercise, find_exercise
from kernels.report import Report
from kernels.wire import to_plain
from worker.bench.backlog import Backlog, Graded, work_off
from worker.bench.lanes import Supply
from worker.bench.throughput import Throughput, binds, throughput
from worker.steps.grading import Job

EXERCISE = "tiled"


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of the ladder, graded once a round.

    verdicts: all that it got; one, where the worker is well
    ms: of each round in which it was measured
    """

    name: str
    verdicts: tuple[str, ...]
    ms: tuple[float, ...] = ()
    gflops: float | None = None
    cublas_share: float | None = None

    @property
    def spread(self) -> float | None:
        """The longest over the shortest, less one."""
        return max(self.ms) / min(self.ms) - 1 if self.ms else None


@dataclass(frozen=True, slots=True)
class WorkerBench:
    """What a few rounds showed.

    device: what measured, or "cpu"
    swapped: pairs of rungs that were not in the same order in every round
    binds: what would have to be faster for the whole to be faster
    """

    device: str
    rounds: int
    rungs: tuple[Rung, ...]
    swapped: tuple[tuple[str, str], ...]
    throughput: Throughput
    binds: str


@dataclass(frozen=True, slots=True)
class Bench:
    """What to work with.

    device_class: "" without a GPU
    supplies: of runners, one for each GPU
    """

    arch: str
    cache: Path
    device_class: str
    supplies: Sequence[Supply]

    def job(self, source: bytes, exercise: Exercise) -> Job:
        """One submission."""
        seed = os.urandom(16).hex()
        return Job(source, exercise, self.arch, seed, self.cache, gpu=self.device_class)


def ladder() -> dict[str, bytes]:
    """The known kernels by name, the plainest first."""
    folder = find_exercise(EXERCISE, ()).solution.parent / "ladder"
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.cu"))}


def run_bench(
    bench: Bench,
    rounds: int,
    progress: Callable[[str], None] = lambda _: None,
    exercise: Exercise | None = None,
) -> WorkerBench:
    """Grade the ladder that many times.

    exercise: in place of the ladder's own
    """
    rungs = ladder()
    chosen = exercise or find_exercise(EXERCISE, ())
    jobs = [bench.job(source, chosen) for _ in range(rounds) for source in rungs.values()]
    ended: list[Graded] = []

    def told(graded: Graded) -> None:
        ended.append(graded)
        progress(f"{len(ended)} of {len(jobs)} verdicts")

    progress(f"0 of {len(jobs)} verdicts")
    done = work_off(jobs, bench.supplies, told=told)
    reports = _by_rung(done, list(rungs))
    found = throughput(done)
    device = bench.device_class or "cpu"
    return WorkerBench(
        device,
        rounds,
        tuple(_rung(name, each) for name, each in reports.items()),
        tuple(_swapped(reports)),
        found,
        binds(found),
    )


def _by_rung(done: Backlog, names: Sequence[str]) -> dict[str, list[Report | None]]:
    return {
        name: [each.report for each in done.graded[place :: len(names)]] for place, name in enumerate(names)
    }


def _rung(name: str, reports: Sequence[Report | None]) -> Rung:
    verdicts = dict.fromkeys(report.verdict.value if report else "none" for report in reports)
    measured = [report.measurement for report in reports if report and report.measurement]
    speeds = [each.gflops for each in measured if each.gflops is not None]
    shares = [each.cublas_share for each in measured if each.cublas_share is not None]
    return Rung(
        name,
        tuple(verdicts),
        tuple(each.ms_median for each in measured),
        statistics.median(speeds) if speeds else None,
        statistics.median(shares) if shares else None,
    )


def _swapped(reports: dict[str, list[Report | None]]) -> list[tuple[str, str]]:
    times = {
        name: [each.measurement.ms_median if each and each.measurement else None for each in rounds]
        for name, rounds in reports.items()
    }
    names = list(times)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    return [(one, other) for one, other in pairs if len(_orders(times[one], times[other])) > 1]


def _orders(ones: Sequence[float | None], others: Sequence[float | None]) -> set[bool]:
    return {
        one < other for one, other in zip(ones, others, strict=True) if one is not None and other is not None
    }


def to_json(found: WorkerBench) -> dict[str, Any]:
    """The bench as one JSON object."""
    plain: dict[str, Any] = to_plain(found)
    return plain
