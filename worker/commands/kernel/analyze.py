from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, SystemFault, WrongUse
from worker.commands.submission import cache_folder, find, other_exercise, read_file, start_stages
from worker.contract.architectures import ARCHES
from worker.steps.stages import SandboxedStages

if TYPE_CHECKING:
    from kernels.analysis.model import Analysis
    from kernels.exercise import Exercise
    from worker.steps.evidence import Target

_LARGEST_SIZE = 1_000_000
_WIDTH, _NARROWEST, _WIDEST = 100, 60, 160


@click.command(epilog="Exit code: 0 analysed, 1 can't be analysed, 2 wrong use, 3 system error.")
@click.argument("file", metavar="FILE")
@click.option("--exercise", "-e", default="tiled", show_default=True, help="Name or folder of the exercise.")
@click.option("--exercises", "folder", type=click.Path(path_type=Path), help="Folder with your own exercises.")
@click.option("--size", type=int, help="Value of every size, such as Width.  [default: the exercise's]")
@click.option("--tile", type=int, help="Tile width, if the file doesn't define its own.")
@click.option("--device", default="h200", show_default=True, help="Device class for the speed of light.")
@click.option("--cc", help='Compute capability for code and occupancy, such as "8.6".  [default: the device\'s]')
@click.option("--arch", help="The same as --cc in the compiler's form, such as sm_86.")
@answering("Print the analysis as one JSON object.")
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write an HTML page to this file.")
@click.pass_obj
def analyze(
    stages: SandboxedStages | None,
    file: str,
    exercise: str,
    folder: Path | None,
    size: int | None,
    tile: int | None,
    device: str,
    cc: str | None,
    arch: str | None,
    page: Path | None,
) -> Answer:
    """Show how FILE uses memory and warps, line by line, and what to improve first.

    Use `-` as FILE to read standard input.

    \b
    Examples:
      tilelab analyze my.cu
      tilelab analyze my.cu --size 1024 --tile 32
      tilelab analyze my.cu --exercise naive --html my.html
    """
    _check_options(size, page)
    target = _target(device, cc, arch)
    source = read_file(file)
    with stages or start_stages() as ready:
        chosen = find(exercise, folder, tile)
        analysis = _analyse(ready, source, chosen, size, tile, target)
    if page is not None:
        _write(page, analysis, source, file, chosen)
    from kernels.analysis.model import to_json

    hint = other_exercise(source, chosen, folder) if analysis.message else ""
    more = "".join(f"\n\n{each}" for each in (hint, f"The page is in {page}." if page is not None else "") if each)
    return Answer(
        lambda: to_json(analysis),
        lambda: _text(analysis, source, file) + more,
        Exit.NOT_ACCEPTED if analysis.message else Exit.ACCEPTED,
    )


def _check_options(size: int | None, page: Path | None) -> None:
    if size is not None and not 1 <= size <= _LARGEST_SIZE:
        raise WrongUse(f"--size {size}: use 1 to {_LARGEST_SIZE:,}.")
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise WrongUse(f"--html {page}: cannot write a file there.")


def _target(device: str, cc: str | None, arch: str | None) -> Target:
    from kernels.analysis.devices import DeviceError
    from kernels.occupancy import UnknownCapability
    from worker.steps.evidence import capability, target

    if arch is not None and arch not in ARCHES:
        raise WrongUse(f"--arch {arch!r}: use one of {', '.join(ARCHES)}.")
    if arch is not None and cc not in {None, capability(arch)}:
        raise WrongUse(
            f"--arch {arch} means compute capability {capability(arch)}, but --cc is {cc}. Use only one of them."
        )
    try:
        return target(device, cc if arch is None else capability(arch))
    except DeviceError as error:
        raise WrongUse(f"--device: {error}.") from error
    except UnknownCapability as error:
        raise WrongUse(f"--cc: {error}.") from error


def _analyse(
    stages: SandboxedStages, source: bytes, exercise: Exercise, size: int | None, tile: int | None, target: Target
) -> Analysis:
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.commands.progress import Progress
    from worker.steps.analysis import AnalysisFailed, AnalysisJob, UnfitSizes, analyse
    from worker.steps.compile_requests import HeadersUnavailable
    from worker.steps.evidence import arch_of

    sizes = None if size is None else dict.fromkeys(exercise.sizes, size)
    job = AnalysisJob(source, exercise, arch_of(target.cc), cache_folder(), sizes, tile, target)
    try:
        with Progress() as progress:
            return analyse(job, stages, progress.show)
    except UnfitSizes as error:
        raise WrongUse(f"--size {size}: {error}" if size is not None else str(error)) from error
    except (NVRTCUnavailable, HeadersUnavailable, AnalysisFailed) as error:
        raise SystemFault(str(error)) from error


def _write(page: Path, analysis: Analysis, source: bytes, file: str, exercise: Exercise) -> None:
    from kernels.rendering.page.render import render_page

    html = render_page(analysis, source.decode("utf-8", "replace"), file)
    try:
        page.write_text(html, "utf-8")
    except OSError as error:
        raise WrongUse(f"--html {page}: cannot write the file ({error.strerror}).") from error


def _text(analysis: Analysis, source: bytes, file: str) -> str:
    from kernels.rendering.analysis import render_analysis
    from worker.commands.terminal import style_of

    columns = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    style = replace(style_of(sys.stdout), width=max(_NARROWEST, min(columns, _WIDEST)))
    return render_analysis(analysis, source.decode("utf-8", "replace"), file, style)
