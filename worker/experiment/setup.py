"""Everything that an experiment needs, read and checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernels.exercise import Exercise, ExerciseError, find_exercise
from kernels.exercise.schema import definition_in
from kernels.experiment.axes import DEVICE, AxisError, with_axes
from kernels.experiment.definition import (
    LADDER,
    LONGEST_TEXT,
    DefinitionError,
    line_of,
    plain_definition,
    read_definition,
)
from kernels.experiment.model import Axis, Experiment, OnServer
from kernels.experiment.points import TooManyPoints
from kernels.experiment.roles import UnfitAxis
from kernels.experiment.tuning.state import unmeasurable
from kernels.ladder import LadderError, read_ladder
from kernels.rendering.text_safety import cut
from kernels.source.paste.decoding import LARGEST_SOURCE
from kernels.verdict import CPU_DEVICE
from worker.contract.messages import ExerciseText
from worker.experiment.manifest import DeviceUsed, KernelText, Manifest, now, versions
from worker.experiment.plan import Plan

_LARGEST_FILE = 400_000
_SEED_BYTES = 16

Fetch = Callable[[OnServer], str]
"""Gets the text of a kernel from a server."""


class SetupError(ValueError):
    """A mistake in a file; the message names the file, the line if known, and the reason."""

    def __init__(self, file: Path, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run is made on. arch: what kernels are compiled for."""

    device: DeviceUsed
    arch: str


@dataclass(frozen=True, slots=True)
class _Given:
    """An experiment with where it came from.

    text: of its file; "" for one from the command line
    paths: of kernels from the command line
    """

    file: Path
    text: str
    experiment: Experiment
    paths: Mapping[str, Path] = field(default_factory=dict)

    def error(self, table: str, key: str, reason: str) -> SetupError:
        return SetupError(self.file, line_of(self.text, table, key) if self.text else 0, reason)


def set_up(
    file: Path,
    axes: Sequence[Axis],
    exercise: str | None,
    machine: Machine,
    more: Sequence[Path] = (),
    fetch: Fetch | None = None,
    devices: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> tuple[Manifest, Plan]:
    """The run that a file describes, with its points; raises SetupError.

    file: a TOML file, a kernel, or `ladder` for all kernels of the exercise's ladder
    axes: from the command line; each replaces the file's axis of that name
    exercise: for kernels; a TOML file names its own
    more: kernels after the first
    fetch: gets the text of a kernel that a server has; None if that isn't possible
    devices: the device classes of the axis `device`, in place of the file's
    told: called with a sentence on device classes that aren't on this machine
    """
    files = (file, *more)
    given = _from_toml(file, axes) if file.suffix == ".toml" else _from_kernels(files, axes, exercise)
    if any(file.suffix == ".toml" for file in files) and more:
        raise SetupError(file, 0, "Give one TOML file, or kernels.")
    if file.suffix == ".toml" and exercise is not None:
        raise SetupError(file, 0, "This file names its exercise. Leave out --exercise.")
    _restrict(given, devices or given.experiment.devices, machine, told)
    found = _exercise(given)
    kernels = _kernels(given, found, fetch)
    names = tuple(kernel.name for kernel in kernels)
    experiment = replace(given.experiment, kernels=names, on_server={}, ladder=False, devices=())
    manifest = Manifest(
        definition=plain_definition(experiment),
        exercise=ExerciseText(found.name, definition_in(found.root), found.digest),
        kernels=kernels,
        points=0,
        device=machine.device,
        arch=machine.arch,
        fmad=found.fmad,
        seed=os.urandom(_SEED_BYTES).hex(),
        versions=versions(),
        started=now(),
    )
    return _planned(given, manifest)


def _restrict(given: _Given, devices: Sequence[str], machine: Machine, told: Callable[[str], None]) -> None:
    """Raise SetupError if none of the device classes is on this machine."""
    here = machine.device.device_class or CPU_DEVICE
    if not devices or tuple(devices) == (here,):
        return
    if here not in devices:
        reason = f"`{DEVICE}` has {', '.join(devices)}, and this run is on {here}."
        raise given.error("axes", DEVICE, f"{reason} Choose another --device, or submit it to a server.")
    others = ", ".join(device for device in devices if device != here)
    told(f"This run is on {here}. It leaves out {others}.")


def _planned(given: _Given, manifest: Manifest) -> tuple[Manifest, Plan]:
    if reason := unmeasurable(given.experiment, manifest.device.device_class):
        raise given.error("design", "goal", reason)
    try:
        plan = Plan(manifest)
        plan.check_sizes()
    except DefinitionError as error:
        raise SetupError(given.file, error.line, error.reason) from None
    except UnfitAxis as error:
        raise given.error("axes", error.axis, str(error)) from None
    except TooManyPoints as error:
        raise given.error("axes", "", f"The axes have {error}. Use fewer values, or a random design.") from None
    if not plan.points:
        raise given.error("constraints", "", "No combination of values meets all constraints.")
    return replace(manifest, points=len(plan.points)), plan


def _from_toml(file: Path, axes: Sequence[Axis]) -> _Given:
    text = _read(file, _LARGEST_FILE)
    try:
        experiment = read_definition(text)
    except DefinitionError as error:
        raise SetupError(file, error.line, error.reason) from None
    try:
        return _Given(file, text, with_axes(experiment, axes))
    except AxisError as error:
        raise _Given(file, text, experiment).error("design", "rows", f"{error}.") from None


def _from_kernels(files: Sequence[Path], axes: Sequence[Axis], exercise: str | None) -> _Given:
    file = files[0]
    exercise = exercise or "tiled"
    if file == Path(LADDER) and not file.exists() and len(files) == 1:
        return _Given(file, "", Experiment(f"Ladder of {exercise}", exercise, (), tuple(axes), ladder=True))
    if not axes and len(files) == 1 and file.exists():
        raise SetupError(file, 0, "Nothing is varied. Add an axis, such as -a TILE_WIDTH=8,16,32.")
    names = [file.name for file in files]
    paths = {_short(file) if names.count(file.name) > 1 else file.name: file for file in files}
    if len(paths) < len(files):
        raise SetupError(file, 0, "Two kernels have the same name. Rename one of them.")
    name = cut(", ".join(file.stem for file in files), LONGEST_TEXT)
    return _Given(file, "", Experiment(name, exercise, tuple(paths), tuple(axes)), paths)


def _short(file: Path) -> str:
    """A kernel's name with its folder."""
    return f"{file.resolve().parent.name}/{file.name}"


def _exercise(given: _Given) -> Exercise:
    name = given.experiment.exercise
    if given.text and ("/" in name or name in {".", ".."}):
        name = str(_inside(given, "exercise", name))
    try:
        return find_exercise(name)
    except ExerciseError as error:
        raise given.error("experiment", "exercise", f"{error}.") from None


def _kernels(given: _Given, exercise: Exercise, fetch: Fetch | None) -> tuple[KernelText, ...]:
    if not given.experiment.ladder:
        return tuple(KernelText.of(name, _kernel_text(given, name, fetch)) for name in given.experiment.kernels)
    try:
        ladder = read_ladder(exercise)
    except LadderError as error:
        raise given.error("experiment", "kernels", f"The ladder of {exercise.name}: {error}.") from None
    if ladder is None:
        raise given.error("experiment", "kernels", f"{exercise.name} has no ladder. Give a list of files.")
    return tuple(KernelText.of(rung.file.name, rung.source) for rung in ladder.rungs)


def _kernel_text(given: _Given, name: str, fetch: Fetch | None) -> str:
    if name in given.experiment.on_server:
        if fetch is None:
            raise given.error("experiment", "kernels", "A kernel is on a server. Use a file here.")
        return fetch(given.experiment.on_server[name])
    path = given.paths[name] if name in given.paths else _inside(given, "kernels", name)
    try:
        return _read(path, LARGEST_SOURCE)
    except SetupError as error:
        if not given.text:
            raise
        raise given.error("experiment", "kernels", str(error)) from None


def _inside(given: _Given, key: str, name: str) -> Path:
    """A path in the folder of the experiment's file, also after following links."""
    folder = given.file.parent.resolve()
    path = (folder / name).resolve()
    if given.text and not path.is_relative_to(folder):
        reason = f"`{name}` isn't in the experiment's folder or below it."
        raise given.error("experiment", key, reason)
    return path


def _read(file: Path, most: int) -> str:
    """A text file; raises SetupError."""
    try:
        if not file.is_file():
            raise SetupError(file, 0, "There is no such file." if not file.exists() else "This isn't a file.")
        with file.open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise SetupError(file, 0, f"The file is too long. The limit is {most:,} bytes.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise SetupError(file, 0, f"The file can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SetupError(file, 0, "The file isn't UTF-8 text.") from None
