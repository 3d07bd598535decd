"""Experiments as the API returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Annotated, Any

from sqlalchemy.orm import Session

from kernels.exercise.schema import without_solution
from kernels.experiment.definition import from_plain_definition
from kernels.experiment.plan import digest
from kernels.experiment.result import PointResult, to_json
from kernels.experiment.templates import template_kernels
from kernels.experiment.tuning.state import tuning_of
from kernels.ladder import shipped_ladder
from kernels.rendering.experiment import tuning_text
from server.courses.service import SHORT_NAME
from server.experiments.models import Experiment, ExperimentState
from server.experiments.plans import definition_of, kernels_of
from server.experiments.progress import pause_until
from server.experiments.queries import Visible, failed, results
from server.experiments.submitted_kernels import submissions_of
from server.experiments.targets import CPU
from server.fields import Range, Reads, Text
from worker.contract.answers import ExperimentExercise, Kernel

MOST_POINTS = 1000


@dataclass(frozen=True, slots=True)
class ExperimentAnswer:
    """An experiment with its progress.

    page: its page on the portal
    ended: how many of its points have a result
    failed: how many of these are a system error; 0 if they can't be retried
    paused_until: no point starts before this deadline; None if none is near, or the experiment doesn't pause
    device_class: the GPU that measures; "cpu" if nothing is measured
    definition: the experiment as its file would have it
    search: what a search did so far; "" for an experiment without one
    own: whether it's yours; shared: whether the class sees it
    """

    id: str
    url: str
    page: str
    course: str
    name: str
    state: ExperimentState
    points: int
    ended: int
    failed: int
    paused_until: datetime | None
    device_class: str
    arch: str
    exercise: ExperimentExercise
    definition: Mapping[str, Any]
    search: str
    kernels: tuple[Kernel, ...]
    created_at: datetime
    ended_at: datetime | None
    own: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class ExperimentsQuery:
    """A course, such as demo. before: where the next page begins; from `next` of an answer."""

    course: Annotated[str, Text(SHORT_NAME + "|")] = ""
    before: Annotated[int, Range(1, 2**53 - 1)] | None = None


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """An experiment in a list. page, points, ended, device_class, own, shared: as in the experiment itself."""

    id: str
    url: str
    page: str
    name: str
    state: ExperimentState
    points: int
    ended: int
    device_class: str
    created_at: datetime
    ended_at: datetime | None
    own: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class ExperimentsAnswer:
    """Experiments of a course, the newest first. next: the URL of the next page; None on the last."""

    experiments: tuple[ExperimentLine, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class PointsQuery:
    """The points to return. after: the number of the last point of the page before; limit: how many."""

    after: Annotated[int, Range(0, 10**6)] | None = None
    limit: Annotated[int, Range(1, MOST_POINTS)] = MOST_POINTS


@dataclass(frozen=True, slots=True)
class PointsAnswer:
    """Results of points, by their number. next: the URL of the next page; None on the last.

    A running experiment may get results with lower numbers later.
    """

    points: Annotated[tuple[Mapping[str, Any], ...], Reads(tuple[PointResult, ...])]
    next: str | None


def experiment_answer(session: Session, visible: Visible, now: datetime) -> ExperimentAnswer:
    experiment = visible.experiment
    assert experiment.course is not None
    assert experiment.exercise is not None
    paused = pause_until(session, experiment, now) if experiment.state is ExperimentState.RUNNING else None
    names = shown_names(visible)
    submissions = submissions_of(session, experiment.id) if visible.named else {}
    definition = definition_of(experiment.plan)
    definition["experiment"] = definition.get("experiment", {}) | {"kernels": list(names.values())}
    return ExperimentAnswer(
        id=experiment.public_id,
        url=f"/api/v1/experiments/{experiment.public_id}",
        page=f"/experiments/{experiment.public_id}",
        course=experiment.course.slug,
        name=experiment.name,
        state=experiment.state,
        points=experiment.points,
        ended=experiment.ended,
        failed=failed(session, experiment),
        paused_until=paused,
        device_class=experiment.device_class or CPU,
        arch=experiment.arch,
        exercise=ExperimentExercise(
            experiment.exercise.name, without_solution(experiment.exercise.definition), experiment.exercise.digest
        ),
        definition=definition,
        search=search_text(session, visible),
        kernels=tuple(
            Kernel(names[name], digest(text), text if visible.named else None, submissions.get(name))
            for name, text in kernels_of(experiment.plan).items()
        ),
        created_at=experiment.created_at,
        ended_at=experiment.ended_at,
        own=visible.own,
        shared=experiment.shared_at is not None,
    )


def experiment_line(visible: Visible) -> ExperimentLine:
    one = visible.experiment
    return ExperimentLine(
        id=one.public_id,
        url=f"/api/v1/experiments/{one.public_id}",
        page=f"/experiments/{one.public_id}",
        name=one.name,
        state=one.state,
        points=one.points,
        ended=one.ended,
        device_class=one.device_class or CPU,
        created_at=one.created_at,
        ended_at=one.ended_at,
        own=visible.own,
        shared=one.shared_at is not None,
    )


def shown_results(
    session: Session,
    visible: Visible,
    after: int = -1,
    most: int | None = None,
    *,
    sample: float = 1.0,
    names: Mapping[str, str] | None = None,
) -> list[PointResult]:
    """Results as a reader sees them: the class sees no file names and no texts about the source.

    names: of kernels, if the results go with those of other experiments; see `shown_names`
    """
    found = results(session, visible.experiment.id, after, most, sample=sample)
    if visible.named:
        return found
    names = shown_names(visible) if names is None else names
    return [
        replace(result, kernel=names.get(result.kernel, ""), message=result.verdict.headline, finding=None)
        for result in found
    ]


def search_text(session: Session, visible: Visible) -> str:
    """What a search did so far; "" for an experiment without one."""
    experiment = visible.experiment
    if not experiment.tunes:
        return ""
    shown, design = shown_results(session, visible), from_plain_definition(definition_of(experiment.plan)).design
    tuning = tuning_of(design, experiment.plan.get("space", 0), shown)
    return tuning_text(tuning, shown, on_server=True)


def points_answer(results: list[PointResult], following: str | None) -> PointsAnswer:
    return PointsAnswer(tuple(to_json(result) for result in results), following)


def shown_names(*together: Visible) -> Mapping[str, str]:
    """The name of each kernel for a reader. In several experiments, the same kernel has the same name.

    The class sees Tilelab's own kernels by name and the others by a number, because a file's name may name a person.
    """
    names, known = dict[str, None](), set[str]()
    for visible in together:
        ours = {} if visible.named else _kernels_of_tilelab(visible.experiment)
        for name, text in kernels_of(visible.experiment.plan).items():
            names[name] = None
            if visible.named or ours.get(name) == text:
                known.add(name)
    numbered = (name for number in count(1) if (name := f"kernel-{number}.cu") not in known)
    return {name: name if name in known else next(numbered) for name in names}


def _kernels_of_tilelab(experiment: Experiment) -> Mapping[str, str]:
    exercise = experiment.exercise
    ladder = shipped_ladder(exercise.name) if exercise is not None and exercise.course_id is None else None
    rungs = {rung.file.name: rung.source for rung in ladder.rungs} if ladder is not None else {}
    return {**template_kernels(), **rungs}


def device_text(device_class: str) -> str:
    """The device as people read it: `H200`, or `CPU device` if nothing is measured."""
    return device_class.upper() or "CPU device"


def listed(experiment: Experiment) -> str:
    """What a list says of an experiment's progress."""
    if experiment.state is ExperimentState.RUNNING:
        return f"{experiment.ended:,} of {experiment.points:,} points"
    return experiment.state.value
