"""The experiments that come with Tilelab: one for each question of the course that varies something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kernels.exercise import find_exercise
from kernels.experiment.definition import read_definition
from kernels.experiment.model import Experiment
from kernels.experiment.points import points
from kernels.ladder import read_ladder

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Template:
    """An experiment's file with its name. Its kernels are in the same folder."""

    name: str
    file: Path
    experiment: Experiment

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels' names, also of a ladder."""
        ladder = read_ladder(find_exercise(self.experiment.exercise)) if self.experiment.ladder else None
        return tuple(rung.file.name for rung in ladder.rungs) if ladder else self.experiment.kernels

    @property
    def points(self) -> int:
        return len(points(replace(self.experiment, kernels=self.kernels)))


def templates() -> tuple[Template, ...]:
    """All templates by name; raises DefinitionError."""
    return tuple(
        Template(name, file, read_definition(file.read_text("utf-8"))) for name, file in template_files().items()
    )


def template_files() -> dict[str, Path]:
    return {file.stem: file for file in sorted(FOLDER.glob("*.toml"), key=lambda file: file.stem)}


@cache
def template_kernels() -> Mapping[str, str]:
    """The text of each kernel of a template, by its file's name."""
    return {file.name: file.read_text("utf-8") for file in FOLDER.glob("*.cu")}
