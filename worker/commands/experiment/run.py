from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import DEFAULT_ARCH, choose
from worker.commands.root import WrongUse

if TYPE_CHECKING:
    from kernels.experiment.model import Axis, OnServer

_EXIT_CODES = "Exit code: 0 every point has a result, 2 wrong use, 3 the system's fault."


@click.command(epilog=_EXIT_CODES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--axis", "-a", "axes", multiple=True, metavar="NAME=VALUES", help='Such as "TILE_WIDTH=8,16" or "N=512:4096:*2".'
)
@click.option("--exercise", "-e", help="The exercise of .cu files, by name or folder.  [default: tiled]")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option("--arch", help=f"Architecture to compile for; the GPU's own, or {DEFAULT_ARCH} without one.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; FILE's name by default.")
@click.option("--replace", is_flag=True, help="Delete the results in the folder and start again.")
@answering("Print the manifest and all points as one JSON object.")
def run(
    files: tuple[Path, ...],
    axes: tuple[str, ...],
    exercise: str | None,
    device: str,
    arch: str | None,
    out: Path | None,
    replace: bool,
) -> Answer:
    """Run the experiment of FILE: a TOML file, .cu files with axes, or the name of a template.

    The word "ladder" in place of FILE means all reference kernels of the exercise.

    Every point is compiled, checked on the CPU device and counted. With a GPU, it's measured too. If a run is
    interrupted, run the same command again: it goes on with the points that are missing.

    \b
    Examples:
      tilelab experiment run my.toml
      tilelab experiment run tile
      tilelab experiment run my.cu -a TILE_WIDTH=4,8,16,32
      tilelab experiment run my.cu -a TILE_WIDTH=16 -a Width=512:4096:*2 --out sizes
      tilelab experiment run ladder -a Width=512:4096:*2
    """
    from worker.commands.experiment.device_axis import device_axis
    from worker.commands.experiment.local_run import answer, machine, run_here
    from worker.experiment.folder import Folder, FolderError
    from worker.experiment.setup import SetupError, set_up

    classes, rest = device_axis(axes)
    given = _axes(rest)
    gpu = choose(device)
    here = machine(gpu, arch)
    try:
        manifest, plan = set_up(
            _file(files[0]), given, exercise, here, files[1:], _fetched, devices=classes, told=_note
        )
        folder = Folder(out or Path(files[0].stem))
        if replace:
            folder.clear()
        manifest = folder.begin_or_resume(manifest)
    except (SetupError, FolderError) as error:
        raise WrongUse(str(error)) from error
    return answer(manifest, run_here(manifest, plan, folder, gpu), folder)


def _fetched(on_server: OnServer) -> str:
    """The text of a submission, through the portal that you are signed in to."""
    from worker.client.experiments import kernel_text
    from worker.commands.portal.connection import portal

    with portal() as asked:
        return kernel_text(asked, on_server)


def _note(text: str) -> None:
    click.echo(f"tilelab: {text}", err=True)


def _file(given: Path) -> Path:
    from kernels.experiment.definition import LADDER
    from kernels.experiment.templates import template_files
    from kernels.wording import did_you_mean

    if given.suffix or str(given) == LADDER:
        return given
    # A name can be too long for any file.
    with contextlib.suppress(OSError):
        if given.is_file():
            return given
    known = template_files()
    if str(given) not in known:
        hint = did_you_mean(str(given), known)
        raise WrongUse(
            f"{given}: There is no such file or template.{hint} See them with `tilelab experiment templates`."
        )
    return known[str(given)]


def _axes(texts: Sequence[str]) -> list[Axis]:
    from kernels.experiment.axes import AxisError, parse_axis

    try:
        found = [parse_axis(text) for text in texts]
    except AxisError as error:
        raise WrongUse(f"--axis: {error}.") from error
    names = [axis.name for axis in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise WrongUse(f"--axis: `{twice[0]}` is given twice. Put all its values into one axis.")
    return found
