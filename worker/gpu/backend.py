"""The interface of a device for judging and timing: memory, launches, and a clock.

There are two: a GPU through CuPy, and the CPU device, which tests everything except the GPU itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from kernels.exercise.product_types import ProductTypes
from kernels.exercise.tensor_map import TensorMap
from kernels.exercise.values import ElementType
from kernels.launch import Launch
from kernels.measurement import Clocks, Environment

GUARD_WORDS = 16_384
"""Words before and after guarded memory: 64 KiB each."""


class FaultKind(StrEnum):
    """How a launch can fail."""

    ADDRESS = "address"  # a memory access that the device refuses
    TRAP = "trap"  # the kernel stopped itself: trap, assert
    TIME = "time"  # still running after its time limit
    RESOURCES = "resources"  # never started: the launch needs too much; the device stays usable
    UNSUPPORTED = "unsupported"  # never started: the kernel needs a feature that isn't there; the device stays usable
    OTHER = "other"  # anything else that a kernel can cause


class DeviceFault(Exception):
    """A launch failed. detail: the driver's message, for the log."""

    def __init__(self, kind: FaultKind, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind
        self.detail = detail

    @property
    def lost(self) -> bool:
        return self.kind not in {FaultKind.RESOURCES, FaultKind.UNSUPPORTED}


@dataclass(frozen=True, slots=True)
class Memory:
    """Device memory in words of 32 bits. place: its address on a GPU."""

    place: int
    words: int


@dataclass(frozen=True, slots=True)
class Code:
    """One compilation: a GPU runs the cubin, the CPU device the PTX."""

    ptx: str
    cubin: bytes


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a loaded module. handle: private to the backend."""

    entry: str
    handle: Any


@dataclass(frozen=True, slots=True)
class Timed:
    """The duration of one launch, or of several in a row.

    ms: between two events of the device
    host_ms: by the host's clock, from before the first event until the second was seen
    """

    ms: float
    host_ms: float


@dataclass(frozen=True, slots=True)
class Used:
    """The resources of a loaded kernel, from the driver."""

    registers: int
    shared_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """A tensor map, and the memory of its tensor."""

    map: TensorMap
    memory: Memory


@dataclass(frozen=True, slots=True)
class Product:
    """A product of row-major matrices, for the device's library. shape: rows, inner and columns."""

    types: ProductTypes
    shape: tuple[int, int, int]
    left: Memory
    right: Memory
    out: Memory


_LIBRARY_RESULTS = {
    ElementType.FLOAT: {ElementType.FLOAT},
    ElementType.DOUBLE: {ElementType.DOUBLE},
    ElementType.HALF: {ElementType.FLOAT, ElementType.HALF},
    ElementType.BFLOAT: {ElementType.FLOAT},
    ElementType.CHAR: {ElementType.INT},
}
_LIBRARY_WORD = 4


def in_library(types: ProductTypes, shape: tuple[int, int, int]) -> bool:
    """Whether the library can multiply such matrices. Rows of bytes must be whole words."""
    known = types.left is types.right and types.result in _LIBRARY_RESULTS.get(types.left, ())
    return known and (types.left.bytes > 1 or not any(extent % _LIBRARY_WORD for extent in shape))


Argument = Memory | int | float | Mapped


@dataclass(frozen=True, slots=True)
class Call:
    """One launch of a kernel."""

    kernel: Kernel
    launch: Launch
    arguments: tuple[Argument, ...]


class Backend(Protocol):
    """One device, which runs all operations in order.

    Only `read`, `wait` and `timed` wait for them. These three raise DeviceFault if an earlier operation failed.
    """

    @property
    def environment(self) -> Environment:
        """The device and its software."""

    def take(self, words: int, *, guarded: bool = False) -> Memory:
        """Memory until `release`, aligned to 512 bytes and not initialised.

        guarded: with GUARD_WORDS of unused memory before and after it
        raise (DeviceFault): RESOURCES if there is too little memory
        """

    def guards(self, memory: Memory) -> tuple[Memory, Memory]:
        """The guard zones of guarded memory."""

    def release(self) -> None: ...

    def reset(self) -> None:
        """Unload all modules, and release all memory and overwrite it. So nothing is left of the kernels that ran."""

    def fill(self, memory: Memory, word: int) -> None: ...

    def write(self, memory: Memory, values: NDArray[Any]) -> None:
        """Copy an array of 4-byte or 8-byte numbers to the device."""

    def read(self, memory: Memory) -> NDArray[Any]: ...

    def load(self, code: Code, entry: str) -> Kernel:
        """A kernel of a module. Each `code` object is loaded once, so that its variables keep their values.

        raise (DeviceFault): RESOURCES or UNSUPPORTED if the device refuses the module
        """

    def variable(self, kernel: Kernel, name: str) -> Memory:
        """A variable of the kernel's module, by its mangled name."""

    def used(self, kernel: Kernel) -> Used: ...

    def blocks_per_multiprocessor(self, kernel: Kernel, threads: int, shared: int) -> int:
        """The number of blocks that fit, from the driver."""

    def launch(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        """Start one of the judge's own kernels, which always ends."""

    def timed(
        self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], seconds: float, then: Sequence[Call] = ()
    ) -> Timed:
        """Run a kernel with empty caches and wait for its end. Raises DeviceFault, with TIME after `seconds`.

        No persisting lines are left in a cache.

        then: launches that follow at once; their time counts, too
        """

    def multiply(self, product: Product) -> Timed:
        """Multiply with the device's library and empty caches, timed. Floats keep their full precision."""

    def load_library(self, product: Product) -> None:
        """Let the library load what it needs for the first product of this kind, without waiting."""

    def wait(self) -> None: ...

    def clocks(self) -> Clocks:
        """The current clock, temperature and power, and reasons for a low clock."""

    def busy_ms(self) -> float:
        """The device's busy time for this process so far, by its own events."""
