"""`tilelab worker selftest`: whether this machine may grade."""

from __future__ import annotations

import sys

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import architecture, choose
from worker.commands.root import Exit
from worker.commands.submission import cache_folder


@click.command(epilog="Exit code: 0 fit to take work, 2 wrong use, 3 not fit.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option(
    "--allow-missing-isolation", "allow_gaps", is_flag=True, help="Be fit though some isolation is missing."
)
@answering("Print the outcome as one JSON object.")
def selftest(device: str, allow_gaps: bool) -> Answer:
    """Grade kernels whose verdicts are known, and show what isolation holds here.

    With a GPU, kernels that go wrong only at the ranking size are among them, and a ratio of speeds that every device
    shows.

    \b
    Examples:
      tilelab worker selftest
      tilelab worker selftest --device cuda:0 --json
    """  # noqa: D301 - click reads the escape
    from worker.commands.progress import Progress
    from worker.commands.terminal import style_of
    from worker.selftest.here import Here
    from worker.selftest.selftest import run_selftest, to_json
    from worker.selftest.text import selftest_text

    gpu = choose(device)
    here = Here(architecture(None, gpu), cache_folder())
    if gpu is not None:
        here = Here(here.arch, here.cache, gpu.index, gpu.device_class)
    with Progress() as progress:
        result = run_selftest(
            here.grade, here.surroundings, gpu=gpu is not None, allow_gaps=allow_gaps, progress=progress.show
        )
    return Answer(
        to_json(result),
        selftest_text(result, style_of(sys.stdout)),
        Exit.ACCEPTED if result.ok else Exit.SYSTEM_FAULT,
    )
