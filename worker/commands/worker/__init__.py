"""`tilelab worker`: for those who run Tilelab for others; its verbs live in modules of their own."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "bench": "Measure how many verdicts a minute this worker gives, and how well its figures repeat.",
    "drain": "Let a worker finish its steps and take no more; it stays, and `resume` lets it go on.",
    "resume": "Let a worker take work again that was drained, or that took itself out.",
    "selftest": "Grade kernels whose verdicts are known, and show what isolation holds here.",
    "start": "Take work from the broker until Ctrl-C, which gives steps in work time to end.",
    "status": "Show every worker of the last hour: its devices, what they are at, jobs done, failures, last beat.",
}


class WorkerVerbs(Verbs):
    """The verbs of a worker."""

    verbs = _VERBS
    package = "worker.commands.worker"


@click.group(cls=WorkerVerbs)
def worker() -> None:
    """Run and test a worker: the machine that grades for others.

    \b
    Example:
      tilelab worker selftest
      tilelab worker start --redis redis://broker:6379/0
    """  # noqa: D301 - click reads the escape
