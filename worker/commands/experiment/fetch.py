from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, experiment_id, portal
from worker.commands.root import SystemFault, WrongUse

if TYPE_CHECKING:
    from worker.client.experiments import Experiment
    from worker.experiment.manifest import Manifest


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: experiment_id(given[-1]))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; the ID by default.")
@answering("Print the folder and its number of points as one JSON object.")
def fetch(id: str, out: Path | None) -> Answer:  # noqa: A002 - the argument's name
    """Fetch the results of an experiment on your course's server into a folder.

    Then `show`, `export`, `plot` and `compare` work on the folder. Fetch again to add later and retried points.

    \b
    Examples:
      tilelab experiment fetch 5d2c6e0f8a1b4c3d --out tiles
      tilelab experiment export tiles > tiles.csv
    """
    from kernels.rendering.page.experiment_page import render_experiment
    from kernels.verdict import Verdict
    from worker.client.experiments import fetch as fetched
    from worker.client.experiments import look
    from worker.commands.experiment.local_run import facts
    from worker.experiment.folder import Folder, FolderError

    with portal() as asked:
        found = look(asked, id)
        results = list(fetched(asked, id))
    folder = Folder(out or Path(id))
    try:
        manifest = folder.begin_or_resume(_manifest(found))
        with folder.writing() as keep:
            known = {result.number: result for result in folder.results()}
            for result in results:
                before = known.get(result.number)
                if before is None or (before.verdict is Verdict.SYSTEM_ERROR and before != result):
                    keep(result)
        results = folder.results()
    except FolderError as error:
        raise WrongUse(str(error)) from error
    folder.report.write_text(render_experiment(manifest.definition, results, facts(manifest)), "utf-8")
    text = f"{len(results):,} of {found.points:,} points are in {folder.path}."
    return Answer(lambda: {"folder": str(folder.path), "points": len(results)}, text)


def _manifest(experiment: Experiment) -> Manifest:
    from kernels.exercise import ExerciseError, read_exercise
    from worker.contract.messages import ExerciseText
    from worker.experiment.manifest import DeviceUsed, KernelText, Manifest

    exercise = experiment.exercise
    try:
        fmad = read_exercise(exercise.name, exercise.definition).fmad
    except ExerciseError as error:
        raise SystemFault(f"this version of tilelab can't read the exercise: {error}.") from error
    gpu = "" if experiment.device_class == "cpu" else experiment.device_class
    return Manifest(
        definition=experiment.definition,
        exercise=ExerciseText(exercise.name, exercise.definition, exercise.digest),
        kernels=tuple(KernelText(kernel.name, kernel.text or "", kernel.digest) for kernel in experiment.kernels),
        points=experiment.points,
        device=DeviceUsed(gpu, gpu) if gpu else DeviceUsed(),
        arch=experiment.arch,
        fmad=fmad,
        seed="",
        started=experiment.created_at,
    )
