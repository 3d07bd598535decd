"""What an error of CUDA says about the kernel. Errors of the machine say nothing about it."""

from __future__ import annotations

from worker.gpu.backend import FaultKind

_FAULTS = {
    700: FaultKind.ADDRESS,  # illegal address
    717: FaultKind.ADDRESS,  # an address outside the instruction's address space
    710: FaultKind.TRAP,  # assert
    715: FaultKind.TRAP,  # illegal instruction, the error of a trap on some devices
    719: FaultKind.TRAP,  # unspecified launch failure, the error of a trap on other devices
    702: FaultKind.TIME,  # launch timeout
    714: FaultKind.OTHER,  # hardware stack error
    716: FaultKind.OTHER,  # misaligned address
    718: FaultKind.OTHER,  # invalid program counter
    721: FaultKind.OTHER,  # memory of tensor cores that the kernel didn't free
    1: FaultKind.RESOURCES,  # invalid value in the launch configuration
    2: FaultKind.RESOURCES,  # out of memory
    9: FaultKind.RESOURCES,  # invalid configuration
    701: FaultKind.RESOURCES,  # too many resources requested
    720: FaultKind.RESOURCES,  # too many blocks for a cooperative launch
    912: FaultKind.RESOURCES,  # invalid cluster size
}
# Not initialized, out of operation, stub library, old driver, device unavailable, no such device, no license, no
# context, broken memory (214, 226) or link (220), no such operation of the host (304, 400), a lost context, no
# permission, a system that isn't ready or doesn't fit the driver, MPS, and an unknown error.
_MACHINE = frozenset(
    {3, 4, 34, 35, 46, 100, 101, 102, 201, 214, 220, 226, 304, 400, 709, 800, 802, 803, 804, 999}
)
_MPS = range(805, 812)


def fault_kind(status: int, otherwise: FaultKind | None = None) -> FaultKind | None:
    """How a kernel failed; None for an error that no kernel can cause.

    otherwise: what other errors mean. They come from the kernel if it was just loaded or launched
    """
    if status in _MACHINE or status in _MPS:
        return None
    return _FAULTS.get(status, otherwise)
