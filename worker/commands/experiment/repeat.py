from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import choose
from worker.commands.root import Exit, WrongUse


@click.command(epilog="Exit code: 0 all figures agree, 1 some don't, 2 wrong use, 3 the system's fault.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option("--out", type=click.Path(path_type=Path), help="The new folder.  [default: DIR-repeat]")
@answering("Print what differs as one JSON object.")
def repeat(folder: Path, device: str, out: Path | None) -> Answer:
    """Run the experiment in DIR again, and check whether its figures agree.

    Verdicts and counts must be equal. Speeds must have intervals that overlap. A measured run needs a GPU again.

    \b
    Example:
      tilelab experiment repeat my --out my-again
    """
    from kernels.experiment.comparison import repeated
    from kernels.experiment.quantities import speed_of
    from kernels.rendering.experiment import repeated_text
    from kernels.verdict import Verdict
    from kernels.wire import to_plain
    from worker.commands.experiment.local_run import machine, run_here
    from worker.commands.experiment.saved_experiment import opened
    from worker.commands.terminal import style_of
    from worker.experiment.folder import Folder, FolderError
    from worker.experiment.manifest import now, versions
    from worker.experiment.plan import Plan
    from worker.experiment.tuning import tunes

    first = opened(folder)
    if first.manifest.origin:
        raise WrongUse(f"{folder} was measured by {first.manifest.origin}, so Tilelab can't repeat it.")
    gpu = choose(device)
    if first.manifest.device.device_class and gpu is None:
        name = first.manifest.device.name
        raise WrongUse(f"{folder} was measured on {name}. Repeat it on a GPU, with --device cuda:N.")
    here = machine(gpu, first.manifest.arch if gpu is None else None)
    manifest = replace(
        first.manifest,
        device=here.device,
        arch=here.arch,
        seed=os.urandom(16).hex(),
        versions=versions(),
        started=now(),
    )
    whole = folder.resolve()
    target = Folder(out or whole.with_name(f"{whole.name}-repeat"))
    try:
        manifest = target.begin_or_resume(manifest)
    except FolderError as error:
        raise WrongUse(str(error)) from error
    results = run_here(manifest, Plan(manifest), target, gpu)
    points = repeated(first.results, results, speed_of(results))
    same = tunes(manifest) or len(points) == len(first.results)  # two searches may choose other points
    agree = same and not any(point.differences for point in points)
    failed = any(result.verdict is Verdict.SYSTEM_ERROR for result in results)
    return Answer(
        {"agree": agree, "folder": str(target.path), "points": to_plain(points)},
        lambda: f"{repeated_text(points, style_of(sys.stdout))}\nThe folder is {target.path}.",
        Exit.SYSTEM_FAULT if failed else Exit.ACCEPTED if agree else Exit.NOT_ACCEPTED,
    )
