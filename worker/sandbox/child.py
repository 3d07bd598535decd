"""The child's side: warm up, give up everything, say so, read one request, answer once.

Started as `python -I -S -c <bootstrap>` by worker.sandbox.process; `-S` leaves out the search for site packages,
which takes longer than the rest of the interpreter's start.
"""

from __future__ import annotations

import importlib
import json
import os
import traceback
from collections.abc import Callable
from typing import Any

from worker.sandbox import lockdown

# Each step: its module and its function. A `warm_up` in the module loads all that the function will need: after the
# lock nothing can be loaded.
STEPS = {
    "compile": ("worker.sandbox.compile_step", "compile_step"),
    "check": ("worker.steps", "check_step"),
    "analyze": ("worker.analysis_step", "analysis_step"),
}
_CHUNK = 2**20

Step = Callable[[dict[str, Any]], dict[str, Any]]


def main(step: str, parent: int, answers: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Run one step and end the process.

    Writes two lines of JSON to `answers`: what confines the child, before it reads its request; then the answer.
    """
    lockdown.die_with(parent)
    network = lockdown.leave_network()
    function = _load(step)
    limits = lockdown.limit(cpu_seconds, memory_bytes)
    calls, landlock = lockdown.close_files_and_calls()
    _send(answers, {"calls": calls, "landlock": landlock, "network": network, "limits": limits})
    _send(answers, _answer(function, _read(0)))
    os._exit(0)


def _load(step: str) -> Step:
    module_name, name = STEPS[step]
    module = importlib.import_module(module_name)
    getattr(module, "warm_up", lambda: None)()
    function: Step = getattr(module, name)
    return function


def _answer(function: Step, request: bytes) -> dict[str, Any]:
    if not request:
        os._exit(0)
    try:
        return {"response": function(json.loads(request))}
    except MemoryError:
        return {"failure": "memory"}
    except Exception:  # noqa: BLE001 - the parent must learn of any fault in a step
        return {"failure": "error", "detail": traceback.format_exc(limit=-8)[-4000:]}


def _read(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _send(descriptor: int, message: dict[str, Any]) -> None:
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
