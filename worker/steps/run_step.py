"""The step of the process that runs kernels: it judges one, and counts what it does, as often as it is asked.

Both in one process, because its start takes longer than either of them for most kernels.
"""

from __future__ import annotations

from typing import Any

from worker.steps import analysis_step
from worker.steps import check_step as steps

CHECK, COUNT = "check", "count"


def warm_up() -> None:
    """Load all that either needs: nothing can be opened afterwards."""
    analysis_step.warm_up()


def run_step(request: dict[str, Any]) -> dict[str, Any]:
    """A request for one of the two, under its name."""
    if CHECK in request:
        return steps.check_step(request[CHECK])
    return analysis_step.analysis_step(request[COUNT])
