"""The points of an experiment: what each changes, its text, its exercise, and what is kept of it."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernels.evidence import PTX_ONLY
from kernels.exercise import AnalysisRule, Exercise, ExerciseError, Layout, read_exercise
from kernels.exercise.checks import check_ranking, check_whole
from kernels.exercise.sizes import between_steps, misfit, steps
from kernels.experiment.axes import DEVICE
from kernels.experiment.model import DesignKind, Experiment, Point
from kernels.experiment.points import MOST_WORK, TooManyPoints, points
from kernels.experiment.result import PointResult, counted_of, finding_of
from kernels.experiment.roles import FLAGS, Change, Role, UnfitAxis, change, check_values, matrix_of, roles
from kernels.experiment.variant import variant
from kernels.report import Report
from kernels.source.source_file import Source, read_source
from kernels.toml_text import read_toml
from kernels.verdict import CPU_DEVICE, Finding, Verdict


def point_exercise(exercise: Exercise, change: Change) -> Exercise:
    """The exercise that `point_text` describes, with the digest of the original."""
    return replace(
        exercise,
        ranking=dict(change.sizes),
        analysis=AnalysisRule(dict(change.sizes), None),
        macros={**exercise.macros, **change.macros},
        curve=False,
        phases=None,
        goals=(),
    )


def point_text(definition: str, change: Change, case: int | None = None) -> str:
    """The definition that measures and counts at the sizes of one point, and at no others.

    case: the number of the only case to run, with one kind of input; None for all cases
    """
    data = dict(_parsed(definition))
    data |= {"ranking": dict(change.sizes), "analysis": dict(change.sizes), "curve": False}
    for name, value in change.flags.items():
        if name in FLAGS:
            field, values = FLAGS[name]
            data[field] = bool(value) if len(values) == 2 else value
        else:
            data["operands"] = [_laid_out(each, name, value) for each in data["operands"]]
    if change.macros:
        data["macros"] = {
            name: {**entry, "default": change.macros.get(name, entry["default"])}
            for name, entry in data["macros"].items()
        }
    if case is not None:
        only = data["cases"][case]
        data["cases"] = [{**only, "inputs": only["inputs"][:1]} if "inputs" in only else only]
    for key in ("phases", "goals"):
        data.pop(key, None)
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in data.items())


def _laid_out(operand: Mapping[str, Any], flag: str, value: int) -> Mapping[str, Any]:
    """The operand, with another layout if the flag is its own."""
    layout = Layout.COLUMN_MAJOR if value else Layout.ROW_MAJOR
    return {**operand, "layout": layout.value} if operand["name"] == matrix_of(flag) else operand


def small_case(exercise: Exercise, source: Source, tile: int) -> int | None:
    """The number of a small case; None without one.

    It's enough for a text that passed all cases at another size. Its sizes are the steps of the exercise's sizes.
    """
    wanted = steps(exercise, tile, source.macros)
    names = {**exercise.macros, **source.macros, exercise.tile_name: tile}
    for number, rule in enumerate(exercise.case_rules):
        if {name: value.evaluate(names) for name, value in rule.sizes.items()} == wanted:
            return number
    return None


@functools.lru_cache(maxsize=8)
def _parsed(definition: str) -> Mapping[str, Any]:
    return read_toml(definition)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


Values = tuple[tuple[str, int], ...]
Group = tuple[str, Values, int | None, Values, Values]
"""A kernel with its defines, its tile, its macros and flags: points that differ in sizes alone share them."""

_WHOLE = 15
"""A check of the whole exercise takes as long as this many checks of a size for a GPU."""

_ONE_CLASS = f"Each class of `{DEVICE}` is an experiment of its own. Start them with `tilelab experiment submit`."


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """One point with what it changes."""

    number: int
    point: Point
    change: Change

    @property
    def group(self) -> Group:
        changed = self.change
        defines, macros, flags = map(_sorted, (changed.defines, changed.macros, changed.flags))
        return self.point.kernel, defines, changed.tile, macros, flags


class PointPlan:
    """The points of an experiment, with the text and the exercise of each.

    definition: the exercise's text
    texts: of the kernels, by name
    device_class: what results are filed under; "" for the CPU device
    most_work: to list the points; see kernels.experiment.points
    """

    def __init__(
        self,
        experiment: Experiment,
        exercise: str,
        definition: str,
        texts: Mapping[str, str],
        device_class: str,
        most_work: int = MOST_WORK,
    ) -> None:
        if experiment.devices:
            raise UnfitAxis(DEVICE, _ONE_CLASS)
        self._whole = definition
        self._exercise = read_exercise(exercise, definition)
        self._texts = texts
        self.measure = experiment.measure
        self.design = experiment.design
        self.device = device_class or CPU_DEVICE
        self._roles = all_roles(experiment, texts, self._exercise)
        # points that differ in sizes alone share these
        self._variant = functools.lru_cache(maxsize=1024)(self._text)
        self._source = functools.lru_cache(maxsize=1024)(self._read)
        self._made_for = functools.lru_cache(maxsize=1024)(self._steps)
        self._small_cases: dict[tuple[Group, int, Values], int | None] = {}
        self._definition = functools.lru_cache(maxsize=1024)(self._point_text)
        self._any_size = bool(misfit(self._exercise, self._exercise.ranking, self._exercise.tile))
        self.points = points(experiment, most_work)

    @property
    def tried(self) -> int:
        """How many points get a result: all, or the budget of a search."""
        tunes = self.design.kind is DesignKind.TUNE
        return min(self.design.points, len(self.points)) if tunes else len(self.points)

    def point(self, number: int) -> PlannedPoint:
        point = self.points[number]
        changed = change(point.params, self._roles[point.kernel], self._exercise)
        return PlannedPoint(number, point, changed)

    def text(self, planned: PlannedPoint) -> str:
        kernel, defines, *_ = planned.group
        return self._variant(kernel, defines)

    def check_sizes(self, most: int | None = None) -> None:
        """Raise UnfitAxis for sizes and macros that the exercise can't have.

        most: checks to make; raises TooManyPoints for more
        """
        checked: set[tuple[Values, Values]] = set()
        whole: set[Values] = set()
        checks = 0
        for changed in self._changes():
            key = _values(changed.sizes), _values(changed.macros)
            if key in checked:
                continue
            small = max(changed.sizes.values()) <= self._exercise.largest_on_cpu
            checks += _WHOLE if small or key[1] not in whole else 1
            if most is not None and checks > most:
                raise TooManyPoints(f"more than {len(checked):,} different sizes, which take too long to check")
            try:
                check = check_ranking if key[1] in whole else check_whole
                check(point_exercise(self._exercise, changed), Path(self._exercise.name))
            except ExerciseError as error:
                given = ", ".join(f"{name}={value:,}" for values in key for name, value in values)
                reason = f"{self._exercise.name} can't have {given}: {error.reason}."
                raise UnfitAxis(next(iter(self.points[0].params), ""), reason) from None
            checked.add(key)
            whole.add(key[1])

    def _changes(self) -> Iterator[Change]:
        seen: set[tuple[str, tuple[int, ...]]] = set()
        names = {
            kernel: [name for name, role in given.items() if role in {Role.SIZE, Role.MACRO}]
            for kernel, given in self._roles.items()
        }
        for point in self.points:
            key = point.kernel, tuple([point.params[name] for name in names[point.kernel]])
            if key not in seen:
                seen.add(key)
                yield change(point.params, self._roles[point.kernel], self._exercise)

    def definition(self, planned: PlannedPoint, passed_tile: int | None = None) -> str:
        """The exercise of a point.

        passed_tile: the tile of an accepted point with the same text at other sizes. Then most test cases needn't run
        """
        case = self._small_case(planned, passed_tile) if passed_tile is not None else None
        changed = planned.change
        return self._definition(_values(changed.sizes), _values(changed.macros), _values(changed.flags), case)

    def unfit(self, planned: PlannedPoint) -> str:
        """Why the exercise isn't made for a point's sizes with its tile; "" if it is, or may be."""
        made_for = None if self._any_size else self._made_for(planned.group)
        if made_for is None:
            return ""
        reason = between_steps(self._exercise, planned.change.sizes, *made_for)
        return reason[:1].upper() + reason[1:]

    def _text(self, kernel: str, defines: Values) -> str:
        return variant(self._texts[kernel], dict(defines))

    def _point_text(self, sizes: Values, macros: Values, flags: Values, case: int | None) -> str:
        changed = Change(sizes=dict(sizes), macros=dict(macros), flags=dict(flags))
        return point_text(self._whole, changed, case)

    def _read(self, group: Group) -> tuple[Exercise, Source | None]:
        """The exercise of a text, and the kernel; None for a kernel that the text alone doesn't explain."""
        kernel, defines, _, macros, _ = group
        exercise = replace(self._exercise, macros={**self._exercise.macros, **dict(macros)})
        source = read_source(self._variant(kernel, defines).encode(), exercise)
        return exercise, source if isinstance(source, Source) and not source.plan.asked else None

    def _steps(self, group: Group) -> tuple[int, Mapping[str, int]] | None:
        """A text's tile, and the steps of the sizes that it is made for; None if they aren't known."""
        exercise, source = self._source(group)
        if source is None:
            return None
        tile = source.tile(exercise, group[2])
        return tile, steps(exercise, tile, source.macros)

    def _small_case(self, planned: PlannedPoint, tile: int) -> int | None:
        """The number of the only case that a point's text still needs; None for all.

        The answer is the same for all sizes that are too large to be a case.
        """
        sizes = planned.change.sizes
        on_cpu = max(sizes.values()) <= self._exercise.largest_on_cpu
        key = planned.group, tile, _values(sizes) if on_cpu else ()
        if key not in self._small_cases:
            self._small_cases[key] = self._found_case(planned, tile)
        return self._small_cases[key]

    def _found_case(self, planned: PlannedPoint, tile: int) -> int | None:
        exercise, source = self._source(planned.group)
        case = small_case(exercise, source, tile) if source is not None else None
        if case is None:
            return None
        shorter = point_text(self._whole, planned.change, case)
        try:
            read_exercise(self._exercise.name, shorter)
        except ExerciseError:
            return None
        return case


def all_roles(experiment: Experiment, texts: Mapping[str, str], exercise: Exercise) -> Mapping[str, Mapping[str, Role]]:
    """What each axis changes, for each kernel; raises UnfitAxis."""
    names = [axis.name for axis in experiment.axes]
    found = {kernel: roles(names, text, kernel, exercise) for kernel, text in texts.items()}
    for given in found.values():
        for axis in experiment.axes:
            check_values(axis, given[axis.name], exercise)
    return found


def _values(given: Mapping[str, int]) -> Values:
    return tuple(given.items())


def _sorted(given: Mapping[str, int]) -> Values:
    return tuple(sorted(given.items()))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def without_report(plan: PointPlan, planned: PlannedPoint, verdict: Verdict, message: str, ended: str) -> PointResult:
    """What is kept of a point that has no report."""
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
        ended=ended,
    )


def rejected(plan: PointPlan, planned: PlannedPoint, reason: str, ended: str) -> PointResult:
    finding = Finding(Verdict.REJECTED, reason)
    return replace(without_report(plan, planned, Verdict.REJECTED, reason, ended), finding=finding)


def graded(plan: PointPlan, planned: PlannedPoint, report: Report, ended: str) -> PointResult:
    extent = report.evidence.extent
    # a kernel that isn't made for these sizes is counted at smaller ones, which say nothing about this point
    fits = extent is not None and dict(extent.sizes) == dict(planned.change.sizes)
    return replace(
        without_report(plan, planned, report.verdict, report.message, ended),
        tile=report.tile,
        device=report.device,
        measurement=report.measurement,
        counted=counted_of(report) if fits else None,
        # the PTX has more accesses than the machine code, so its bound would be too low
        modelled=next(iter(report.evidence.light), None) if fits and PTX_ONLY not in report.evidence.notes else None,
        occupancy=report.occupancy,
        seconds=report.seconds,
        finding=finding_of(report),
    )
