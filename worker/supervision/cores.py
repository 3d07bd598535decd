"""The processor's cores: their number, and priorities of processes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

_NICENESS = 5


def cores() -> int:
    """The number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def step_back() -> None:
    """Lower the priority of this thread and its child processes, so that GPU processes run first."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(now, _NICENESS))
