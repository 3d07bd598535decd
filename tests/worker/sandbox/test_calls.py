from __future__ import annotations

import struct

import pytest

from worker.sandbox.confinement import calls

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050002, 0x80000000
X86, ARM = 0xC000003E, 0xC00000B7
BY_NAME = {  # by each machine's own table of system calls
    "x86_64": {"openat": 257, "stat": 4, "socket": 41, "clone": 56, "execve": 59, "ptrace": 101, "io_uring_setup": 425},
    "aarch64": {"openat": 56, "statx": 291, "socket": 198, "clone": 220, "execve": 221, "ptrace": 117, "kill": 129},
}


REFUSED, NO_SUCH_CALL = 0x00050001, 0x00050026
PROCESS = 4711
THREAD, VFORK = 0x10F00, 0x4100
OWN = {  # clone, clone3, tgkill, prlimit64
    "x86_64": (56, 435, 234, 302),
    "aarch64": (220, 435, 131, 261),
}
DRIVER = {  # ioctl, openat, mmap, poll or ppoll, eventfd2, futex
    "x86_64": (16, 257, 9, 7, 290, 202),
    "aarch64": (29, 56, 222, 73, 19, 98),
}
FORBIDDEN = {  # execve, execveat, ptrace, process_vm_readv, process_vm_writev, kill, tkill, socket, connect, bind,
    # mount, setns, unshare, bpf, perf_event_open, keyctl, io_uring_setup, userfaultfd
    "x86_64": (59, 322, 101, 310, 311, 62, 200, 41, 42, 49, 165, 308, 272, 321, 298, 250, 425, 323),
    "aarch64": (221, 281, 117, 270, 271, 129, 130, 198, 203, 200, 40, 268, 97, 280, 241, 219, 425, 282),
}
MACHINES = pytest.mark.parametrize(("machine", "audit"), [("x86_64", X86), ("aarch64", ARM)])


def decide(machine: str, audit: int, number: int) -> int:
    """What the kernel would answer by the list of what is allowed."""
    return run(calls.filter_program(machine), audit, number)


def decide_by_denials(machine: str, audit: int, number: int, argument: int = 0) -> int:
    """What the kernel would answer by the list of what is refused."""
    return run(calls.deny_program(machine, PROCESS), audit, number, argument)


def run(program: bytes | None, audit: int, number: int, argument: int = 0) -> int:
    """Runs a filter as the kernel does."""
    assert program is not None
    lines = [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    place = word = 0
    while True:
        code, if_true, if_false, value = lines[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            word = {0: number, 4: audit, 16: argument}[value]
        else:
            true = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            place += if_true if true else if_false


@pytest.mark.parametrize(("machine", "audit", "read", "write"), [("x86_64", X86, 0, 1), ("aarch64", ARM, 63, 64)])
def test_reading_and_writing_what_is_open_is_allowed(machine, audit, read, write):
    assert decide(machine, audit, read) == ALLOW
    assert decide(machine, audit, write) == ALLOW


@pytest.mark.parametrize(("machine", "audit"), [("x86_64", X86), ("aarch64", ARM)])
def test_all_else_is_no_such_file(machine, audit):
    for number in (*BY_NAME[machine].values(), 10_000, 0x40000000):
        assert decide(machine, audit, number) == DENY


def test_calls_in_another_machines_convention_end_the_process():
    assert decide("x86_64", 0x40000003, 1) == KILL
    assert decide("aarch64", X86, 1) == KILL


def test_a_machine_that_is_not_known_gets_no_filter():
    assert calls.filter_program("riscv64") is None


@MACHINES
def test_a_driver_may_ask_for_what_it_needs(machine, audit):
    for number in DRIVER[machine]:
        assert decide_by_denials(machine, audit, number) == ALLOW


@MACHINES
def test_what_leads_out_of_the_process_is_refused(machine, audit):
    for number in FORBIDDEN[machine]:
        assert decide_by_denials(machine, audit, number) == REFUSED


@MACHINES
def test_threads_and_what_concerns_the_process_itself_are_allowed(machine, audit):
    clone, clone3, signal, limits = OWN[machine]

    assert decide_by_denials(machine, audit, clone, THREAD) == ALLOW
    assert decide_by_denials(machine, audit, clone, VFORK) == REFUSED
    assert decide_by_denials(machine, audit, clone3) == NO_SUCH_CALL
    assert decide_by_denials(machine, audit, signal, PROCESS) == ALLOW
    assert decide_by_denials(machine, audit, signal, PROCESS + 1) == REFUSED
    assert decide_by_denials(machine, audit, limits, 0) == ALLOW
    assert decide_by_denials(machine, audit, limits, PROCESS) == REFUSED


def test_no_other_convention_leads_past_the_list_of_what_is_refused():
    assert decide_by_denials("x86_64", 0x40000003, 1) == KILL
    assert decide_by_denials("aarch64", X86, 1) == KILL
    assert decide_by_denials("x86_64", X86, 0x40000000 | 520) == REFUSED
    assert calls.deny_program("riscv64", PROCESS) is None
