"""The plan of an experiment: checked before it is stored, and read back for its points."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernels.exercise import ExerciseError
from kernels.experiment.definition import DefinitionError, from_plain_definition, line_of, plain_definition
from kernels.experiment.model import DesignKind
from kernels.experiment.model import Experiment as Definition
from kernels.experiment.plan import PlannedPoint, PointPlan
from kernels.experiment.points import MOST_WORK, TooManyPoints, TooMuchWork, work_of
from kernels.experiment.roles import UnfitAxis
from kernels.experiment.tuning.state import unmeasurable
from kernels.ladder import shipped_ladder
from kernels.source.paste.decoding import LARGEST_SOURCE
from server.courses.models import Exercise
from server.experiments.quota import POINTS_A_DAY

MOST_KERNELS = 16

MOST_SEARCHED = 200
"""The largest budget of a search: with more results, the dispatcher takes too long for its next choice."""

_MOST_OF_STUDENTS = 10_000
"""Combinations of values, before constraints."""

_WORK_OF_STUDENTS = MOST_WORK // 4
_LARGEST_KERNELS = 2 * LARGEST_SOURCE
"""Bytes of all kernels of an experiment: to read a full one takes a tenth of a second."""

_CHECKS_OF_STUDENTS, _CHECKS = 1_500, 5_000
"""Sizes that are checked with the exercise: a tenth of a millisecond for each, more for small ones."""


class UnfitExperiment(ValueError):
    """An experiment that can't run; the text says why.

    field: such as "axes.TILE_WIDTH"; line: in the experiment's file, 0 if unknown
    """

    def __init__(self, field: str, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason
        self.line = line

    @property
    def sentence(self) -> str:
        return f"Line {self.line}: {self.reason}" if self.line else self.reason


def with_ladder(exercise: Exercise, definition: Definition, text: str) -> tuple[Definition, dict[str, str]]:
    """The experiment with all rungs of the exercise's ladder for its kernels; raises UnfitExperiment."""
    ladder = shipped_ladder(exercise.name) if exercise.course_id is None else None
    if ladder is None:
        reason = f"{exercise.name} has no ladder. Give a list of files."
        raise UnfitExperiment("experiment.kernels", reason, line_of(text, "experiment", "kernels"))
    rungs = {rung.file.name: rung.source for rung in ladder.rungs}
    return replace(definition, kernels=tuple(rungs), ladder=False), rungs


def check_kernels(definition: Definition, kernels: Mapping[str, str]) -> None:
    """Check the number and the size of kernels before anything is read; raises UnfitExperiment."""
    used = sum(len(kernels[name].encode("utf-8", "replace")) for name in definition.kernels if name in kernels)
    if used > _LARGEST_KERNELS:
        reason = f"The kernels have {used:,} bytes in all. The limit is {_LARGEST_KERNELS:,}. Use fewer kernels."
        raise UnfitExperiment("experiment.kernels", reason)
    if len(kernels) > MOST_KERNELS:
        raise UnfitExperiment("experiment.kernels", f"An experiment has at most {MOST_KERNELS} kernels.")
    for name in definition.kernels:
        if name not in kernels:
            raise UnfitExperiment("experiment.kernels", f"The text of `{name}` is missing.")
    for name, text in kernels.items():
        size = len(text.encode("utf-8", "replace"))
        if size > LARGEST_SOURCE:
            reason = f"`{name}` has {size:,} bytes. The limit is {LARGEST_SOURCE:,}."
            raise UnfitExperiment("experiment.kernels", reason)


def checked_plan(
    exercise: Exercise,
    definition: Definition,
    kernels: Mapping[str, str],
    text: str = "",
    *,
    student: bool,
    device_class: str = "",
) -> PointPlan:
    """The points of a new experiment; raises UnfitExperiment.

    student: whether a student's quota bounds the number of its points
    text: of its file, for the lines of mistakes; "" for none
    device_class: what measures; "" for the CPU device
    """

    def unfit(table: str, key: str, reason: str) -> UnfitExperiment:
        field = f"{table}.{key}" if key else table
        return UnfitExperiment(field, reason, line_of(text, table, key) if text else 0)

    check_kernels(definition, kernels)
    if before := _unfit_before_work(definition, student, device_class):
        raise unfit(*before)
    used = {name: kernels[name] for name in definition.kernels}
    try:
        plan = PointPlan(definition, exercise.name, exercise.definition, used, "")
    except TooMuchWork as error:
        raise unfit("constraints", "", _too_much(error)) from None
    except TooManyPoints as error:
        raise unfit("axes", "", f"The axes have {error}. Use fewer values, or a random design.") from None
    except UnfitAxis as error:
        raise unfit("axes", error.axis, str(error)) from None
    except ExerciseError as error:
        raise unfit("experiment", "exercise", f"{error}.") from None
    if not plan.points:
        raise unfit("constraints", "", "No combination of values meets all constraints.")
    if student and plan.tried > POINTS_A_DAY:
        reason = f"The experiment has {plan.tried:,} points. The limit for students is {POINTS_A_DAY}."
        raise unfit("axes", "", reason)
    try:
        plan.check_sizes(_CHECKS_OF_STUDENTS if student else _CHECKS)
    except TooManyPoints as error:
        raise unfit("axes", "", f"The axes have {error}. Use fewer sizes.") from None
    except UnfitAxis as error:
        raise unfit("axes", error.axis, str(error)) from None
    return plan


def _unfit_before_work(definition: Definition, student: bool, device_class: str) -> tuple[str, str, str] | None:
    """Table, key and reason of what the definition alone rules out; None for nothing."""
    if definition.design.kind is DesignKind.TUNE and definition.design.points > MOST_SEARCHED:
        return "design", "points", f"A search on a server tries at most {MOST_SEARCHED} points."
    if reason := unmeasurable(definition, device_class):
        return "design", "goal", reason
    return _more_than_students_may(definition) if student else None


def _more_than_students_may(definition: Definition) -> tuple[str, str, str] | None:
    combinations = math.prod(len(axis.values) for axis in definition.axes)
    if combinations > _MOST_OF_STUDENTS:
        limit = f"The limit for students is {_MOST_OF_STUDENTS:,}."
        return "axes", "", f"The axes have {combinations:,} combinations. {limit}"
    work = work_of(definition)
    if work > _WORK_OF_STUDENTS:
        return "constraints", "", _too_much(TooMuchWork(combinations, work, _WORK_OF_STUDENTS))
    return None


def _too_much(error: TooMuchWork) -> str:
    return f"The axes have {error}. Use fewer values, or shorter or fewer constraints."


def stored_plan(definition: Definition, kernels: Mapping[str, str], space: int = 0) -> dict[str, Any]:
    """The plan for the database. It keeps the order of axes: a database may sort the keys of an object.

    space: from how many points a search chooses
    """
    used = [[name, kernels[name]] for name in definition.kernels]
    return {"definition": json.dumps(plain_definition(definition)), "kernels": used, "space": space}


def definition_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The definition in a stored plan, as its file would have it; {} for a plan without one."""
    definition: dict[str, Any] = json.loads(plan.get("definition", "{}"))
    return definition


def kernels_of(plan: Mapping[str, Any]) -> dict[str, str]:
    """The text of each kernel in a stored plan."""
    return dict(plan.get("kernels", []))


def read_plan(plan: Mapping[str, Any], exercise: Exercise, device_class: str) -> PointPlan:
    """The points of a stored experiment; raises UnfitExperiment, for example under another judge's version."""
    try:
        definition = from_plain_definition(definition_of(plan))
        return PointPlan(definition, exercise.name, exercise.definition, kernels_of(plan), device_class)
    except (ExerciseError, DefinitionError, UnfitAxis, TooManyPoints, ValueError) as error:
        raise UnfitExperiment("", str(error)) from error


def variant_of(plan: PointPlan, point: PlannedPoint) -> str:
    """SHA-256 of what a point compiles: its text, tile, macros and flags, without its sizes."""
    changed = point.change
    what = [plan.text(point), changed.tile, sorted(changed.macros.items()), sorted(changed.flags.items())]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
