from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kernels.experiment.result import PointResult
from kernels.verdict import Verdict
from worker.bench.backlog import Gpus, Graded, Pool
from worker.contract.messages import CheckWork
from worker.experiment.folder import Folder, Keep
from worker.experiment.plan import Group, Plan, PlannedPoint, rejected, result_of
from worker.supervision.cores import cores
from worker.workplaces.gpu import MOST_WORKS

_AT_ONCE = 1000
"""Points that are handed to the workplaces together: their texts are in memory at the same time."""

_CPU_SECONDS, _GPU_SECONDS, _START_SECONDS = 0.9, 0.2, 1.5
"""For the estimate before a run: a core's and a GPU's for a point, and the time to start."""

Told = Callable[[int], None]
"""Told how many points have a result, after each."""


def estimate(points: int, gpus: int) -> float:
    """About how many seconds so many points take on this machine."""
    on_cores = points * _CPU_SECONDS / max(1, cores() - gpus)
    return _START_SECONDS + max(on_cores, points * _GPU_SECONDS / gpus if gpus else 0.0)


def check_slots(gpus: int, *, counts: bool) -> int:
    """How many points are checked at once.

    Without counts, a check is short, and the run waits for the GPU. Then a third of the cores stays free for the GPU's
    processes.
    """
    most = cores() - gpus
    return max(1, most if counts or not gpus else min(most, 2 * cores() // 3))


def processes(left: int) -> int:
    """The GPU processes needed for this many points, if all are correct."""
    return -(-left // MOST_WORKS)


def missing(plan: Plan, results: Iterable[PointResult]) -> list[int]:
    """The points still to run. A point that ended in a system error runs again."""
    done = {result.number for result in results if result.verdict is not Verdict.SYSTEM_ERROR}
    return [number for number in range(len(plan.points)) if number not in done]


def run(plan: Plan, folder: Folder, cache: Path, gpus: Gpus = (), told: Told = lambda _: None) -> list[PointResult]:
    """Run what is missing, and return all results.

    Points that differ in sizes alone have the same text. One of them runs first, with all test cases.

    raise (FolderError): if the folder can't be used
    """
    with folder.writing() as keep, contextlib.ExitStack() as stack:
        points = Points(plan, folder.results(), keep, told=told)
        left = points.missing(range(len(plan.points)))
        if left:
            slots = min(len(left), check_slots(len(gpus), counts=plan.measure.counts))
            pool = stack.enter_context(Pool(cache, gpus, slots))
            points.run(left, lambda: pool)
    return points.all()


class Points:
    """The results of a run, and the points that still get one.

    keep: called with each new result before it counts
    whole: adds to a new result what was known of the point before
    """

    def __init__(
        self,
        plan: Plan,
        results: Iterable[PointResult],
        keep: Keep,
        whole: Callable[[PointResult], PointResult] = lambda result: result,
        told: Told = lambda _: None,
    ) -> None:
        self._plan, self._keep, self._whole, self._told = plan, keep, whole, told
        self._results = {result.number: result for result in results}
        self._passed = _passed(plan, self._results.values())
        self._done = sum(not self._is_missing(number) for number in self._results)

    def __getitem__(self, number: int) -> PointResult:
        return self._results[number]

    def all(self) -> list[PointResult]:
        """All results, in the order of the points."""
        return [self._results[number] for number in sorted(self._results)]

    def missing(self, numbers: Iterable[int]) -> list[int]:
        return [number for number in numbers if self._is_missing(number)]

    def run(self, numbers: Iterable[int], pool: Callable[[], Pool]) -> None:
        """Run the points that have no result yet; without any, no pool is needed."""
        left = self.missing(numbers)
        firsts = _first_of_groups(self._plan, left, self._passed)
        rest = [number for number in left if number not in firsts]
        for some in (sorted(firsts), rest):
            if some:
                _run_all(self._plan, some, self._passed, pool(), self._kept)

    def take(self, checked: PointResult) -> None:
        """Take a point's check by another run: all test cases passed, or it has its result."""
        if checked.verdict is Verdict.ACCEPTED:
            self._passed.setdefault(self._plan.point(checked.number).group, checked)
            if self._is_missing(checked.number):
                self._results.pop(checked.number, None)
        elif self._is_missing(checked.number):
            self._kept(checked)

    def _kept(self, point_result: PointResult) -> None:
        result = self._whole(point_result)
        self._keep(result)
        self._results[result.number] = result
        self._done += 1
        self._told(self._done)

    def _is_missing(self, number: int) -> bool:
        found = self._results.get(number)
        return found is None or found.verdict is Verdict.SYSTEM_ERROR


def _passed(plan: Plan, results: Iterable[PointResult]) -> dict[Group, PointResult]:
    """An accepted result for each text that has one."""
    return {plan.point(result.number).group: result for result in results if result.verdict is Verdict.ACCEPTED}


def _first_of_groups(plan: Plan, left: Sequence[int], passed: dict[Group, PointResult]) -> set[int]:
    first: dict[Group, int] = {}
    for number in left:
        group = plan.point(number).group
        if group not in passed:
            first.setdefault(group, number)
    return set(first.values())


def _run_all(plan: Plan, numbers: Sequence[int], passed: dict[Group, PointResult], pool: Pool, keep: Keep) -> None:
    for some in _batches(numbers):
        planned: list[PlannedPoint] = []

        def works(some: Sequence[int] = some, planned: list[PlannedPoint] = planned) -> Iterator[CheckWork]:
            # axes usually rise, so the last points take longest: a run shouldn't end with them alone
            for number in reversed(some):
                point = plan.point(number)
                if reason := plan.unfit(point):
                    keep(rejected(plan, point, reason))
                else:
                    planned.append(point)
                    yield plan.work(point, passed.get(point.group))

        def told(graded: Graded, planned: list[PlannedPoint] = planned) -> None:
            mine = planned[graded.number]
            result = result_of(plan, mine, graded)
            keep(result)
            if result.verdict is Verdict.ACCEPTED:
                passed.setdefault(mine.group, result)

        pool.grade(works(), told)


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in itertools.count(0, _AT_ONCE):
        if start >= len(numbers):
            return
        yield numbers[start : start + _AT_ONCE]
