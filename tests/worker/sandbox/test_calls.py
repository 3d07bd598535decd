from __future__ import annotations

import struct

import pytest

from worker.sandbox import calls

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050002, 0x80000000
X86, ARM = 0xC000003E, 0xC00000B7
BY_NAME = {  # by each machine's own table of system calls
    "x86_64": {
        "openat": 257,
        "stat": 4,
        "socket": 41,
        "clone": 56,
        "execve": 59,
        "ptrace": 101,
        "io_uring_setup": 425,
    },
    "aarch64": {
        "openat": 56,
        "statx": 291,
        "socket": 198,
        "clone": 220,
        "execve": 221,
        "ptrace": 117,
        "kill": 129,
    },
}


def decide(machine: str, audit: int, number: int) -> int:
    """What the kernel would answer: runs the filter as the kernel does."""
    program = calls.filter_program(machine)
    assert program is not None
    lines = [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    place = word = 0
    while True:
        code, if_true, if_false, value = lines[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            word = {0: number, 4: audit}[value]
        else:
            place += if_true if word == value else if_false


@pytest.mark.parametrize(
    ("machine", "audit", "read", "write"), [("x86_64", X86, 0, 1), ("aarch64", ARM, 63, 64)]
)
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
