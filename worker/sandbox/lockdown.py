"""How a child gives up, in its own process and for good, all that its step does not need."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterable

from worker.sandbox import calls, landlock

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_FILE_BYTES, _OPEN_FILES, _STACK_BYTES = 2**20, 64, 64 * 2**20
# A GPU's driver keeps one open for every piece of the device that it maps.
_OPEN_FILES_OF_A_DRIVER = 1024


def die_with(parent: int) -> None:
    """Be killed as soon as the parent is gone; end now where it is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def leave_network() -> bool:
    """Move to an empty network namespace; False where that is not permitted. Before any thread is started."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None).unshare
    return bool(unshare(_CLONE_NEWNET) == 0 or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def limit(cpu_seconds: int, memory_bytes: int) -> bool:
    """Set the limits; soft and hard are the same, because the compiler raises its own to the hard one."""
    wanted = _limits(cpu_seconds) | {resource.RLIMIT_NOFILE: _OPEN_FILES}
    if sys.platform == "linux":
        wanted[resource.RLIMIT_AS] = memory_bytes
    return _set(wanted)


def limit_all_but_memory(cpu_seconds: int) -> bool:
    """The same for a process that drives a GPU, whose driver takes far more address space than there is memory."""
    return _set(_limits(cpu_seconds) | {resource.RLIMIT_NOFILE: _OPEN_FILES_OF_A_DRIVER})


def _limits(cpu_seconds: int) -> dict[int, int]:
    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_STACK: _STACK_BYTES,
        resource.RLIMIT_CPU: cpu_seconds,
    }


def _set(wanted: dict[int, int]) -> bool:
    try:
        for which, bound in wanted.items():
            resource.setrlimit(which, (bound, bound))
    except (OSError, ValueError):
        return False
    return sys.platform == "linux"


def close_files_and_calls() -> tuple[bool, int]:
    """Give up files, network and processes: whether the call filter is in force, and the Landlock version."""
    if not _forgo_privileges():
        return False, 0
    known = landlock.give_up_everything()
    return calls.install(), known


def close_all_but(programs: Iterable[str], readable: Iterable[str]) -> tuple[bool, int]:
    """The same for a process that becomes another program: what that one needs stays open.

    The filter cannot look at paths, so without Landlock nothing holds the files: where the version is 0, do not go on.

    programs: files that may be read and executed
    readable: files that may be read, or folders whose files may
    """
    if not _forgo_privileges():
        return False, 0
    known = landlock.give_up_everything(programs=programs, readable=readable)
    return calls.install(calls.PROGRAM), known


def close_files_before_start(readable: Iterable[str], folders: Iterable[str], nodes: Iterable[str]) -> int:
    """Give up all files but what a GPU's driver reads as it starts; the Landlock version.

    While there is one thread only: those that the driver starts are then held in as well.

    nodes: device nodes that may be opened
    """
    if not _alone() or not _forgo_privileges():
        return 0
    return landlock.give_up_everything(readable=readable, folders=folders, writable=nodes)


def close_after_start(readable: Iterable[str], nodes: Iterable[str]) -> tuple[bool, int]:
    """Give up what only the start needed: whether the call filter is in force, and the Landlock version."""
    if not _forgo_privileges():
        return False, 0
    known = landlock.give_up_everything(readable=readable, writable=nodes)
    return calls.install_denials(), known


def _alone() -> bool:
    """Whether this process has one thread."""
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - a child imports as little as it can
    except OSError:
        return False


def _forgo_privileges() -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return True
