from __future__ import annotations

import sys

import click

from worker.commands.answer import Answer, answering
from worker.commands.device import architecture, choose
from worker.commands.root import Exit
from worker.commands.submission import cache_folder


@click.command(epilog="Exit code: 0 fit to grade, 2 wrong use, 3 not fit.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
@click.option("--allow-missing-isolation", "allow_gaps", is_flag=True, help="Pass even if some isolation is missing.")
@answering("Print the outcome as one JSON object.")
def selftest(device: str, allow_gaps: bool) -> Answer:
    """Grade kernels with known verdicts, and show which isolation this machine has.

    With a GPU, it also grades kernels that fail only at the ranking size. It then compares two speeds with a known
    ratio.

    \b
    Examples:
      tilelab worker selftest
      tilelab worker selftest --device cuda:0 --json
    """
    from worker.commands.progress import Progress
    from worker.commands.terminal import style_of
    from worker.selftest.local_grader import LocalGrader
    from worker.selftest.selftest import run_selftest, to_json
    from worker.selftest.text import selftest_text

    gpu = choose(device)
    here = LocalGrader(architecture(None, gpu), cache_folder())
    if gpu is not None:
        here = LocalGrader(here.arch, here.cache, gpu.index, gpu.device_class)
    with Progress() as progress:
        result = run_selftest(
            here.grade, here.surroundings, gpu=gpu is not None, allow_gaps=allow_gaps, progress=progress.show
        )
    return Answer(
        to_json(result), selftest_text(result, style_of(sys.stdout)), Exit.ACCEPTED if result.ok else Exit.SYSTEM_FAULT
    )
