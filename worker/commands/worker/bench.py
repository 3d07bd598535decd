"""`tilelab worker bench`: how many verdicts a minute this machine gives, and how far its figures are apart."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import architecture, choose
from worker.commands.root import Exit, SystemFault
from worker.commands.submission import cache_folder

if TYPE_CHECKING:
    from worker.bench.rounds import Bench
    from worker.gpu.nvml import GpuFacts


@click.command(epilog="Exit code: 0 every kernel was accepted each time, 2 wrong use, 3 not so.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Times to grade all."
)
@answering("Print the outcome as one JSON object.")
def bench(device: str, rounds: int) -> Answer:
    """Measure how many verdicts a minute this worker gives, and how well its figures repeat.

    Known kernels, from the plainest to one near the speed of the vendor's library, are graded a few times, as many at
    once as the machine can. Without a GPU they are only checked.

    \b
    Examples:
      tilelab worker bench
      tilelab worker bench --device cuda:0 --rounds 10 --json
    """  # noqa: D301 - click reads the escape
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.bench.rounds import run_bench, to_json
    from worker.bench.text import bench_text
    from worker.commands.progress import Progress
    from worker.commands.terminal import style_of

    gpu = choose(device)
    with contextlib.ExitStack() as stack:
        try:
            made = _bench(gpu, stack)
        except NVRTCUnavailable as reason:
            raise SystemFault(str(reason)) from reason
        progress = stack.enter_context(Progress())
        found = run_bench(made, rounds, progress.show)
    well = all(rung.verdicts == ("accepted",) for rung in found.rungs)
    return Answer(
        to_json(found),
        bench_text(found, style_of(sys.stdout)),
        Exit.ACCEPTED if well else Exit.SYSTEM_FAULT,
    )


def _bench(gpu: GpuFacts | None, stack: contextlib.ExitStack) -> Bench:
    """With the place of a slot for the GPU, if there is one, which is closed with the stack."""
    from worker.bench.rounds import Bench

    arch, cache = architecture(None, gpu), cache_folder()
    if gpu is None:
        return Bench(arch, cache, "")
    from worker.gpu.judge.code import preparation
    from worker.workplaces.gpu import GpuWorkplace

    preparation(arch, cache)  # says at once where the compiler is missing
    place = stack.enter_context(contextlib.closing(GpuWorkplace(gpu.index, gpu.device_class, arch, cache)))
    return Bench(arch, cache, gpu.device_class, (place,))
