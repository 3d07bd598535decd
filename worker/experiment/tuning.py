"""Tunes a kernel: a search chooses which points are measured. The CPU device checks and models each one before.

A run that goes on searches again from the start. It makes the same choices, and finds their results in the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from kernels.experiment.definition import from_plain_definition
from kernels.experiment.model import DesignKind
from kernels.experiment.quantities import quantity
from kernels.experiment.result import PointResult
from kernels.experiment.tuning.search import AT_ONCE, search
from kernels.verdict import Verdict
from worker.bench.backlog import Gpus, Pool
from worker.experiment.folder import Folder
from worker.experiment.manifest import DeviceUsed, Manifest
from worker.experiment.plan import Plan
from worker.experiment.run import Points, Told, check_slots, missing


def tunes(manifest: Manifest) -> bool:
    return from_plain_definition(manifest.definition).design.kind is DesignKind.TUNE


def budget(manifest: Manifest) -> int:
    """How many points a run tries at most."""
    design = from_plain_definition(manifest.definition).design
    return min(design.points, manifest.points) if design.kind is DesignKind.TUNE else manifest.points


def not_tried(plan: Plan, folder: Folder) -> list[int]:
    """The points that may still use the budget. One that the CPU device refused has a result, but wasn't tried."""
    refused = {result.number for result in folder.models().results() if result.verdict is not Verdict.ACCEPTED}
    return missing(plan, (result for result in folder.results() if result.number not in refused))


def tune(
    manifest: Manifest, folder: Folder, cache: Path, gpus: Gpus = (), told: Told = lambda _: None
) -> list[PointResult]:
    """Search for the best point, and return the results of all that were tried.

    Points that the CPU device doesn't accept have a result too, and don't use the budget.

    raise (FolderError): if the folder can't be used
    """
    experiment = from_plain_definition(manifest.definition)
    with ExitStack() as stack:
        results = _Results(manifest, folder, stack, cache, gpus)
        for state in search(results.plan.points, experiment.design, results):
            folder.tell(state)
            told(len(state.tried))
    return results.all()


class _Results:
    """The results of a search: from the folder, or from a workplace.

    models: whether the goal needs a GPU, so the CPU device can look at a point before
    """

    def __init__(self, manifest: Manifest, folder: Folder, stack: ExitStack, cache: Path, gpus: Gpus) -> None:
        experiment = from_plain_definition(manifest.definition)
        self.models = experiment.measure.counts and quantity(experiment.design.goal).needs_gpu
        self.plan = Plan(manifest)
        self._cache, self._gpus, self._stack = cache, gpus, stack
        self._started: Pool | None = None
        keep = stack.enter_context(folder.writing())
        if not self.models:
            self._tried = Points(self.plan, folder.results(), keep)
            return
        models = folder.models()
        keep_model = stack.enter_context(models.writing())
        self._modelled = Points(Plan(replace(manifest, device=DeviceUsed())), models.results(), keep_model)
        self._tried = Points(Plan(_without_counts(manifest)), folder.results(), keep, self._with_model)

    def model(self, numbers: Sequence[int]) -> list[PointResult]:
        """Check and count points on the CPU device. One that isn't accepted has its result with this."""
        self._modelled.run(numbers, self._pool)
        found = [self._modelled[number] for number in numbers]
        for each in found:
            self._tried.take(each)
        return found

    def measure(self, numbers: Sequence[int]) -> list[PointResult]:
        """Measure points. A modelled point passed all test cases, so most needn't run again."""
        self._tried.run(numbers, self._pool)
        return [self._tried[number] for number in numbers]

    def all(self) -> list[PointResult]:
        """All results, in the order of the points."""
        return self._tried.all()

    def _pool(self) -> Pool:
        """The machine's slots, which start with the first point."""
        if self._started is None:
            slots = min(AT_ONCE, check_slots(len(self._gpus), counts=self.plan.measure.counts))
            self._started = self._stack.enter_context(Pool(self._cache, self._gpus, slots))
        return self._started

    def _with_model(self, result: PointResult) -> PointResult:
        """A measured point with the counts that it had before."""
        model = self._modelled[result.number]
        return replace(
            result,
            message=model.message if result.verdict is Verdict.ACCEPTED else result.message,
            counted=model.counted,
            modelled=model.modelled,
            occupancy=model.occupancy,
            seconds={**model.seconds, **result.seconds},
        )


def _without_counts(manifest: Manifest) -> Manifest:
    measure = {**manifest.definition["measure"], "counts": False}
    return replace(manifest, definition={**manifest.definition, "measure": measure})
