"""The child's side of the sandbox: load modules, drop all rights, report that, then answer requests (usually one).

worker.sandbox.process starts it as `python -I -S -c <bootstrap>`. `-S` skips the search for site packages, which takes
longer than the rest of the interpreter's start.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from worker.sandbox import progress_messages
from worker.sandbox.confinement import lockdown
from worker.supervision.children import die_with

# Each step's module and function. `warm_up` in the module loads what the function needs, because nothing can be loaded
# after the lockdown. `rehearse` runs after the lockdown and before the first request.
STEPS = {
    "compile": ("worker.sandbox.compile_step", "compile_step"),
    "check": ("worker.steps.check_step", "check_step"),
    "run": ("worker.steps.analysis_step", "run_step"),
}
_CHUNK = 2**20
_GARBAGE = 50_000
"""New objects until the next search for garbage."""

_LONGEST_ERROR, _LONGEST_DETAIL, _MOST_FRAMES = 2000, 4000, 8

Step = Callable[[dict[str, Any]], dict[str, Any]]


def main(step: str, parent: int, answers: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Run one step for each request, and end the process.

    Writes JSON lines to `answers`: first the child's isolation, then for each request the step's progress and its
    answer.
    """
    # First of all: a child must never outlive a worker that is killed meanwhile.
    die_with(parent)
    lockdown.offer_to_be_killed()
    # Before the imports: a thread that they start would stay in the old network.
    network = lockdown.leave_network()
    module_name, name = STEPS[step]
    module = importlib.import_module(module_name)
    _call(module, "warm_up")
    limits = lockdown.limit(cpu_seconds, memory_bytes)
    calls, landlock = lockdown.close_files_and_calls()
    # A first call under the lockdown shows at the start if something is missing, not in a student's job.
    _call(module, "rehearse")
    function: Step = getattr(module, name)
    send(answers, {"calls": calls, "landlock": landlock, "network": network, "limits": limits})
    progress_messages.send_to(answers)
    # What is loaded stays. Looking for garbage among it took a fifth of the time of a long kernel.
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    for request in requests(0):
        send(answers, answer(function, request))
    os._exit(0)


def load_judge() -> None:
    """Load all modules for judging, also numpy's modules that load at first use."""
    import numpy as np
    import numpy.ma  # numpy.unique looks at it

    from kernels import device
    from kernels.judging import judge, module_variables, run_values

    assert all((device, judge, module_variables, run_values))
    np.random.Generator(np.random.Philox(np.random.SeedSequence(1))).integers(0, 2, 1)


def _call(module: ModuleType, name: str) -> None:
    """Call a function of a step's module, if it exists."""
    getattr(module, name, lambda: None)()


def answer(function: Step, request: bytes) -> dict[str, Any]:
    try:
        return {"response": function(json.loads(request))}
    except MemoryError:
        return {"failure": "memory"}
    except Exception as error:  # noqa: BLE001 - the parent must learn of any error in a step
        return {"failure": "error", "detail": detail_of(error)}


def detail_of(error: Exception) -> str:
    """The error, then where it was raised, innermost first: a text that is cut keeps its start."""
    raised = "".join(traceback.format_exception_only(error)).strip()[:_LONGEST_ERROR]
    frames = reversed(traceback.format_tb(error.__traceback__, limit=-_MOST_FRAMES))
    return f"{raised}\n{''.join(frames)}"[:_LONGEST_DETAIL]


def requests(descriptor: int) -> Iterator[bytes]:
    """Yield each request: a line, of which the last may have no newline."""
    kept = b""
    while part := os.read(descriptor, _CHUNK):
        *lines, kept = (kept + part).split(b"\n")
        yield from lines
    if kept:
        yield kept


def send(descriptor: int, message: dict[str, Any]) -> None:
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
