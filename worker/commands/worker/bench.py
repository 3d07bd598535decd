from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import architecture, choose
from worker.commands.root import Exit, SystemFault, WrongUse
from worker.commands.submission import cache_folder, find

if TYPE_CHECKING:
    from worker.bench.rounds import Bench
    from worker.gpu.nvml import GpuFacts


@click.command(epilog="Exit code: 0 every kernel was accepted each time, 2 wrong use, 3 some were not.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="How often to grade each kernel."
)
@click.option("-e", "--exercise", default="tiled", show_default=True, help="An exercise with a ladder of kernels.")
@answering("Print the outcome as one JSON object.")
def bench(device: str, rounds: int, exercise: str) -> Answer:
    """Measure this machine's verdicts per minute, and how well its speeds repeat.

    Grades reference kernels, from naive to nearly as fast as cuBLAS, in parallel on all cores. Without a GPU, it only
    checks them.

    \b
    Examples:
      tilelab worker bench
      tilelab worker bench --device cuda:0 --rounds 10 --json
      tilelab worker bench --exercise tensor-cores
    """
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.bench.rounds import ladder, run_bench, to_json
    from worker.bench.text import bench_text
    from worker.commands.progress import Progress
    from worker.commands.terminal import style_of

    chosen = find(exercise, None, None)
    if not ladder(chosen):
        raise WrongUse(f"The exercise {exercise} has no ladder of kernels.")
    gpu = choose(device)
    with contextlib.ExitStack() as stack:
        try:
            made = _bench(gpu, stack)
        except NVRTCUnavailable as reason:
            raise SystemFault(str(reason)) from reason
        progress = stack.enter_context(Progress())
        found = run_bench(made, chosen, rounds, progress.show)
    well = all(rung.verdicts == ("accepted",) for rung in found.rungs)
    return Answer(to_json(found), bench_text(found, style_of(sys.stdout)), Exit.ACCEPTED if well else Exit.SYSTEM_FAULT)


def _bench(gpu: GpuFacts | None, stack: contextlib.ExitStack) -> Bench:
    """The bench; for a GPU, with workplaces that close with the stack."""
    from worker.bench.rounds import Bench

    arch, cache = architecture(None, gpu), cache_folder()
    if gpu is None:
        return Bench(arch, cache, "")
    from worker.bench.place_process import gpu_processes
    from worker.gpu.judge.code import preparation

    preparation(arch, cache)  # raises at once if the compiler is missing
    places = stack.enter_context(gpu_processes(gpu.index, gpu.device_class, arch, cache))
    return Bench(arch, cache, gpu.device_class, (places,))
