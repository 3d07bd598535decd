"""What a student varies with one button: the tile, or a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.exercise import Exercise, ExerciseError, read_exercise
from kernels.experiment.axes import AxisError, parse_values
from kernels.experiment.axes import axis as checked_axis
from kernels.experiment.model import Axis
from kernels.experiment.model import Experiment as Definition
from kernels.experiment.roles import Role, UnfitAxis, roles
from kernels.verdict import Verdict
from server.submissions.models import Submission

TILE, SIZE = "tile", "size"
WHAT = (TILE, SIZE)
_SMALLER, _LARGER = 4, 1
"""How often a size is halved and doubled for the suggested values."""


class NoVariation(ValueError):
    """This kernel can't be varied so; the text says why."""


@dataclass(frozen=True, slots=True)
class Variation:
    """One axis of a submission's kernel. names: the axes to choose from; suggested: values for each, as typed."""

    what: str
    kernel: str
    text: str
    exercise: Exercise
    tile: int | None
    names: tuple[str, ...]
    suggested: tuple[str, ...]

    def definition(self, name: str, values: str) -> Definition:
        """The experiment; raises AxisError."""
        if name not in self.names:
            raise AxisError(f"`{name}` can't be varied here")
        varied = checked_axis(name, parse_values(values))
        title = f"{self.exercise.title}: {name}"
        return Definition(title[:200], self.exercise.name, (self.kernel,), (varied, *self._fixed(name)))

    def _fixed(self, varied: str) -> Sequence[Axis]:
        """The assignment's tile, if it has one and the kernel takes it."""
        name = self.exercise.tile_name
        if self.tile is None or name == varied or not _takes(self, name):
            return ()
        return (Axis(name, (self.tile,)),)


def variation_of(submission: Submission, what: str) -> Variation:
    """How a submission's kernel can be varied; raises NoVariation."""
    if submission.removed:
        raise NoVariation(submission.removed)
    if submission.verdict is not Verdict.ACCEPTED:
        raise NoVariation("This kernel isn't accepted. You can vary the kernel of an accepted submission.")
    assignment = submission.assignment
    try:
        exercise = read_exercise(assignment.exercise.name, assignment.exercise.definition)
    except ExerciseError as error:
        raise NoVariation(f"This exercise can't be read: {error}.") from error
    text = submission.source.content.decode("utf-8", "replace")
    names = (exercise.tile_name,) if what == TILE else tuple(exercise.sizes)
    values = [_tiles(exercise)] if what == TILE else [_sizes(exercise.ranking[name]) for name in names]
    variation = Variation(what, f"{assignment.slug}.cu", text, exercise, assignment.tile, names, tuple(values))
    try:
        roles(frozenset(names), text, "your kernel", exercise)
    except UnfitAxis as error:
        raise NoVariation(str(error)) from error
    return variation


def _takes(variation: Variation, name: str) -> bool:
    try:
        found = roles(frozenset({name}), variation.text, "", variation.exercise)
    except UnfitAxis:
        return False
    return found[name] is Role.TILE


def _tiles(exercise: Exercise) -> str:
    return ",".join(map(str, exercise.tiles))


def _sizes(ranking: int) -> str:
    sizes = [ranking >> times for times in range(_SMALLER, 0, -1)]
    sizes += [ranking << times for times in range(_LARGER + 1)]
    return ",".join(str(size) for size in dict.fromkeys(sizes) if size)
