"""The command `tilelab`: one file a verb, each imported only when it is called."""

from __future__ import annotations

import contextlib
import gc
import sys

_GARBAGE = 20_000
"""New objects until the next search for garbage. With Python's 700, it took a tenth of the web server's start."""


def main() -> None:
    """Entry point of the command.

    For `grade` and `analyze`, the sandboxed processes start before anything else loads. They take longest to be ready.
    """
    gc.set_threshold(_GARBAGE)
    from worker.commands.unplanned_exit import calmly

    with calmly(), contextlib.ExitStack() as stack:
        stages = None
        if sys.argv[1:2] in (["grade"], ["analyze"]):
            from worker.sandbox.limits import SandboxFailure
            from worker.steps.stages import SandboxedStages

            # if the sandbox doesn't start, the verb tries again and reports the failure
            with contextlib.suppress(SandboxFailure):
                stages = stack.enter_context(SandboxedStages())
        from worker.commands.root import tilelab

        tilelab(obj=stages)
