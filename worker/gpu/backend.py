"""What judging and timing need of a device: memory, launches, and a clock.

Two stand behind it: a GPU through CuPy, and the CPU device, with which everything but the GPU itself is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from kernels.launch import Launch
from kernels.measurement import Clocks, Environment

GUARD_WORDS = 16_384
"""Words in front of guarded memory and behind it: 64 KiB each."""


class FaultKind(StrEnum):
    """How a launch can end badly."""

    ADDRESS = "address"  # a memory access that the device refuses
    TRAP = "trap"  # the kernel stopped itself: trap, assert
    TIME = "time"  # still running when its time was over
    RESOURCES = "resources"  # never started: the launch asks for too much; the device goes on
    OTHER = "other"  # anything else that a kernel can cause


class DeviceFault(Exception):
    """A launch ended badly. After anything but RESOURCES, nothing else can be done with the device in this process.

    detail: the driver's words, for a log
    """

    def __init__(self, kind: FaultKind, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Memory:
    """A piece of device memory, in words of 32 bits. `place` is its address on a GPU."""

    place: int
    words: int


@dataclass(frozen=True, slots=True)
class Code:
    """One compilation: a GPU runs the cubin, the CPU device the PTX."""

    ptx: str
    cubin: bytes


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a loaded module. `handle` is the backend's own."""

    entry: str
    handle: Any


@dataclass(frozen=True, slots=True)
class Timed:
    """How long one launch took.

    ms: between two events of the device
    host_ms: by the host's clock, from before the first event to after the second was seen
    """

    ms: float
    host_ms: float


@dataclass(frozen=True, slots=True)
class Used:
    """What a loaded kernel takes, as the driver says."""

    registers: int
    shared_bytes: int
    local_bytes: int


Argument = Memory | int | float


class Backend(Protocol):
    """One device, used by one job. All work is done in the order in which it is asked for; only `read`, `wait` and
    `timed` wait for it. Each of these three raises DeviceFault where something that came before failed.
    """

    @property
    def environment(self) -> Environment:
        """The device and the software that drives it."""

    def take(self, words: int, *, guarded: bool = False) -> Memory:
        """Memory, until `release`; its content is whatever was there. Aligned to 512 bytes.

        guarded: with GUARD_WORDS in front of it and behind it that belong to nobody else
        raise (DeviceFault): RESOURCES, where there is not as much
        """

    def guards(self, memory: Memory) -> tuple[Memory, Memory]:
        """The guard zones of guarded memory."""

    def release(self) -> None: ...

    def fill(self, memory: Memory, word: int) -> None: ...

    def write(self, memory: Memory, values: NDArray[Any]) -> None:
        """Copy an array of 4-byte or 8-byte numbers to the device."""

    def read(self, memory: Memory) -> NDArray[Any]: ...

    def load(self, code: Code, entry: str) -> Kernel:
        """A kernel of a module. The same `code` object is loaded once, so that its variables live on.

        raise (DeviceFault): RESOURCES, where the device does not take the module
        """

    def variable(self, kernel: Kernel, name: str) -> Memory:
        """A variable of the kernel's module, by its mangled name."""

    def used(self, kernel: Kernel) -> Used: ...

    def blocks_per_multiprocessor(self, kernel: Kernel, threads: int, shared: int) -> int:
        """The driver's own answer to how many blocks fit."""

    def launch(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        """Start one of the judge's own kernels, which is known to end."""

    def timed(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], seconds: float) -> Timed:
        """Run a kernel and wait until it has ended; raises DeviceFault, with TIME where that takes over `seconds`."""

    def multiply(
        self, left: Memory, right: Memory, out: Memory, rows: int, inner: int, columns: int
    ) -> Timed:
        """The product of two row-major matrices by the device's own library, in full single precision, timed."""

    def flush(self) -> None:
        """Empty the caches of what the next launch could find there, and take back any part set aside to persist."""

    def wait(self) -> None: ...

    def clocks(self) -> Clocks:
        """Clock, temperature, power and what holds the clock down, now."""

    def busy_ms(self) -> float:
        """How long the device has been at work for this process so far, by its own events."""
