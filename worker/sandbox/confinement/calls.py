"""The filter for system calls (seccomp). A step only computes, so it needs few of them.

All calls that aren't listed return "no such file" before the kernel looks at a path. So a program can't find out which
files exist, neither from the answer nor from its time.

A GPU process needs many more calls, which depend on the driver. For it, the filter lists the refused calls instead.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping

# Numbers on x86-64 and on arm64. Memory, time, signals, and reading and writing of open files.
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
# Numbers on x86-64 and on arm64; -1 if the machine has no such call.
DENIED = {
    # another program, another process
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1),
    # into other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "migrate_pages": (256, 238), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    # the network, and sockets to other processes
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206),
    "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # file systems and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442), "setns": (308, 268),
    "unshare": (272, 97),
    # parts of the kernel that a computation has no use for
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, -1),
    "ioperm": (173, -1), "personality": (135, 92), "fanotify_init": (300, 262), "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    # files by number, and changes to files that Landlock doesn't cover
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "unlink": (87, -1),
    "unlinkat": (263, 35), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276),
    "mkdir": (83, -1), "mkdirat": (258, 34), "rmdir": (84, -1), "link": (86, -1), "linkat": (265, 37),
    "symlink": (88, -1), "symlinkat": (266, 36), "mknod": (133, -1), "mknodat": (259, 33),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), "truncate": (76, 45),
    "utime": (132, -1), "utimes": (235, -1), "utimensat": (280, 88), "futimesat": (261, -1),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
}  # fmt: skip
"""Calls that a GPU process is refused, with any arguments."""

PROGRAM = {
    "execve": (59, 221), "openat": (257, 56), "fstat": (5, 80), "newfstatat": (262, 79), "pread64": (17, 67),
    "arch_prctl": (158, 167), "set_tid_address": (218, 96), "set_robust_list": (273, 99), "rseq": (334, 293),
}  # fmt: skip
"""Additional calls to execute a program and to load its libraries."""

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

# These are allowed only for the process itself: threads, signals to itself, its own limits.
_CLONE, _CLONE3, _SIGNAL, _LIMITS = (56, 220), (435, 435), (234, 131), (302, 261)
_CLONE_THREAD = 0x10000

_LOAD_WORD, _JUMP_EQUAL, _JUMP_FROM, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_MACHINE, _OFFSET_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
# The x32 convention has the same calls with other numbers, which are in no list here.
_OTHER_NUMBERS = 0x40000000
_SECCOMP = (317, 277)
_MODE_FILTER, _ALL_THREADS = 1, 1

_Line = tuple[int, int, int, int]


def filter_program(machine: str, more: Mapping[str, tuple[int, int]] | None = None) -> bytes | None:
    """The filter for a machine in the kernel's format; None for an unknown machine. more: additional allowed calls."""
    if machine not in _MACHINES:
        return None
    column, audit = _MACHINES[machine]
    allowed = [numbers[column] for numbers in {**_ALLOWED, **(more or {})}.values()]
    return _packed([*_number(audit), *_sorted_out(allowed, _ALLOW, _ERRNO | errno.ENOENT)])


def deny_program(machine: str, process: int) -> bytes | None:
    """The filter for a GPU process; None for an unknown machine. process: its own number."""
    if machine not in _MACHINES:
        return None
    column, audit = _MACHINES[machine]
    denied = [numbers[column] for numbers in DENIED.values() if numbers[column] >= 0]
    lines = [
        *_number(audit),
        (_JUMP_FROM, 0, 1, _OTHER_NUMBERS),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        # a filter can't read this call's flags in memory; libraries then use the older call
        (_JUMP_EQUAL, 0, 1, _CLONE3[column]),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        *_only(_CLONE[column], _JUMP_BITS, _CLONE_THREAD),
        *_only(_SIGNAL[column], _JUMP_EQUAL, process),
        *_only(_LIMITS[column], _JUMP_EQUAL, 0),
        *_sorted_out(denied, _ERRNO | errno.EPERM, _ALLOW),
    ]
    return _packed(lines)


def _number(audit: int) -> list[_Line]:
    """Load the call's number, and kill processes of another convention, in which numbers mean other calls."""
    return [
        (_LOAD_WORD, 0, 0, _OFFSET_MACHINE),
        (_JUMP_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD_WORD, 0, 0, _OFFSET_NUMBER),
    ]


def _sorted_out(listed: Iterable[int], theirs: int, others: int) -> list[_Line]:
    """Return one answer for listed calls, and another for all others."""
    numbers = list(listed)
    jumps = [(_JUMP_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    return [*jumps, (_RETURN, 0, 0, others), (_RETURN, 0, 0, theirs)]


def _only(number: int, test: int, value: int) -> list[_Line]:
    """Allow one call only if its first argument passes a test."""
    return [
        (_JUMP_EQUAL, 0, 4, number),
        (_LOAD_WORD, 0, 0, _OFFSET_ARGUMENT),
        (test, 1, 0, value),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _packed(lines: Iterable[_Line]) -> bytes:
    return b"".join(struct.pack("HBBI", *line) for line in lines)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


def install(more: Mapping[str, tuple[int, int]] | None = None) -> bool:
    """Install the filter permanently in this process. False if the kernel refuses it.

    more: additional allowed calls
    """
    return _put(filter_program(os.uname().machine, more))


def install_denials() -> bool:
    """Install the filter for a GPU process, whose driver has already started threads."""
    return _put(deny_program(os.uname().machine, os.getpid()))


def _put(program: bytes | None) -> bool:
    """Install a filter in all threads, also in libraries' threads."""
    if program is None:
        return False
    column, _ = _MACHINES[os.uname().machine]
    wanted = _Program(len(program) // 8, program)
    done: int = ctypes.CDLL(None).syscall(_SECCOMP[column], _MODE_FILTER, _ALL_THREADS, ctypes.byref(wanted))
    return done == 0
