"""Becomes another program that is killed when its parent dies; run as a script by tests/services/tethered.py.

Arguments: the parent's process number, the signal that its death sends, a user's name or "-", and the command.

Root gives up being root for a user's name, because PostgreSQL refuses to run as root, and keeps one thing: the right to
pass folders that only root may enter. Tests keep their files in such a folder, and an environment may lie in one.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS = 1, 8
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 1 << 2
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


def become(name: str) -> None:
    """Turn from root into a user, for good."""
    user = pwd.getpwnam(name)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        # without it, access(2) answers a user as though he had no capability, and PostgreSQL asks it for its programs
        libc.prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    if sys.platform == "linux":
        keep_access()


def keep_access() -> None:
    """Hold on to the one capability, also past exec; where root lacks it too, the program goes without."""
    libc = ctypes.CDLL(None)
    mask = 1 << _CAP_DAC_OVERRIDE
    # effective, permitted and inheritable, first for capabilities 0 to 31, then for the others
    sets = struct.pack("6I", mask, mask, mask, 0, 0, 0)
    if libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), sets) == 0:
        libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)


def main() -> None:
    parent, death, name, *command = sys.argv[1:]
    if name != "-":
        become(name)
    # after the change of user, which would undo it
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the process that wanted this one is gone")
    # Python ignores these, and what is ignored stays so
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
