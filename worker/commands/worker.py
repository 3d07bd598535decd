"""`tilelab worker`: for those who run Tilelab for others; its verbs live in modules of their own."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "bench": "Measure how many verdicts a minute this worker gives, and how well its figures repeat.",
    "selftest": "Grade kernels whose verdicts are known, and show what isolation holds here.",
}


class WorkerVerbs(Verbs):
    """The verbs of a worker."""

    verbs = _VERBS
    prefix = "worker_"


@click.group(cls=WorkerVerbs)
def worker() -> None:
    """Run and test a worker: the machine that grades for others.

    \b
    Example:
      tilelab worker selftest
    """  # noqa: D301 - click reads the escape
