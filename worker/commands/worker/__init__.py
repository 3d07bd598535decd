"""`tilelab worker`: the operator's verbs for workers, one module each."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "bench": "Measure this machine's verdicts per minute, and how well its speeds repeat.",
    "drain": "Let a worker finish its steps and start no new ones, until `resume`.",
    "resume": "Let a drained or failed worker start steps again.",
    "selftest": "Grade kernels with known verdicts, and show which isolation this machine has.",
    "start": "Run a worker until Ctrl-C. Running steps may finish first.",
    "status": "Show all workers of the last hour: devices, jobs, failures and last heartbeat.",
}


class WorkerVerbs(Verbs):
    verbs = _VERBS
    package = "worker.commands.worker"


@click.group(cls=WorkerVerbs)
def worker() -> None:
    """Run, test and control workers. A worker is a process that grades submissions.

    \b
    Example:
      tilelab worker selftest
      tilelab worker start --redis redis://broker:6379/0
    """
