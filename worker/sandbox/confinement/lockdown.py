"""The lockdown of a child, which permanently gives up all rights that its step doesn't need."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from collections.abc import Iterable

from worker.sandbox.confinement import calls, landlock
from worker.supervision.children import die_with

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAPABILITIES_VERSION, _MOST_CAPABILITIES = 0x20080522, 64
_READ_SEARCH, _KILL, _SETGID, _SETUID = 2, 5, 6, 7
_FIRST_ID = 0x70000000
"""First user ID for children of root, one for each process. Systems and containers assign only lower IDs."""

_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_FILE_BYTES, _OPEN_FILES, _STACK_BYTES = 2**20, 64, 64 * 2**20
# A GPU's driver keeps a file open for every part of the device that it maps.
_OPEN_FILES_OF_A_DRIVER = 1024


def offer_to_be_killed() -> None:
    """Let the kernel kill this process first if memory runs out, instead of the worker or the database."""
    with contextlib.suppress(OSError):
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")
        os.close(score)


def leave_network() -> bool:
    """Move to an empty network namespace, before any thread starts. False if that isn't permitted."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None).unshare
    return bool(unshare(_CLONE_NEWNET) == 0 or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def limit(cpu_seconds: int, memory_bytes: int) -> bool:
    """Set the limits, soft and hard alike, because the compiler raises its soft limit to the hard one.

    Memory has two limits. RLIMIT_DATA counts writable private pages, without addresses that a library only reserves.
    RLIMIT_AS counts all addresses, so it starts from the current number. It also bounds shared pages and stacks. On
    systems that apply RLIMIT_DATA only to the heap, it bounds everything.
    """
    wanted = _limits(cpu_seconds) | {resource.RLIMIT_NOFILE: _OPEN_FILES}
    if sys.platform == "linux":
        wanted[resource.RLIMIT_DATA] = memory_bytes
        wanted[resource.RLIMIT_AS] = _addresses_taken() + memory_bytes
    return _set(wanted)


def _addresses_taken() -> int:
    """Bytes of addresses that this process has mapped; 0 if unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as pages:  # noqa: PTH123 - not worth a Path
            return int(pages.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def limit_all_but_memory(cpu_seconds: int) -> bool:
    """Set the limits of a GPU process, whose driver takes far more address space than there is memory."""
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
    """Give up files, network and processes. Returns whether the call filter is in force, and the Landlock version."""
    if not _forgo_privileges():
        return False, 0
    _become_nobody()
    known = landlock.give_up_everything()
    return calls.install(), known


def close_all_but(programs: Iterable[str], readable: Iterable[str]) -> tuple[bool, int]:
    """Give up all rights that the next program of this process doesn't need.

    The call filter can't check paths, so only Landlock protects files. If its version is 0, don't continue.

    programs: files that stay readable and executable
    readable: files, or folders of files, that stay readable
    """
    if not _forgo_privileges():
        return False, 0
    # keep the user and this right, because other users may be unable to read the program and its libraries
    _drop_capabilities(_READ_SEARCH)
    known = landlock.give_up_everything(programs=programs, readable=readable)
    return calls.install(calls.PROGRAM), known


def close_files_before_start(readable: Iterable[str], folders: Iterable[str], nodes: Iterable[str]) -> int:
    """Give up all files that a GPU's driver doesn't need to start. Returns the Landlock version.

    Call it while there is only one thread, so that it also applies to the driver's threads.

    nodes: device nodes that stay available
    """
    if not _alone() or not _forgo_privileges():
        return 0
    return landlock.give_up_everything(readable=readable, folders=folders, writable=nodes)


def close_after_start(readable: Iterable[str], nodes: Iterable[str]) -> tuple[bool, int]:
    """Give up the rights for the start. Returns whether the call filter is in force, and the Landlock version."""
    if not _forgo_privileges():
        return False, 0
    known = landlock.give_up_everything(readable=readable, writable=nodes)
    return calls.install_denials(), known


def _alone() -> bool:
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - a child imports as little as it can
    except OSError:
        return False


def _forgo_privileges() -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    # Without this, only root may install a call filter or Landlock's rules.
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    # Other processes of this user can't attach to it or read its memory.
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return True


def _become_nobody() -> None:
    """Give up root, if this is root, and every capability. Call it after all files are loaded."""
    if os.getuid() == 0 and _has_capabilities(_KILL, _SETGID, _SETUID):  # without the first, our parent couldn't end us
        parent, own = os.getppid(), _FIRST_ID + os.getpid()
        with contextlib.suppress(OSError):  # a user namespace may know no such user
            os.setgroups([])
            os.setresgid(own, own, own)
            os.setresuid(own, own, own)
        die_with(parent)  # the kernel forgets it when the user changes
    _drop_capabilities()


def _drop_capabilities(kept: int | None = None) -> None:
    """Give up every capability for good, also for programs that this process executes.

    kept: a capability to keep if the process has it
    """
    libc = ctypes.CDLL(None)
    for number in range(_MOST_CAPABILITIES):
        if number != kept and libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    left = 1 << kept if kept is not None and _has_capabilities(kept) else 0
    libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)(left, left))


def _has_capabilities(*numbers: int) -> bool:
    """Whether the process has all of these capabilities, which are among the first 32."""
    found = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), found) != 0:
        return False
    return all(found[0] >> number & 1 for number in numbers)
