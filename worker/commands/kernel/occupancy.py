from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, SystemFault, WrongUse, leave
from worker.commands.submission import cache_folder, find, read_file
from worker.contract.architectures import ARCHES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernels.occupancy import Limits
    from kernels.occupancy.block_sizes import SharedRule
    from kernels.occupancy.survey import Figures, Survey
    from kernels.verdict import Finding

_MOST_THREADS, _MOST_BYTES = 1024, 2**20


@click.command(epilog="Exit code: 0 it can launch, 1 it can't, 2 wrong use, 3 system error.")
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--cc", help='Compute capability, such as "8.6".  [default: the device\'s]')
@click.option("--device", help="Device class, such as t4.  [default: h200]")
@click.option("--exercise", "-e", help="With FILE: name or folder of the exercise.  [default: tiled]")
@click.option("--exercises", "folder", type=click.Path(path_type=Path), help="Folder with your own exercises.")
@click.option("--tile", type=int, help="With FILE: tile width, if the file doesn't define its own.")
@click.option("--threads", type=int, help="Without FILE: threads per block.")
@click.option("--registers", type=int, help="Without FILE: registers per thread.")
@click.option("--shared", type=int, help="Without FILE: bytes of static shared memory per block.")
@click.option("--dynamic", type=int, help="Without FILE: bytes of dynamic shared memory per block.")
@click.option("--barriers", type=int, help="Without FILE: barriers per block.  [default: 1]")
@click.option(
    "--shared-per-block",
    "rule",
    help="Bytes of dynamic shared memory as a formula of T (threads) and B (side of a block).",
)
@answering("Print one JSON object.")
def occupancy(
    file: str | None,
    cc: str | None,
    device: str | None,
    exercise: str | None,
    folder: Path | None,
    tile: int | None,
    threads: int | None,
    registers: int | None,
    shared: int | None,
    dynamic: int | None,
    barriers: int | None,
    rule: str | None,
) -> Answer:
    """Show how many of a kernel's blocks fit on a multiprocessor, what limits it, and the best block size.

    Give FILE (`-` for standard input) to compile a kernel, or give its figures with the options.

    \b
    Examples:
      tilelab occupancy my.cu --cc 8.6
      tilelab occupancy --threads 256 --registers 32 --shared 2048 --cc 5.0
      tilelab occupancy --threads 256 --registers 32 --shared-per-block "2*4*T"
    """
    limits, title, multiprocessors = _where(cc, device)
    given = {
        "threads": threads, "registers": registers, "shared": shared, "dynamic": dynamic, "barriers": barriers,
    }  # fmt: skip
    by_size = _rule(rule)
    if file is None:
        _refuse({"exercise": exercise, "exercises": folder, "tile": tile}, "needs a FILE")
        figures = _given(given, ruled=rule is not None)
    else:
        _refuse(given, "can't be used with FILE, whose figures come from the compiler")
        figures = _compiled(file, exercise or "tiled", folder, tile, limits)
    if by_size is not None and 1 <= figures.threads <= _MOST_THREADS:
        figures = replace(figures, dynamic=by_size(figures.threads))
    return _answer(limits, figures, by_size, rule or "", title, multiprocessors, file)


def _where(cc: str | None, device: str | None) -> tuple[Limits, str, int | None]:
    """The limits, and for a known device its title and number of multiprocessors."""
    from kernels.analysis.devices import DeviceError, device_named
    from kernels.occupancy import UnknownCapability, limits_of

    try:
        if cc is not None and device is None:
            return limits_of(cc), "", None
        named = device_named(device or "h200")
    except UnknownCapability as error:
        raise WrongUse(f"--cc: {error}.") from error
    except DeviceError as error:
        raise WrongUse(f"--device: {error}.") from error
    if cc is not None and cc != named.cc:
        raise WrongUse(f"--cc {cc}: {named.name} has {named.cc}. Use only one of --cc and --device.")
    return named.limits, named.title, named.multiprocessors


def _rule(text: str | None) -> SharedRule | None:
    from kernels.expression import ExpressionError
    from kernels.occupancy.survey import shared_rule

    if text is None:
        return None
    try:
        return shared_rule(text)
    except ExpressionError as error:
        raise WrongUse(
            f"--shared-per-block {text!r}: {error}. Write bytes such as 2*4*T, with T threads per block. "
            "B is the side of a square block."
        ) from error


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise WrongUse(f"--{name} {why}.")


def _given(given: dict[str, int | None], *, ruled: bool) -> Figures:
    from kernels.occupancy.survey import Figures

    for name in ("threads", "registers"):
        if given[name] is None:
            raise WrongUse(f"give FILE, or --threads and --registers (--{name} is missing). See --help.")
    if ruled and given["dynamic"] is not None:
        raise WrongUse("use only one of --dynamic and --shared-per-block.")
    for name, value in given.items():
        if value is not None and not 0 <= value <= _MOST_BYTES:
            raise WrongUse(f"--{name} {value}: use 0 to {_MOST_BYTES:,}.")
    barriers = given["barriers"]
    return Figures(
        given["threads"] or 0,
        given["registers"] or 0,
        given["shared"] or 0,
        given["dynamic"] or 0,
        1 if barriers is None else barriers,
    )


def _compiled(file: str, exercise: str, folder: Path | None, tile: int | None, limits: Limits) -> Figures:
    from kernels.compile.nvrtc import NVRTCUnavailable
    from kernels.occupancy.survey import command
    from worker.commands.progress import Progress
    from worker.sandbox.limits import SandboxFailure
    from worker.steps.analysis import AnalysisJob, figures_of
    from worker.steps.compile_requests import HeadersUnavailable
    from worker.steps.stages import SandboxedStages

    arch = f"sm_{limits.cc.replace('.', '')}"
    known = arch in ARCHES
    arch = arch if known else ARCHES[0]
    source, chosen = read_file(file), find(exercise, folder, tile)
    try:
        with SandboxedStages(runs=False) as stages, Progress() as progress:
            progress.show("compiling")
            found = figures_of(AnalysisJob(source, chosen, arch, cache_folder(), tile=tile), stages)
    except SandboxFailure as failure:
        raise SystemFault(f"the compiler failed inside the sandbox ({failure.kind}).") from failure
    except (NVRTCUnavailable, HeadersUnavailable) as error:
        raise SystemFault(str(error)) from error
    if isinstance(found, tuple):
        _stop(found)
    if not known:
        raise WrongUse(
            f"--cc {limits.cc}: the compiler supports 7.5 and newer. Use the kernel's figures for 7.5 instead: "
            f"{command(found, limits.cc)}"
        )
    return found


def _stop(findings: tuple[Finding, ...]) -> NoReturn:
    """Print why the kernel has no figures, and end the command."""
    from kernels.rendering.text_safety import safe

    for finding in findings:
        place = f"line {finding.line}: " if finding.line is not None else ""
        click.echo(f"tilelab: {place}{safe(finding.message)}", err=True)
    leave(Exit.NOT_ACCEPTED)


def _answer(
    limits: Limits,
    figures: Figures,
    by_size: SharedRule | None,
    rule: str,
    title: str,
    multiprocessors: int | None,
    file: str | None,
) -> Answer:
    from kernels.occupancy.survey import survey, to_json

    found: Survey = survey(limits, figures, by_size, rule_text=rule, device=title, multiprocessors=multiprocessors)
    name = "" if file is None else "standard input" if file == "-" else file
    return Answer(
        to_json(found), lambda: _text(found, name), Exit.NOT_ACCEPTED if found.occupancy.refused else Exit.ACCEPTED
    )


def _text(survey: Survey, name: str) -> str:
    from kernels.rendering.occupancy import render_occupancy
    from worker.commands.terminal import style_of

    return render_occupancy(survey, style_of(sys.stdout), name)
