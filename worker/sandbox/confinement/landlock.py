"""Landlock: a process gives up files and network. It is the second lock, after the filter on system calls."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BENEATH = 1
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_TRUNCATE, _TRUNCATE_SINCE = 1 << 14, 3
_DRIVE, _DRIVE_SINCE = 1 << 15, 5
_ASK_VERSION = 1
# The number of file rights in each version. Rights that a ruleset names and doesn't grant are refused.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_NEWEST = 16
_NETWORK_RIGHTS, _NETWORK_SINCE = 2, 4
_SCOPES, _SCOPES_SINCE = 2, 6


def version(libc: ctypes.CDLL) -> int:
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def give_up_everything(
    *,
    programs: Iterable[str] = (),
    readable: Iterable[str] = (),
    folders: Iterable[str] = (),
    writable: Iterable[str] = (),
) -> int:
    """Permanently give up all files and TCP. Returns the version in force, 0 for none.

    Applies to the calling thread and the threads that it starts.

    programs: files that stay readable and executable
    readable: files, or folders of files, that stay readable
    folders: folders that stay readable and listable, with all below them
    writable: device nodes, or folders of files, that stay open for reading, writing and control calls
    """
    libc = ctypes.CDLL(None)
    known = version(libc)
    if not known:
        return 0
    rules = _rules(known)
    ruleset = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return 0
    kept = {
        **dict.fromkeys(readable, _READ),
        **dict.fromkeys(folders, _READ | _LIST),
        **dict.fromkeys(programs, _READ | _EXECUTE),
        **dict.fromkeys(writable, _read_and_write(known)),
    }
    # A ruleset with a missing rule would stop the program later, with an unclear error.
    if not all(_keep(libc, ruleset, path, rights) for path, rights in kept.items()):
        return 0
    return known if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0


def _read_and_write(known: int) -> int:
    """All rights to an open file that this version knows."""
    rights = _READ | _WRITE
    rights |= _TRUNCATE if known >= _TRUNCATE_SINCE else 0
    return rights | (_DRIVE if known >= _DRIVE_SINCE else 0)


def _keep(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> bool:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return bool(libc.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, place), 0) == 0)
    finally:
        os.close(place)


def _rules(known: int) -> bytes:
    """A ruleset that names every right of that version and grants none."""
    rules = struct.pack("Q", (1 << _FILE_RIGHTS.get(known, _FILE_RIGHTS_NEWEST)) - 1)
    if known >= _NETWORK_SINCE:
        rules += struct.pack("Q", (1 << _NETWORK_RIGHTS) - 1)
    if known >= _SCOPES_SINCE:
        rules += struct.pack("Q", (1 << _SCOPES) - 1)
    return rules
