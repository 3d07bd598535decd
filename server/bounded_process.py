"""A process that works on people's texts until it is ended. See server.bounded_work.

Its arguments are modules to load first. A request is a line of JSON: a module, its function, the function's arguments,
and seconds of processor time. The system ends a process that uses more. It can do so in the middle of a
search, too, which a thread can't.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

_MEMORY_BYTES = 2 * 2**30


def main() -> None:
    """Answer requests until the input ends, which is also when the portal's process has ended."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # only answers go there
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, for the whole group
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    for module in sys.argv[1:]:
        importlib.import_module(module)
    for line in sys.stdin.buffer:
        module, name, given, seconds = json.loads(line)
        function = getattr(importlib.import_module(module), name)
        answers.write(_bounded(function, given, seconds) + b"\n")


def _bounded(function: Callable[..., Any], given: list[Any], seconds: float) -> bytes:
    """The answer as JSON. Ends the process if the function needs too much time or memory."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        answer = json.dumps(function(*given)).encode()
        key = b"value"
    except MemoryError:
        os.kill(os.getpid(), signal.SIGPROF)
        raise
    except Exception:  # noqa: BLE001 - raised again in the portal
        key, answer = b"failure", json.dumps(traceback.format_exc()).encode()
    signal.setitimer(signal.ITIMER_PROF, 0)
    return b'{"%b": %b, "seconds": %.6f}' % (key, answer, time.process_time() - began)


if __name__ == "__main__":
    main()
