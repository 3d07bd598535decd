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
    701: FaultKind.RESOURCES,  # too many resources requested
    720: FaultKind.RESOURCES,  # too many blocks for a cooperative launch
    912: FaultKind.RESOURCES,  # invalid cluster size
}
_DRIVER = {3, 4, 34, 35, 803, 804}  # not started, ended, or of the wrong version
_NO_DEVICE = {46, 100, 101, 102, 800, 802}  # busy, missing, not licensed, not permitted, or not ready
_CONTEXT = {201, 304, 400, 709, 999}  # lost, or an unknown error
# The compiler and the judge make the file that is loaded, for the worker's own device.
_FILE = {200, 209, 218, 222, 223, 225, 500}
_BROKEN = {214, 220, 226}  # memory or a link
_MPS = {*range(805, 812)}  # the service that shares a device
_MACHINE = _DRIVER | _NO_DEVICE | _CONTEXT | _FILE | _BROKEN | _MPS
_OF_LAUNCH = {1, 2, 9}  # invalid values, or too little memory


def fault_kind(status: int, otherwise: FaultKind | None = None) -> FaultKind | None:
    """How a kernel failed; None for an error that no kernel can cause.

    otherwise: what other errors mean. They come from the kernel if it was just loaded or launched
    """
    if status in _MACHINE:
        return None
    if status in _OF_LAUNCH and otherwise is not None:
        return FaultKind.RESOURCES
    return _FAULTS.get(status, otherwise)
