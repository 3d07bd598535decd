from __future__ import annotations

from kernels.experiment import plan
from kernels.experiment.definition import from_plain_definition
from kernels.experiment.model import Measure
from kernels.experiment.plan import Group, PlannedPoint, PointPlan, Values
from kernels.experiment.points import MOST_LOCAL_WORK
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict
from worker.bench.backlog import Graded, encoded
from worker.contract.measure_work import Repeats
from worker.contract.messages import CheckWork, ExerciseText
from worker.experiment.manifest import Manifest, now

__all__ = ["Group", "Plan", "PlannedPoint", "Values", "rejected", "result_of"]


class Plan(PointPlan):
    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        super().__init__(
            from_plain_definition(manifest.definition),
            manifest.exercise.name,
            manifest.exercise.definition,
            {kernel.name: kernel.text for kernel in manifest.kernels},
            manifest.device.device_class,
            MOST_LOCAL_WORK,
        )

    def work(self, planned: PlannedPoint, passed: PointResult | None = None) -> CheckWork:
        """What a workplace needs to grade a point.

        passed: an accepted result of the same text at other sizes, after which most test cases needn't run again
        """
        definition = self.definition(planned, passed.tile if passed is not None else None)
        return CheckWork(
            source=encoded(self.text(planned).encode()),
            exercise=ExerciseText(self._manifest.exercise.name, definition, ""),
            arch=self._manifest.arch,
            device_class=self._manifest.device.device_class,
            seed=self._manifest.seed,
            tile=planned.change.tile,
            evidence=self.measure.counts,
            repeats=_repeats(self.measure),
        )


def _repeats(measure: Measure) -> Repeats | None:
    if measure.repeats or measure.interval:
        return Repeats(measure.repeats, measure.interval / 100)
    return None


def rejected(plan_: Plan, planned: PlannedPoint, reason: str) -> PointResult:
    return plan.rejected(plan_, planned, reason, now())


def result_of(plan_: Plan, planned: PlannedPoint, graded: Graded) -> PointResult:
    if graded.report is None:
        return plan.without_report(plan_, planned, Verdict.SYSTEM_ERROR, graded.error, now())
    return plan.graded(plan_, planned, graded.report, now())
