"""`tilelab occupancy`: how many blocks of a kernel a multiprocessor holds, without a GPU."""

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


@click.command(epilog="Exit code: 0 it can be launched, 1 it cannot, 2 wrong use, 3 the system's fault.")
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--cc", help='Compute capability, such as "8.6"; the device\'s otherwise.')
@click.option("--device", help="A device by name, such as h200 (the default) or t4.")
@click.option("--exercise", "-e", help="Of FILE: name of an exercise, or its folder.  [default: tiled]")
@click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
@click.option("--tile", type=int, help="Of FILE: tile width, where it does not set its own.")
@click.option("--threads", type=int, help="Without FILE: threads of a block.")
@click.option("--registers", type=int, help="Without FILE: registers of a thread.")
@click.option("--shared", type=int, help="Without FILE: bytes of static shared memory of a block.")
@click.option("--dynamic", type=int, help="Without FILE: bytes of dynamic shared memory of a block.")
@click.option("--barriers", type=int, help="Without FILE: barriers of a block.  [default: 1]")
@click.option(
    "--shared-per-block", "rule", help="Dynamic shared memory by block size: bytes by T threads, side B."
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
    """Show how many blocks of a kernel a multiprocessor holds, what limits it, and which block size would be best.

    The kernel is FILE (`-` for standard input), which is compiled for it, or the figures that the options give.

    \b
    Examples:
      tilelab occupancy my.cu --cc 8.6
      tilelab occupancy --threads 256 --registers 32 --shared 2048 --cc 5.0
      tilelab occupancy --threads 256 --registers 32 --shared-per-block "2*4*T"
    """  # noqa: D301 - click reads the escape
    limits, title, multiprocessors = _where(cc, device)
    given = {
        "threads": threads, "registers": registers, "shared": shared, "dynamic": dynamic, "barriers": barriers,
    }  # fmt: skip
    by_size = _rule(rule)
    if file is None:
        _refuse({"exercise": exercise, "exercises": folder, "tile": tile}, "needs a FILE")
        figures = _given(given, ruled=rule is not None)
    else:
        _refuse(given, "goes without FILE, whose own figures count")
        figures = _compiled(file, exercise or "tiled", folder, tile, limits)
    if by_size is not None and 1 <= figures.threads <= _MOST_THREADS:
        figures = replace(figures, dynamic=by_size(figures.threads))
    return _answer(limits, figures, by_size, rule or "", title, multiprocessors, file)


def _where(cc: str | None, device: str | None) -> tuple[Limits, str, int | None]:
    """The limits to go by, and the device's title and multiprocessors where it is known."""
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
        raise WrongUse(f"--cc {cc}: {named.name} has {named.cc}; give one of --cc and --device.")
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
            f"--shared-per-block {text!r}: {error}. It is a number of bytes such as 2*4*T, with T threads in a "
            "block and B the side of a square block."
        ) from error


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise WrongUse(f"--{name} {why}.")


def _given(given: dict[str, int | None], *, ruled: bool) -> Figures:
    from kernels.occupancy.survey import Figures

    for name in ("threads", "registers"):
        if given[name] is None:
            raise WrongUse(f"give a FILE, or --threads and --registers (--{name} is missing); see --help.")
    if ruled and given["dynamic"] is not None:
        raise WrongUse("--dynamic and --shared-per-block both give the dynamic shared memory; leave one out.")
    for name, value in given.items():
        if value is not None and not 0 <= value <= _MOST_BYTES:
            raise WrongUse(f"--{name} {value}: it is at least 0 and at most {_MOST_BYTES:,}.")
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
    from worker.steps.compiling import HeadersUnavailable
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
            f"--cc {limits.cc}: the compiler knows 7.5 and newer. With what the kernel takes on 7.5: "
            f"{command(found, limits.cc)}"
        )
    return found


def _stop(findings: tuple[Finding, ...]) -> NoReturn:
    """Say why there is nothing to calculate, and end."""
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

    found: Survey = survey(
        limits, figures, by_size, rule_text=rule, device=title, multiprocessors=multiprocessors
    )
    name = "" if file is None else "standard input" if file == "-" else file
    return Answer(
        to_json(found),
        lambda: _text(found, name),
        Exit.NOT_ACCEPTED if found.occupancy.refused else Exit.ACCEPTED,
    )


def _text(found: Survey, name: str) -> str:
    from kernels.rendering.occupancy import render_occupancy
    from worker.commands.terminal import style_of

    return render_occupancy(found, style_of(sys.stdout), name)
