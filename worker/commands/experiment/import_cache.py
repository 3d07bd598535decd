from __future__ import annotations

import sys
from pathlib import Path

import click

from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.command("import", epilog="Exit code: 0 imported, 2 wrong use.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; FILE's name by default.")
@answering("Print the manifest and all points as one JSON object.")
def import_cache(file: Path, out: Path | None) -> Answer:
    """Read FILE, a cache file of Kernel Tuner, into a folder for compare, plot, export and show.

    A configuration that failed is a point with a verdict and no time. Tilelab runs and checks nothing.

    \b
    Example:
      tilelab experiment import matmul_cache.json --out kernel-tuner
    """
    from kernels.experiment.result import to_json
    from kernels.rendering.experiment import results_text
    from kernels.rendering.page.experiment_page import render_experiment
    from kernels.wire import to_plain
    from worker.commands.experiment.local_run import facts
    from worker.commands.experiment.saved_experiment import opened_cache
    from worker.commands.terminal import style_of
    from worker.experiment.folder import Folder, FolderError

    opened = opened_cache(file)
    folder = Folder(out or Path(file.stem))
    try:
        if folder.begun():
            raise WrongUse(f"{folder.path} has results already. Choose another folder with --out.")
        manifest = folder.begin_or_resume(opened.manifest)
        folder.fill(opened.results)
    except FolderError as error:
        raise WrongUse(str(error)) from error
    page = render_experiment(manifest.definition, opened.results, facts(manifest))
    folder.report.write_text(page, "utf-8")
    name = manifest.definition["experiment"]["name"]
    return Answer(
        lambda: {"manifest": to_plain(manifest), "points": [to_json(result) for result in opened.results]},
        lambda: (
            f"{results_text(name, opened.results, manifest.points, style_of(sys.stdout))}\n\n"
            f"The folder is {folder.path}."
        ),
    )
