"""The filter on system calls (seccomp): a step computes on what it has, so it needs almost none of them.

Whatever is not listed answers "no such file", before the kernel looks at a path. So a file that exists, one that
does not, a pipe and a forbidden one cannot be told apart, neither by the answer nor by the time it takes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Mapping

# Numbers on x86-64 and on arm64. Memory, time, signals, and reading and writing what is open already.
_ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "lseek": (8, 62),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233), "futex": (202, 98), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128),
    "getpid": (39, 172), "gettid": (186, 178), "getcwd": (79, 17),
    "getrusage": (98, 165), "sysinfo": (99, 179), "uname": (63, 160),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
PROGRAM = {
    "execve": (59, 221), "openat": (257, 56), "fstat": (5, 80), "newfstatat": (262, 79), "pread64": (17, 67),
    "arch_prctl": (158, 167), "set_tid_address": (218, 96), "set_robust_list": (273, 99), "rseq": (334, 293),
}  # fmt: skip
"""What a process needs beside the rest to become another program and to load its libraries."""

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD_WORD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_OFFSET_NUMBER, _OFFSET_MACHINE = 0, 4
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def filter_program(machine: str, more: Mapping[str, tuple[int, int]] | None = None) -> bytes | None:
    """The filter for a machine as the kernel reads it; None where its numbers are not known here."""
    if machine not in _MACHINES:
        return None
    column, audit = _MACHINES[machine]
    numbers = [numbers[column] for numbers in {**_ALLOWED, **(more or {})}.values()]
    program = [
        (_LOAD_WORD, 0, 0, _OFFSET_MACHINE),
        (_JUMP_EQUAL, 1, 0, audit),
        # calls of another machine's convention would be read by the wrong numbers
        (_RETURN, 0, 0, _KILL),
        (_LOAD_WORD, 0, 0, _OFFSET_NUMBER),
        *((_JUMP_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ERRNO | errno.ENOENT),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in program)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


def install(more: Mapping[str, tuple[int, int]] | None = None) -> bool:
    """Put the filter on this process for good; False where the kernel does not take it.

    more: calls that are allowed beside the usual ones
    """
    program = filter_program(os.uname().machine, more)
    if program is None:
        return False
    wanted = _Program(len(program) // 8, program)
    done: int = ctypes.CDLL(None).prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(wanted), 0, 0)
    return done == 0
