"""From an experiment to the work of each point."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernels.evidence import PTX_ONLY
from kernels.exercise import Exercise, ExerciseError, read_exercise
from kernels.exercise.sizes import misfit
from kernels.experiment.definition import from_plain_definition
from kernels.experiment.exercise_text import point_text, shortened
from kernels.experiment.model import Experiment, Point
from kernels.experiment.points import points
from kernels.experiment.result import PointResult, counted_of, finding_of
from kernels.experiment.roles import Change, Role, UnfitAxis, change, check_values, roles
from kernels.experiment.variant import variant
from kernels.source import Source, read_source
from kernels.verdict import CPU_DEVICE, Finding, Verdict
from worker.bench.backlog import Graded, encoded
from worker.contract.messages import CheckWork, ExerciseText
from worker.experiment.manifest import Manifest, digest, now

_Values = tuple[tuple[str, int], ...]
Group = tuple[str, _Values, int | None, _Values]
"""A kernel with its defines, its tile and its macros: points that differ in sizes alone share them."""


class UnfitPoint(ValueError):
    """An axis that can't be used with this kernel and exercise; the message is a sentence."""

    def __init__(self, axis: str, reason: str) -> None:
        super().__init__(reason)
        self.axis = axis


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """One point with what it changes."""

    number: int
    point: Point
    change: Change

    @property
    def group(self) -> Group:
        defines, macros = (tuple(sorted(each.items())) for each in (self.change.defines, self.change.macros))
        return self.point.kernel, defines, self.change.tile, macros


class Plan:
    """The points of an experiment, and the work of each."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._exercise = read_exercise(manifest.exercise.name, manifest.exercise.definition)
        self._texts = {each.name: each.text for each in manifest.kernels}
        experiment = from_plain_definition(manifest.definition)
        self._counts = experiment.measure.counts
        self._roles = all_roles(experiment, self._texts, self._exercise)
        self._variant = functools.lru_cache(maxsize=1024)(self._text)
        self.points = points(experiment)

    @property
    def device(self) -> str:
        """What results are filed under."""
        return self._manifest.device.device_class or CPU_DEVICE

    def point(self, number: int) -> PlannedPoint:
        """A point by its number, with what it changes."""
        point = self.points[number]
        changed = change(point.params, self._roles[point.kernel], self._exercise)
        return PlannedPoint(number, point, changed)

    def text(self, planned: PlannedPoint) -> str:
        """The kernel's text with the point's values."""
        kernel, defines, _, _ = planned.group
        return self._variant(kernel, defines)

    def check_sizes(self) -> None:
        """Raise UnfitPoint for sizes and macros that the exercise can't have."""
        checked = set()
        for number in range(len(self.points)):
            changed = change(
                self.points[number].params, self._roles[self.points[number].kernel], self._exercise
            )
            key = (tuple(changed.sizes.items()), tuple(changed.macros.items()))
            if key in checked:
                continue
            checked.add(key)
            try:
                read_exercise(self._exercise.name, point_text(self._manifest.exercise.definition, changed))
            except ExerciseError as error:
                given = ", ".join(f"{name}={value:,}" for values in key for name, value in values)
                axis = next(iter(self.points[number].params))
                raise UnfitPoint(axis, f"{self._exercise.name} can't have {given}: {error.reason}.") from None

    def work(self, planned: PlannedPoint, passed: PointResult | None = None) -> CheckWork:
        """What a workplace needs to grade a point.

        passed: an accepted result of the same text at other sizes, after which most test cases needn't run again
        """
        definition = point_text(self._manifest.exercise.definition, planned.change)
        if passed is not None:
            definition = self._shortened(definition, planned, passed.tile)
        return CheckWork(
            source=encoded(self.text(planned).encode()),
            exercise=ExerciseText(self._exercise.name, definition, ""),
            arch=self._manifest.arch,
            device_class=self._manifest.device.device_class,
            seed=self._manifest.seed,
            tile=planned.change.tile,
            evidence=self._counts,
        )

    def unfit(self, planned: PlannedPoint) -> str:
        """Why the exercise isn't made for a point's sizes with its tile; "" if it is, or may be."""
        definition = point_text(self._manifest.exercise.definition, planned.change)
        exercise, source = self._read(definition, planned)
        if source is None or misfit(self._exercise, self._exercise.ranking, self._exercise.tile):
            return ""
        tile = source.tile(exercise, planned.change.tile)
        reason = misfit(exercise, planned.change.sizes, tile, source.macros)
        return reason[:1].upper() + reason[1:]

    def _text(self, kernel: str, defines: _Values) -> str:
        return variant(self._texts[kernel], dict(defines))

    def _read(self, definition: str, planned: PlannedPoint) -> tuple[Exercise, Source | None]:
        """The exercise of a point, and its kernel; None for a kernel that the text alone doesn't explain."""
        exercise = read_exercise(self._exercise.name, definition)
        source = read_source(self.text(planned).encode(), exercise)
        return exercise, source if isinstance(source, Source) and not source.asked else None

    def _shortened(self, definition: str, planned: PlannedPoint, tile: int) -> str:
        exercise, source = self._read(definition, planned)
        if source is None:
            return definition
        shorter = shortened(definition, exercise, source, tile)
        try:
            read_exercise(self._exercise.name, shorter)
        except ExerciseError:
            return definition
        return shorter


def all_roles(
    experiment: Experiment, texts: Mapping[str, str], exercise: Exercise
) -> Mapping[str, Mapping[str, Role]]:
    """What each axis changes, for each kernel; raises UnfitPoint."""
    found: dict[str, Mapping[str, Role]] = {}
    for kernel, text in texts.items():
        given: dict[str, Role] = {}
        for axis in experiment.axes:
            try:
                given |= roles(frozenset({axis.name}), text, kernel, exercise)
                check_values(axis, given[axis.name], exercise)
            except UnfitAxis as error:
                raise UnfitPoint(axis.name, str(error)) from None
        found[kernel] = given
    return found


def rejected(plan: Plan, planned: PlannedPoint, reason: str) -> PointResult:
    """What is kept of a point that isn't run."""
    finding = Finding(Verdict.REJECTED, reason)
    return replace(_without_report(plan, planned, Verdict.REJECTED, reason), finding=finding)


def _without_report(plan: Plan, planned: PlannedPoint, verdict: Verdict, message: str) -> PointResult:
    return PointResult(
        number=planned.number,
        params=planned.point.params,
        kernel=planned.point.kernel,
        verdict=verdict,
        message=message,
        digest=digest(plan.text(planned)),
        tile=planned.change.tile or 0,
        sizes=planned.change.sizes,
        device=plan.device,
        ended=now(),
    )


def result_of(plan: Plan, planned: PlannedPoint, graded: Graded) -> PointResult:
    """What is kept of a graded point."""
    report = graded.report
    if report is None:
        return _without_report(plan, planned, Verdict.SYSTEM_ERROR, graded.error)
    extent = report.evidence.extent
    # a kernel that isn't made for these sizes is counted at smaller ones, which say nothing about this point
    fits = extent is not None and dict(extent.sizes) == dict(planned.change.sizes)
    return replace(
        _without_report(plan, planned, report.verdict, report.message),
        tile=report.tile,
        device=report.device,
        measurement=report.measurement,
        counted=counted_of(report) if fits else None,
        # the PTX has more accesses than the machine code, so its bound would be too low
        modelled=next(iter(report.evidence.light), None)
        if fits and PTX_ONLY not in report.evidence.notes
        else None,
        occupancy=report.occupancy,
        seconds=report.seconds,
        finding=finding_of(report),
    )
