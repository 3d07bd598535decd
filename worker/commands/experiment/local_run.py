from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer
from worker.commands.device import architecture
from worker.commands.root import Exit, SystemFault, WrongUse
from worker.commands.submission import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernels.experiment.result import PointResult
    from worker.commands.progress import Progress
    from worker.experiment.folder import Folder
    from worker.experiment.manifest import Manifest
    from worker.experiment.plan import Plan
    from worker.experiment.setup import Machine
    from worker.gpu.nvml import GpuFacts
    from worker.workplaces.workplace import Workplace

_BAR = 20


def machine(gpu: GpuFacts | None, arch: str | None) -> Machine:
    from worker.experiment.manifest import DeviceUsed
    from worker.experiment.setup import Machine

    device = DeviceUsed() if gpu is None else DeviceUsed(gpu.name, gpu.device_class, gpu.driver)
    return Machine(device, architecture(arch, gpu))


def run_here(manifest: Manifest, plan: Plan, folder: Folder, gpu: GpuFacts | None) -> list[PointResult]:
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.experiment.folder import FolderError
    from worker.experiment.run import processes
    from worker.experiment.tuning import budget, not_tried, tunes

    try:
        whole, open_points = budget(manifest), not_tried(plan, folder)
    except FolderError as error:
        raise WrongUse(str(error)) from error
    left = max(0, whole - manifest.points + len(open_points))
    _announce(left, manifest, gpu)
    with contextlib.ExitStack() as stack:
        try:
            needed = processes(left)
            # a search makes all its choices again, so it may measure although nothing is left
            wanted = gpu if left or tunes(manifest) else None
            gpus = [_places(stack, wanted, manifest.arch, needed)] if wanted else []
        except NVRTCUnavailable as reason:
            raise SystemFault(str(reason)) from reason
        # the rest is imported while the GPU starts
        from kernels.rendering.experiment import tuning_text
        from kernels.rendering.page.experiment_page import render_experiment
        from worker.commands.progress import Progress
        from worker.experiment.run import run
        from worker.experiment.tuning import tune

        progress = stack.enter_context(Progress())
        told = _Told(whole, whole - left, progress)
        try:
            if tunes(manifest):
                results = tune(manifest, folder, cache_folder(), gpus, told)
            else:
                results = run(plan, folder, cache_folder(), gpus, told)
        except FolderError as error:
            raise WrongUse(str(error)) from error
        except KeyboardInterrupt:
            text = f"{len(folder.results()):,} of {whole:,} points have a result"
            click.echo(f"tilelab: interrupted; {text}. Run the same command to go on.", err=True)
            raise
    about = facts(manifest)
    if (tuning := folder.tuning()) is not None:
        about["Search"] = tuning_text(tuning, results)
    folder.report.write_text(render_experiment(manifest.definition, results, about), "utf-8")
    return results


def facts(manifest: Manifest) -> dict[str, str]:
    return {
        "Exercise": manifest.exercise.name,
        "Measured by": manifest.origin,
        "Device": manifest.device.name,
        "Driver": manifest.device.driver,
        "Architecture": manifest.arch,
        "Started": manifest.started,
        "Tilelab": manifest.versions.get("tilelab", ""),
        "NVRTC": manifest.versions.get("nvidia-cuda-nvrtc", ""),
    }


def answer(manifest: Manifest, results: list[PointResult], folder: Folder) -> Answer:
    """The results as text or JSON; a system error is our failure, any other verdict a result."""
    from kernels.experiment.result import to_json
    from kernels.rendering.experiment import results_text, tuning_text
    from kernels.verdict import Verdict
    from kernels.wire import to_plain
    from worker.commands.terminal import style_of

    failed = any(result.verdict is Verdict.SYSTEM_ERROR for result in results)
    name, asked = manifest.definition["experiment"]["name"], manifest.definition.get("plot", {}).get("y", "")
    tuning = folder.tuning()

    def text() -> str:
        style = style_of(sys.stdout)
        said = [results_text(name, results, manifest.points, style, asked), f"The folder is {folder.path}."]
        if tuning is not None:
            said.insert(1, "\n".join(style.wrap(tuning_text(tuning, results))))
        return "\n\n".join(said)

    return Answer(
        lambda: {
            "manifest": to_plain(manifest),
            "points": [to_json(result) for result in results],
            **({"tuning": to_plain(tuning)} if tuning is not None else {}),
        },
        text,
        Exit.SYSTEM_FAULT if failed else Exit.ACCEPTED,
    )


def _announce(left: int, manifest: Manifest, gpu: GpuFacts | None) -> None:
    from worker.experiment.run import estimate

    if left:
        seconds = _about(estimate(left, gpu is not None))
        text = f"{left:,} of {manifest.points:,} points to run on {manifest.device.name}, {seconds}"
        click.echo(f"tilelab: {text}.", err=True)


class _Told:
    """Shows a bar with the time left, judging by the points of this run."""

    def __init__(self, points: int, before: int, progress: Progress) -> None:
        self._points, self._before, self._progress = points, before, progress
        self._began = time.monotonic()
        self(before)

    def __call__(self, done: int) -> None:
        filled = _BAR * done // max(1, self._points)
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:,} of {self._points:,} points"
        ran = done - self._before
        if ran > 0 and done < self._points:
            bar += f", {_about((time.monotonic() - self._began) / ran * (self._points - done))} left"
        self._progress.show(bar)


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _places(stack: contextlib.ExitStack, gpu: GpuFacts, arch: str, processes: int | None) -> Sequence[Workplace]:
    """The GPU's slots, which close with the stack. processes: as in `processes`."""
    from kernels.compile.nvrtc import installed_version
    from worker.bench.place_process import gpu_processes

    installed_version()  # says at once if the compiler is missing
    places = stack.enter_context(gpu_processes(gpu.index, gpu.device_class, arch, cache_folder(), processes))
    for place in places:
        place.prepare()  # the GPU takes longest to start
    return places
