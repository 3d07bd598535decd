"""Limits, isolation and failures of sandboxed processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one child.

    wall_seconds: from the request to the response, by the parent's clock
    cpu_seconds: of the whole process with its start
    memory_bytes: writable memory; addresses that a library only reserves don't count
    response_bytes: size of the response
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_bytes: int = 2 * 2**30
    response_bytes: int = 64 * 2**20


COMPILE_LIMITS = Limits(wall_seconds=20.0, cpu_seconds=10, memory_bytes=2 * 2**30)

CHECK_LIMITS = Limits(wall_seconds=120.0, cpu_seconds=120, memory_bytes=4 * 2**30, response_bytes=8 * 2**20)
"""These protect the worker. An endless kernel reaches its instruction budget long before."""


class Failure(StrEnum):
    """Why there is no response, or none that helps. The submission causes the first three; others are system errors."""

    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"
    START = "start"
    ERROR = "error"
    SOLUTION = "solution"


class SandboxFailure(Exception):
    """A child gave no response. `detail` is for the log, never for a student, except about an exercise's solution."""

    def __init__(self, kind: Failure, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of a child, which it reports before it reads its request.

    calls: a filter refuses system calls for files, network and processes, which a computation doesn't need
    landlock: the Landlock version in force, 0 for none
    network: it has its own network namespace
    limits: CPU time, memory, file size, open files and core dumps are limited
    """

    calls: bool
    landlock: int
    network: bool
    limits: bool

    def missing(self) -> tuple[str, ...]:
        """The missing isolation as text; empty if a submission can reach nothing."""
        gaps = []
        if not self.calls and not self.landlock:
            gaps.append("the submission's compiler can read files of this machine")
        elif not self.calls:
            gaps.append("the submission's compiler can see which files exist on this machine")
        if not self.calls and not self.network and self.landlock < _LANDLOCK_NETWORK:
            gaps.append("the sandbox can reach the network")
        if not self.limits:
            gaps.append("memory and CPU time are not limited, only elapsed time")
        return tuple(gaps)


@dataclass(frozen=True, slots=True)
class DeviceIsolation(Isolation):
    """The isolation of a GPU process.

    calls: a filter refuses other programs, other processes, sockets and changes to files; Landlock limits opening
        files
    limits: CPU time, file size, open files and core dumps are limited; memory can't be limited
    """

    def missing(self) -> tuple[str, ...]:
        gaps = []
        if not self.landlock:
            gaps.append("the GPU process can read and change files on this machine")
        if not self.calls:
            gaps.append("the GPU process can start programs and end processes")
        if not self.calls and not self.network:
            gaps.append("the GPU process can reach the network")
        if not self.limits:
            gaps.append("the CPU time of the GPU process is not limited")
        return tuple(gaps)


_LANDLOCK_NETWORK = 4
