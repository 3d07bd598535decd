"""The child's side: warm up, give up everything, say so, then answer each request, one as a rule.

Started as `python -I -S -c <bootstrap>` by worker.sandbox.process; `-S` leaves out the search for site packages,
which takes longer than the rest of the interpreter's start.
"""

from __future__ import annotations

import importlib
import json
import os
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from worker.sandbox import telling
from worker.sandbox.confinement import lockdown
from worker.supervision.children import die_with

# Each step: its module and its function. A `warm_up` in the module loads all that the function will need: after the
# lock nothing can be loaded. A `rehearse` runs behind the lock and before the first request.
STEPS = {
    "compile": ("worker.sandbox.compile_step", "compile_step"),
    "check": ("worker.steps.check_step", "check_step"),
    "run": ("worker.steps.analysis_step", "run_step"),
}
_CHUNK = 2**20

Step = Callable[[dict[str, Any]], dict[str, Any]]


def main(step: str, parent: int, answers: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Run one step for each request and end the process.

    Writes lines of JSON to `answers`: what confines the child, before it reads a request; then each answer, and before
    an answer what the step tells of how far it has come.
    """
    die_with(parent)
    lockdown.offer_to_be_killed()
    network = lockdown.leave_network()
    module_name, name = STEPS[step]
    module = importlib.import_module(module_name)
    _call(module, "warm_up")
    limits = lockdown.limit(cpu_seconds, memory_bytes)
    calls, landlock = lockdown.close_files_and_calls()
    _call(module, "rehearse")
    function: Step = getattr(module, name)
    send(answers, {"calls": calls, "landlock": landlock, "network": network, "limits": limits})
    telling.tell_on(answers)
    for request in requests(0):
        send(answers, answer(function, request))
    os._exit(0)


def load_judge() -> None:
    """Load all that judging needs, down to what numpy loads at first use."""
    import numpy as np
    import numpy.ma  # numpy.unique looks at it

    from kernels import device
    from kernels.judging import judge, module_variables

    assert all((device, judge, module_variables))
    np.random.Generator(np.random.Philox(np.random.SeedSequence(1))).integers(0, 2, 1)


def _call(module: ModuleType, name: str) -> None:
    """Call a function of a step's module, where it has one of that name."""
    getattr(module, name, lambda: None)()


def answer(function: Step, request: bytes) -> dict[str, Any]:
    """What a step says to a request, or how it failed."""
    try:
        return {"response": function(json.loads(request))}
    except MemoryError:
        return {"failure": "memory"}
    except Exception:  # noqa: BLE001 - the parent must learn of any fault in a step
        return {"failure": "error", "detail": traceback.format_exc(limit=-8)[-4000:]}


def requests(descriptor: int) -> Iterator[bytes]:
    """Each request as it comes: a line, the last of which may go without its end."""
    kept = b""
    while part := os.read(descriptor, _CHUNK):
        *lines, kept = (kept + part).split(b"\n")
        yield from lines
    if kept:
        yield kept


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one line."""
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
