"""A new experiment in a request: limited in size, read, and given to the course's exercise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kernels.experiment.axes import AxisError, parse_axis, with_axes
from kernels.experiment.definition import DefinitionError, read_definition
from kernels.experiment.model import MOST_AXES
from kernels.experiment.model import Experiment as Definition
from server.courses.models import Exercise, Role
from server.database.engine import Sessions
from server.experiments.plans import UnfitExperiment, checked_plan, with_ladder
from server.experiments.service import NewExperiment, check_room, start
from server.experiments.submitted_kernels import find_submitted
from server.experiments.targets import NoTarget, target_of


@dataclass(frozen=True, slots=True)
class Sent:
    """An experiment as a person sent it.

    text: its file; axes: more of them, such as "TILE_WIDTH=8,16"; each replaces the file's axis of that name
    device_class: None for the assignment's own
    agreed: up to how many points a large experiment may start
    """

    text: str
    kernels: Mapping[str, str]
    axes: Sequence[str] = ()
    device_class: str | None = None
    pauses: bool = False
    agreed: int = 0


def read_sent(sent: Sent) -> Definition:
    """The definition; raises UnfitExperiment."""
    try:
        definition = read_definition(sent.text)
    except DefinitionError as error:
        raise UnfitExperiment("definition", error.reason, error.line) from error
    if len(sent.axes) > MOST_AXES:
        raise UnfitExperiment("axes", f"An experiment has at most {MOST_AXES} axes.")
    try:
        definition = with_axes(definition, map(parse_axis, sent.axes))
    except AxisError as error:
        raise UnfitExperiment("axes", f"{error}.") from error
    if not definition.axes and len(definition.kernels) < 2 and not definition.ladder:
        raise UnfitExperiment("axes", "Nothing is varied. Add an axis, such as TILE_WIDTH=8,16,32.")
    return definition


def start_sent(
    sessions: Sessions, sent: Sent, definition: Definition, course: int, person: int, role: Role, now: datetime
) -> str:
    """Start it, and return its ID; raises UnfitExperiment and what `start` raises."""
    try:
        with sessions.begin() as session:
            target = target_of(session, course, role, definition.exercise, sent.device_class, now)
            exercise = session.get_one(Exercise, target.exercise)
            check_room(session, person, target.assignment, now)
            submitted = find_submitted(session, definition, course, person, now, sent.text)
    except NoTarget as error:
        raise UnfitExperiment(error.field, str(error)) from error
    student = target.assignment is not None
    whole, kernels = submitted.definition, {**sent.kernels, **submitted.texts}
    if whole.ladder:
        whole, kernels = with_ladder(exercise, whole, sent.text)
    plan = checked_plan(exercise, whole, kernels, sent.text, student=student, device_class=target.device_class)
    new = NewExperiment(
        course=course,
        person=person,
        exercise=target.exercise,
        definition=whole,
        kernels=kernels,
        points=plan.tried,
        space=len(plan.points),
        arch=target.arch,
        device_class=target.device_class,
        pauses=sent.pauses,
        agreed=sent.agreed,
        assignment=target.assignment,
        submissions=submitted.submissions,
    )
    with sessions.begin() as session:
        return start(session, new, now).public_id
