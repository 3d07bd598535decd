from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.device import DEFAULT_ARCH, architecture, choose
from worker.commands.kernel.profiling import check_target, profiled
from worker.commands.root import Exit, SystemFault, WrongUse, leave
from worker.commands.submission import cache_folder, find, other_exercise, read_file, start_stages
from worker.sandbox.limits import SandboxFailure
from worker.steps.stages import SandboxedStages

_SEED_BYTES = 16
_SEED = re.compile(r"[0-9a-fA-F]{1,32}")


def repaired(file: str, source: bytes) -> bytes:
    """The repaired source. The file is replaced, the old one gets the suffix `.orig`, and each change is printed.

    raise (WrongUse): the file can't be replaced
    """
    from kernels.source.paste.decoding import decode
    from kernels.source.paste.repairs import repair_of

    if file == "-":
        raise WrongUse("--fix changes a file. Name one instead of standard input.")
    text = decode(source)
    repair = repair_of(text) if isinstance(text, str) else None
    if repair is None:
        click.echo(f"tilelab: {file}: nothing to repair.", err=True)
        return source
    content = repair.text.replace("\n", "\r\n" if b"\r\n" in source else "\n").encode()
    path = _replace(Path(file), content)
    for change in repair.changes:
        click.echo(f"tilelab: {file}: {change}", err=True)
    click.echo(f"tilelab: {file}: repaired. The old file is {path}.", err=True)
    return content


def _replace(path: Path, content: bytes) -> Path:
    """Write the file. Returns the copy of the old one."""
    kept = path.with_name(f"{path.name}.orig")
    try:
        with kept.open("xb") as copy:
            copy.write(path.read_bytes())
        path.write_bytes(content)
    except FileExistsError as error:
        raise WrongUse(f"{kept}: this file exists. Move it away, then use --fix again.") from error
    except OSError as error:
        raise WrongUse(f"{path}: cannot write the file ({error.strerror}).") from error
    return kept


if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernels.exercise import Exercise
    from kernels.report import Report
    from worker.gpu.nvml import GpuFacts
    from worker.steps.grading import Job


@click.command(epilog="Exit code: 0 accepted, 1 not accepted, 2 wrong use, 3 system error.")
@click.argument("file", metavar="FILE")
@click.option("--exercise", "-e", default="tiled", show_default=True, help="Name or folder of the exercise.")
@click.option("--exercises", "folder", type=click.Path(path_type=Path), help="Folder with your own exercises.")
@click.option("--tile", type=int, help="Tile width, if the file doesn't define its own.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option("--arch", help=f"Architecture to compile for.  [default: the GPU's, or {DEFAULT_ARCH}]")
@click.option("--case", help='Run only test cases whose name contains this, such as "Width=17".')
@click.option("--seed", help="Repeat the inputs of an earlier run: its seed, up to 32 hex digits.")
@click.option(
    "--profile",
    metavar="OUT.ncu-rep",
    type=click.Path(path_type=Path),
    help="Profile an accepted kernel with Nsight Compute, and write the report to this file.",
)
@click.option("--fix", is_flag=True, help="Repair text copied from a page or a chat, then grade. Changes FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.pass_obj
def grade(
    stages: SandboxedStages | None,
    file: str,
    exercise: str,
    folder: Path | None,
    tile: int | None,
    device: str,
    arch: str | None,
    case: str | None,
    seed: str | None,
    profile: Path | None,
    fix: bool,
    as_json: bool,
) -> None:
    """Grade FILE (`-` for standard input) and show each mistake with its line.

    \b
    Examples:
      tilelab grade my.cu
      tilelab grade my.cu --exercise tiled-square --tile 32
      tilelab grade my.cu --case "Width=17" --json
      tilelab grade my.cu --fix
      tilelab grade my.cu --device cuda:0 --profile my.ncu-rep
    """
    if seed is not None and not _SEED.fullmatch(seed):
        raise WrongUse(f"--seed {seed!r}: use 1 to 32 hex digits.")
    gpu = choose(device)
    if profile is not None:
        check_target(profile, gpu)
    source = read_file(file)
    if fix:
        source = repaired(file, source)
    with stages or start_stages() as ready:
        job = _job(source, find(exercise, folder, tile), tile, architecture(arch, gpu), case, seed, gpu)
        report = _grade(ready, job, gpu)
    seen: tuple[str, ...] = ()
    if profile is not None and gpu is not None:
        seen = profiled(report, ready.measured, gpu, profile)
    if as_json:
        from kernels.report import to_json

        click.echo(json.dumps(to_json(report), ensure_ascii=True))
        for sentence in seen:
            click.echo(f"tilelab: {sentence}", err=True)
    else:
        asked = {"exercise": exercise, "exercises": folder, "tile": tile, "arch": arch}
        _show(report, job, file, _options(asked), seen, _other(report, job, folder))
    leave(_exit(report))


def _job(
    source: bytes,
    exercise: Exercise,
    tile: int | None,
    arch: str,
    case: str | None,
    seed: str | None,
    gpu: GpuFacts | None,
) -> Job:
    from worker.steps.grading import Job

    kind = gpu.device_class if gpu is not None else ""
    return Job(source, exercise, arch, _seed(seed), cache_folder(), tile, case, evidence=True, gpu=kind)


def _grade(stages: SandboxedStages, job: Job, gpu: GpuFacts | None) -> Report:
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.commands.progress import Progress
    from worker.steps.grading import HeadersUnavailable, NoSuchCase
    from worker.steps.grading import grade as grade_job

    try:
        with Progress() as progress:
            if gpu is not None:
                stages.open_gpu(gpu.index, job.arch, job.cache)
            return grade_job(job, stages, progress.show)
    except NoSuchCase as error:
        raise WrongUse(f"--case: {error}.") from error
    except (NVRTCUnavailable, HeadersUnavailable) as error:
        raise SystemFault(str(error)) from error
    except SandboxFailure as failure:
        raise SystemFault(f"the GPU process did not start ({failure.kind}).") from failure


def _seed(given: str | None) -> str:
    return given.lower().zfill(2 * _SEED_BYTES) if given else os.urandom(_SEED_BYTES).hex()


def _options(asked: Mapping[str, object]) -> list[str]:
    usual = {parameter.name: parameter.default for parameter in grade.params} | {"exercises": None}
    return [
        word
        for name, value in asked.items()
        if value is not None and value != usual[name]
        for word in (f"--{name}", str(value))
    ]


def _show(report: Report, job: Job, file: str, options: list[str], profile: Sequence[str], other: str) -> None:
    from kernels.rendering.report import render
    from worker.commands.terminal import style_of

    text = job.source.decode("utf-8", "replace")
    click.echo(render(report, text, file, style_of(sys.stdout), options, _standing(report, job), profile, other))


def _other(report: Report, job: Job, folder: Path | None) -> str:
    from kernels.verdict import Verdict

    rejected = report.verdict is Verdict.REJECTED
    return other_exercise(job.source, job.exercise, folder) if rejected else ""


def _standing(report: Report, job: Job) -> tuple[str, ...]:
    """Compare the measured speed with the exercise's reference ladder. Empty if the ladder can't be used."""
    if report.measurement is None:
        return ()
    from kernels.ladder import LadderError, read_ladder
    from kernels.rendering.ladder import standing

    try:
        return standing(read_ladder(job.exercise), report.measurement)
    except LadderError:
        return ()


def _exit(report: Report) -> Exit:
    from kernels.verdict import Verdict

    if report.verdict is Verdict.ACCEPTED:
        return Exit.ACCEPTED
    return Exit.SYSTEM_FAULT if report.verdict is Verdict.SYSTEM_ERROR else Exit.NOT_ACCEPTED
