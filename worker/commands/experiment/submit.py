from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, portal
from worker.commands.root import WrongUse

if TYPE_CHECKING:
    from worker.client.experiments import Experiment, NewExperiment
    from worker.client.portal import Portal

_MOST_BYTES = 100_000
_LARGEST_KERNEL = 64 * 2**10


@click.command(epilog=EXITS)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--axis", "-a", "axes", multiple=True, metavar="NAME=VALUES", help='Such as "TILE_WIDTH=8,16".')
@click.option("--course", help="The course's short name.  [default: your only active one]")
@click.option("--exercise", "-e", help="The assignment or exercise of a .cu file.  [default: tiled]")
@click.option("--device-class", help="Measure on this device class; cpu for none.")
@click.option("--pause-before-deadlines", is_flag=True, help="Start no point in the 2 hours before a deadline.")
@click.option("--yes", is_flag=True, help="Start a large experiment without a question.")
@answering("Print the experiment as one JSON object.")
def submit(
    file: Path,
    axes: tuple[str, ...],
    course: str | None,
    exercise: str | None,
    device_class: str | None,
    pause_before_deadlines: bool,
    yes: bool,
) -> Answer:
    """Start the experiment of FILE on your course's server: a TOML file, or a .cu file with axes.

    The word "ladder" in place of FILE means all reference kernels of the exercise.

    Its points run on the course's workers, after all submissions. Students have a quota for each assignment. For an
    axis `device`, each of its device classes gets an experiment.

    \b
    Examples:
      tilelab experiment submit my.toml --course demo
      tilelab experiment submit my.cu -a TILE_WIDTH=8,16,32
    """
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.client.experiments import NewExperiment
    from worker.commands.experiment.device_axis import device_axis, without_devices

    definition, kernels = _read(file, exercise)
    if file.suffix == ".toml" and exercise is not None:
        raise WrongUse(f"{file}: this file names its exercise. Leave out --exercise.")
    given, axes = device_axis(axes)
    named = _devices(definition)
    if named:
        definition = without_devices(definition)
    classes = given or named
    if classes and device_class is not None:
        raise WrongUse("--device-class: the axis `device` has the device classes already.")
    made = []
    as_json = click.get_current_context().params["as_json"]
    with portal() as asked:
        name = course or only_course(asked)
        for each in classes or (device_class,):
            new = NewExperiment(name, definition, kernels, axes, each, pause_before_deadlines, yes)
            made.append(_started(asked, new))
            if classes or not as_json:  # at once, because the next class may be refused
                page = f"{asked.url}/experiments/{safe(made[-1].id)}"
                click.echo(
                    f"{safe(made[-1].name)} started with {made[-1].points:,} points: {page}\n"
                    f"Follow it with `tilelab experiment status {safe(made[-1].id)} --wait`.",
                    err=as_json,
                )
    plain = [to_plain(each) for each in made]
    return Answer({"experiments": plain} if classes else plain[0], "")


def _started(asked: Portal, new: NewExperiment) -> Experiment:
    """Start it, and ask before a large one."""
    from worker.client.errors import NotDone
    from worker.client.experiments import start

    try:
        return start(asked, new)
    except NotDone as error:
        if error.code != "large_experiment":
            raise
        text = str(error)
    if sys.stdin.isatty() and click.confirm(f"{text} Start it?", err=True):
        return start(asked, replace(new, confirm=True))
    raise WrongUse(f"{text} Add --yes to start it.")


def _devices(definition: str) -> tuple[str, ...]:
    """The device classes of a file that was read, or of the text for a kernel."""
    from kernels.experiment.definition import DefinitionError, read_definition

    try:
        return read_definition(definition).devices
    except DefinitionError:
        return ()


def _read(file: Path, exercise: str | None) -> tuple[str, dict[str, str]]:
    from kernels.experiment.definition import LADDER

    if file.suffix == ".toml":
        return _from_toml(file)
    if str(file) == LADDER and not file.exists():
        return _definition(f"Ladder of {exercise or 'tiled'}", exercise, LADDER), {}
    return _definition(file.stem, exercise, [file.name]), {file.name: _text(file, _LARGEST_KERNEL)}


def _from_toml(file: Path) -> tuple[str, dict[str, str]]:
    from kernels.experiment.definition import DefinitionError, read_definition

    text = _text(file, _MOST_BYTES)
    try:
        experiment = read_definition(text)
    except DefinitionError as error:
        place = f"{file}:{error.line}" if error.line else f"{file}"
        raise WrongUse(f"{place}: {error.reason}") from error
    folder = file.parent.resolve()
    kernels = {}
    for name in experiment.kernels:
        if name in experiment.on_server:
            continue
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise WrongUse(f"{file}: `{name}` isn't in the experiment's folder or below it.")
        kernels[name] = _text(path, _LARGEST_KERNEL)
    return text, kernels


def _definition(name: str, exercise: str | None, kernels: str | list[str]) -> str:
    head = {"name": name, "exercise": exercise or "tiled", "kernels": kernels}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    return "\n".join(["[experiment]", *lines, ""])


def _text(file: Path, most: int) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise WrongUse(f"{file}: the file is too long. The limit is {most:,} bytes.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise WrongUse(f"{file}: the file can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"{file}: the file isn't UTF-8 text.") from error


def only_course(asked: Portal) -> str:
    from kernels.rendering.text_safety import safe

    active = [course.slug for course in asked.me().courses if not course.archived]
    if len(active) != 1:
        names = f": {', '.join(map(safe, active))}" if active else ""
        raise WrongUse(f"--course: you have {len(active)} active courses{names}. Name one.")
    return active[0]
