"""What a step may use, what keeps it in, and how it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one child.

    wall_seconds: from the request to the response, by the parent's clock
    cpu_seconds: of the whole process, its start included
    memory_bytes: of memory that the process can write to; addresses that a library only reserves do not count
    response_bytes: of the one response
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_bytes: int = 2 * 2**30
    response_bytes: int = 64 * 2**20


COMPILE_LIMITS = Limits(wall_seconds=20.0, cpu_seconds=10, memory_bytes=2 * 2**30)

CHECK_LIMITS = Limits(wall_seconds=120.0, cpu_seconds=120, memory_bytes=4 * 2**30, response_bytes=8 * 2**20)
"""Guards us, not the student: an endless kernel ends by its instruction budget long before."""


class Failure(StrEnum):
    """Why there is no response: the first three are the submission's doing, the last two are ours."""

    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"
    START = "start"
    ERROR = "error"


class SandboxFailure(Exception):
    """A child gave no response. `detail` is for the log, never for a student."""

    def __init__(self, kind: Failure, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Isolation:
    """What holds a child in, as the child itself found it before it read its request.

    calls: a filter refuses every system call that a computation does not need: files, network, processes
    landlock: the kernel's Landlock version in force, 0 for none
    network: in a network namespace of its own
    limits: CPU time, memory, file size, open files and core dumps are limited
    """

    calls: bool
    landlock: int
    network: bool
    limits: bool

    def missing(self) -> tuple[str, ...]:
        """What is not enforced, in words; empty where nothing is open to the submission."""
        gaps = []
        if not self.calls and not self.landlock:
            gaps.append("the submission's compiler can read files of this machine")
        elif not self.calls:
            gaps.append("the submission's compiler can find out which files exist on this machine")
        if not self.calls and not self.network and self.landlock < _LANDLOCK_NETWORK:
            gaps.append("the network is reachable from the sandbox")
        if not self.limits:
            gaps.append("memory and CPU time are not limited, only the time by the clock")
        return tuple(gaps)


@dataclass(frozen=True, slots=True)
class DeviceIsolation(Isolation):
    """The same for a process that drives a GPU.

    calls: a filter refuses other programs, other processes, sockets and changes to files; opening files it leaves to
        Landlock
    limits: CPU time, file size, open files and core dumps are limited; memory cannot be
    """

    def missing(self) -> tuple[str, ...]:
        """What is not enforced, in words."""
        gaps = []
        if not self.landlock:
            gaps.append("the process that runs kernels on the GPU can read and change files of this machine")
        if not self.calls:
            gaps.append("the process that runs kernels on the GPU can start programs and end processes")
        if not self.calls and not self.network:
            gaps.append("the network is reachable from the process that runs kernels on the GPU")
        if not self.limits:
            gaps.append("the CPU time of the process that runs kernels on the GPU is not limited")
        return tuple(gaps)


_LANDLOCK_NETWORK = 4
