"""`tilelab grade`: one file, graded here."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.architectures import ARCHES
from worker.commands.root import Exit, SystemFault, WrongUse, leave
from worker.commands.submission import cache_folder, find, read_file
from worker.sandbox.limits import SandboxFailure
from worker.stages import SandboxedStages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernels.exercise import Exercise
    from kernels.report import Report

_SEED_BYTES = 16
_SEED = re.compile(r"[0-9a-fA-F]{1,32}")
_DEVICE = re.compile(r"auto|cpu|cuda:\d+")


@click.command(epilog="Exit code: 0 accepted, 1 not accepted, 2 wrong use, 3 the system's fault.")
@click.argument("file", metavar="FILE")
@click.option(
    "--exercise", "-e", default="tiled", show_default=True, help="Name of an exercise, or its folder."
)
@click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
@click.option("--tile", type=int, help="Tile width, for a file that does not set its own.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option("--arch", default="sm_90", show_default=True, help="Architecture to compile for.")
@click.option("--case", help='Only the cases with this in their name, such as "Width=17".')
@click.option("--seed", help="Inputs of an earlier run again: its seed, up to 32 hex digits.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.pass_obj
def grade(
    stages: SandboxedStages | None,
    file: str,
    exercise: str,
    folder: Path | None,
    tile: int | None,
    device: str,
    arch: str,
    case: str | None,
    seed: str | None,
    as_json: bool,
) -> None:
    """Grade FILE (`-` for standard input) and show what is wrong with it, line by line.

    \b
    Examples:
      tilelab grade my.cu
      tilelab grade my.cu --exercise tiled-square --tile 32
      tilelab grade my.cu --case "Width=17" --json
    """  # noqa: D301 - click reads the escape
    _check_options(device, arch, seed)
    source = read_file(file)
    with stages or _stages() as ready:
        report = _grade(ready, source, find(exercise, folder, tile), tile, arch, case, seed)
    if as_json:
        from kernels.report import to_json

        click.echo(json.dumps(to_json(report), ensure_ascii=True))
    else:
        asked = {"exercise": exercise, "exercises": folder, "tile": tile, "arch": arch}
        _show(report, source, file, _options(asked))
    leave(_exit(report))


def _stages() -> SandboxedStages:
    try:
        return SandboxedStages()
    except SandboxFailure as failure:
        raise SystemFault(f"the sandbox did not start ({failure.kind}).") from failure


def _check_options(device: str, arch: str, seed: str | None) -> None:
    if not _DEVICE.fullmatch(device):
        raise WrongUse(f"--device {device!r}: it is auto, cpu or cuda:N.")
    if device.startswith("cuda:"):
        raise WrongUse(f"--device {device}: this build has no GPU backend; use --device cpu.")
    if arch not in ARCHES:
        raise WrongUse(f"--arch {arch!r}: it is one of {', '.join(ARCHES)}.")
    if seed is not None and not _SEED.fullmatch(seed):
        raise WrongUse(f"--seed {seed!r}: it is up to 32 hex digits.")


def _grade(
    stages: SandboxedStages,
    source: bytes,
    exercise: Exercise,
    tile: int | None,
    arch: str,
    case: str | None,
    seed: str | None,
) -> Report:
    from kernels.nvrtc import NVRTCUnavailable
    from worker.commands.progress import Progress
    from worker.grading import HeadersUnavailable, Job, NoSuchCase
    from worker.grading import grade as grade_job

    job = Job(source, exercise, arch, _seed(seed), cache_folder(), tile, case, evidence=True)
    try:
        with Progress() as progress:
            return grade_job(job, stages, progress.show)
    except NoSuchCase as error:
        raise WrongUse(f"--case: {error}.") from error
    except (NVRTCUnavailable, HeadersUnavailable) as error:
        raise SystemFault(str(error)) from error


def _seed(given: str | None) -> str:
    return given.lower().zfill(2 * _SEED_BYTES) if given else os.urandom(_SEED_BYTES).hex()


def _options(asked: Mapping[str, object]) -> list[str]:
    """The options as they were given, without those that say what holds anyway."""
    usual = {parameter.name: parameter.default for parameter in grade.params} | {"exercises": None}
    return [
        word
        for name, value in asked.items()
        if value is not None and value != usual[name]
        for word in (f"--{name}", str(value))
    ]


def _show(report: Report, source: bytes, file: str, options: list[str]) -> None:
    from kernels.report_text import render
    from worker.commands.terminal import style_of

    click.echo(render(report, source.decode("utf-8", "replace"), file, style_of(sys.stdout), options))


def _exit(report: Report) -> Exit:
    from kernels.verdict import Verdict

    if report.verdict is Verdict.ACCEPTED:
        return Exit.ACCEPTED
    return Exit.SYSTEM_FAULT if report.verdict is Verdict.SYSTEM_ERROR else Exit.NOT_ACCEPTED
