"""The benchmark's rounds: grades the reference ladder a few times as a backlog of submissions."""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.exercise import Exercise
from kernels.measurement import Measurement
from kernels.wire import to_plain
from worker.bench.backlog import Gpus, Graded, encoded, text_of, work_off
from worker.bench.throughput import Throughput, binds, throughput
from worker.contract.messages import CheckWork


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of the ladder, graded once in each round.

    verdicts: all different verdicts; only one on a healthy worker
    ms: times of the rounds in which it was measured
    """

    name: str
    verdicts: tuple[str, ...]
    ms: tuple[float, ...] = ()
    gflops: float | None = None
    cublas_share: float | None = None

    @property
    def spread(self) -> float | None:
        return max(self.ms) / min(self.ms) - 1 if self.ms else None


@dataclass(frozen=True, slots=True)
class WorkerBench:
    """The benchmark's result.

    device: class of the GPU, or "cpu"
    swapped: pairs of rungs whose order differed between rounds
    binds: the bottleneck of the machine
    """

    device: str
    rounds: int
    rungs: tuple[Rung, ...]
    swapped: tuple[tuple[str, str], ...]
    throughput: Throughput
    binds: str


@dataclass(frozen=True, slots=True)
class Bench:
    """The setup of a benchmark.

    device_class: "" without a GPU
    slots: number of parallel checks; None for a worker's default
    """

    arch: str
    cache: Path
    device_class: str
    gpus: Gpus = ()
    slots: int | None = None


def ladder(exercise: Exercise) -> dict[str, bytes]:
    """The reference kernels by name, slowest first; none without a ladder."""
    folder = exercise.root / "ladder"
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.cu"))}


def run_bench(
    bench: Bench, exercise: Exercise, rounds: int, progress: Callable[[str], None] = lambda _: None
) -> WorkerBench:
    """Grade an exercise's ladder once in each round."""
    rungs = ladder(exercise)
    works = [_work(bench, exercise, source) for _ in range(rounds) for source in rungs.values()]
    ended = itertools.count(1)

    def told(_: Graded) -> None:
        progress(f"{next(ended)} of {len(works)} verdicts")

    progress(f"0 of {len(works)} verdicts")
    done = work_off(works, bench.cache, bench.gpus, bench.slots, told)
    by_rung = {name: done.graded[place :: len(rungs)] for place, name in enumerate(rungs)}
    found = throughput(done)
    return WorkerBench(
        bench.device_class or "cpu",
        rounds,
        tuple(_rung(name, each) for name, each in by_rung.items()),
        tuple(_swapped(by_rung)),
        found,
        binds(found),
    )


def _work(bench: Bench, exercise: Exercise, source: bytes) -> CheckWork:
    seed = os.urandom(16).hex()
    return CheckWork(encoded(source), text_of(exercise), bench.arch, bench.device_class, seed, evidence=False)


def _measurement(graded: Graded) -> Measurement | None:
    return graded.report.measurement if graded.report is not None else None


def _rung(name: str, rounds: Sequence[Graded]) -> Rung:
    verdicts = dict.fromkeys(each.verdict.value for each in rounds)
    measured = [measurement for each in rounds if (measurement := _measurement(each)) is not None]
    speeds = [each.gflops for each in measured if each.gflops is not None]
    shares = [each.cublas_share for each in measured if each.cublas_share is not None]
    return Rung(
        name,
        tuple(verdicts),
        tuple(each.ms_median for each in measured),
        statistics.median(speeds) if speeds else None,
        statistics.median(shares) if shares else None,
    )


def _swapped(by_rung: Mapping[str, Sequence[Graded]]) -> list[tuple[str, str]]:
    times = {
        name: [measurement.ms_median if (measurement := _measurement(each)) is not None else None for each in rounds]
        for name, rounds in by_rung.items()
    }
    return [pair for pair in itertools.combinations(times, 2) if len(_orders(*(times[name] for name in pair))) > 1]


def _orders(ones: Sequence[float | None], others: Sequence[float | None]) -> set[bool]:
    return {one < other for one, other in zip(ones, others, strict=True) if one is not None and other is not None}


def to_json(bench: WorkerBench) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(bench)
    return plain
