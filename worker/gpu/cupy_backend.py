"""A GPU behind the backend's interface, through CuPy. For a runner process only: importing this makes a CUDA context.

No memory of the host is pinned or mapped: nothing that a kernel could reach lies there.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import driver, runtime
from cupy_backends.cuda.libs import cublas
from numpy.typing import NDArray

from kernels.launch import Launch
from kernels.measurement import Clocks, Environment
from worker.gpu.backend import (
    GUARD_WORDS,
    Argument,
    Code,
    DeviceFault,
    FaultKind,
    Kernel,
    Memory,
    Timed,
    Used,
)
from worker.gpu.device_class import device_class
from worker.gpu.nvml import ClockReader, gpus

_ALIGNMENT = 512
# As memory of its own would lie: where matrices lie in the second-level cache, and so how quick it is, follows from it.
_LARGE_BYTES, _LARGE_ALIGNMENT = 2**20, 2 * 2**20
# Enough for two products at 4096, guards included; at most a sixteenth of a small device.
_ARENA_BYTES = 640 * 2**20
_ARENA_SHARE = 16
# What is written to empty the second-level cache, in caches. The time that this takes is also what the host has to
# start a launch behind it: were the device to wait for that, the wait would be measured.
_FLUSH_CACHES = 4
# A launch that takes longer is looked at less often: a core that spins is one that another job cannot have.
_SPIN_SECONDS = 0.01
_NAP_SECONDS = 0.0001

_NOT_READY = 600
_FAULTS = {
    700: FaultKind.ADDRESS,  # illegal address
    717: FaultKind.ADDRESS,  # an address outside the space that the instruction is for
    710: FaultKind.TRAP,  # assert
    715: FaultKind.TRAP,  # illegal instruction, which is how a trap shows on some devices
    719: FaultKind.TRAP,  # unspecified launch failure, which is how it shows on others
    714: FaultKind.OTHER,  # the hardware's stack is at its end
    716: FaultKind.OTHER,  # an address that is not aligned
    718: FaultKind.OTHER,  # the program counter has left the program
    1: FaultKind.RESOURCES,  # a launch configuration that cannot be
    2: FaultKind.RESOURCES,  # out of memory
    9: FaultKind.RESOURCES,  # invalid configuration
    701: FaultKind.RESOURCES,  # too many resources requested
}
_REGISTERS, _SHARED, _LOCAL = 4, 1, 3  # CU_FUNC_ATTRIBUTE_NUM_REGS, _SHARED_SIZE_BYTES, _LOCAL_SIZE_BYTES
_PERSISTING_LIMIT = 6  # cudaLimitPersistingL2CacheSize
_PAGEABLE_ACCESS = 88  # cudaDevAttrPageableMemoryAccess
_TO_DEVICE, _TO_HOST = 1, 2
_STREAM = 0


class BrokenDevice(RuntimeError):
    """An error that no kernel causes, such as of memory that is broken; the text has CUDA's number for it."""


@dataclass(frozen=True, slots=True)
class _Handle:
    module: int
    function: int


def open_driver() -> None:
    """The first half of a start: the driver is there, and no context is made yet."""
    runtime.getDeviceCount()


class CupyBackend:
    """The one GPU that this process sees. It is used for one job; the end of the process gives everything back."""

    def __init__(self, compiler: str = "") -> None:
        """Make the context, take memory, and load what the first launch would otherwise wait for."""
        runtime.setDevice(0)
        runtime.free(0)
        self._driver = _Driver()
        facts = runtime.getDeviceProperties(0)
        self._environment = _environment(facts, compiler)
        self._clocks = ClockReader(_bus_id())
        runtime.deviceSetLimit(_PERSISTING_LIMIT, 0)
        self._arena_bytes = min(_ARENA_BYTES, facts["totalGlobalMem"] // _ARENA_SHARE)
        self._arena = runtime.malloc(self._arena_bytes)
        self._used = 0
        self._more: list[int] = []
        self._flush_words = _FLUSH_CACHES * facts["l2CacheSize"] // 4
        self._flush = runtime.malloc(4 * self._flush_words)
        self._modules: dict[int, tuple[Code, int]] = {}
        self._blas = cublas.create()
        self._one, self._zero = np.ones(1, np.float32), np.zeros(1, np.float32)
        self._begin, self._end, self._before, self._after = (runtime.eventCreate() for _ in range(4))
        self._open = False
        self._busy_ms = 0.0

    @property
    def environment(self) -> Environment:
        return self._environment

    # -- memory --------------------------------------------------------------------------------------------------------

    def take(self, words: int, *, guarded: bool = False) -> Memory:
        """A part of the arena, or memory of its own where that is full."""
        margin, size = 4 * GUARD_WORDS if guarded else 0, 4 * words
        alignment = _LARGE_ALIGNMENT if size >= _LARGE_BYTES else _ALIGNMENT
        place = _aligned(self._arena + self._used + margin, alignment)
        end = place + size + margin - self._arena
        if end <= self._arena_bytes:
            self._used = end
        else:
            more = _asked(lambda: runtime.malloc(size + 2 * margin + alignment))
            self._more.append(more)
            place = _aligned(more + margin, alignment)
        return Memory(place, words)

    def guards(self, memory: Memory) -> tuple[Memory, Memory]:
        return (
            Memory(memory.place - 4 * GUARD_WORDS, GUARD_WORDS),
            Memory(memory.place + 4 * memory.words, GUARD_WORDS),
        )

    def release(self) -> None:
        self._used = 0
        for place in self._more:
            runtime.free(place)
        self._more.clear()

    def fill(self, memory: Memory, word: int) -> None:
        self._start()
        self._driver.fill(memory.place, word, memory.words)

    def write(self, memory: Memory, values: NDArray[Any]) -> None:
        given = np.ascontiguousarray(values)
        assert given.nbytes <= 4 * memory.words
        self._start()
        _asked(lambda: runtime.memcpy(memory.place, given.ctypes.data, given.nbytes, _TO_DEVICE))

    def read(self, memory: Memory) -> NDArray[Any]:
        self.wait()
        values = np.empty(memory.words, np.uint32)
        _asked(lambda: runtime.memcpy(values.ctypes.data, memory.place, values.nbytes, _TO_HOST))
        return values

    # -- kernels -------------------------------------------------------------------------------------------------------

    def load(self, code: Code, entry: str) -> Kernel:
        """A kernel of the module of `code`, which is loaded once."""
        known = self._modules.get(id(code))
        if known is None:
            known = code, _asked(lambda: driver.moduleLoadData(code.cubin))
            self._modules[id(code)] = known
        module = known[1]
        return Kernel(entry, _Handle(module, _asked(lambda: driver.moduleGetFunction(module, entry))))

    def variable(self, kernel: Kernel, name: str) -> Memory:
        return self._driver.variable(kernel.handle.module, name)

    def used(self, kernel: Kernel) -> Used:
        function = kernel.handle.function
        return Used(
            *(
                _asked(partial(driver.funcGetAttribute, each, function))
                for each in (_REGISTERS, _SHARED, _LOCAL)
            )
        )

    def blocks_per_multiprocessor(self, kernel: Kernel, threads: int, shared: int) -> int:
        function = kernel.handle.function
        blocks: int = _asked(
            lambda: driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared)
        )
        return blocks

    def launch(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        self._start()
        self._run(kernel, launch, arguments)

    def timed(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], seconds: float) -> Timed:
        """One launch between two events, watched by the host's clock."""
        return self._timed(lambda: self._run(kernel, launch, arguments), seconds)

    def multiply(
        self, left: Memory, right: Memory, out: Memory, rows: int, inner: int, columns: int
    ) -> Timed:
        """By cuBLAS, whose matrices are column-major: it is asked for the transposed product."""

        def product() -> None:
            cublas.sgemm(
                self._blas, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, columns, rows, inner,
                self._one.ctypes.data, right.place, columns, left.place, inner,
                self._zero.ctypes.data, out.place, columns,
            )  # fmt: skip

        # the library takes longer to start than a kernel: until it has, the device is kept at work
        self._start()
        self._empty_caches()
        return self._timed(product, seconds=60.0)

    def flush(self) -> None:
        """Write more than the caches hold, and take back what was set aside in them."""
        self._start()
        self._driver.reset_persisting()
        self._empty_caches()

    def _empty_caches(self) -> None:
        self._driver.fill(self._flush, 0, self._flush_words)

    # -- time ----------------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        _asked(lambda: runtime.eventRecord(self._end, _STREAM))
        self._settle(self._end, seconds=60.0)

    def clocks(self) -> Clocks:
        return self._clocks.read()

    def busy_ms(self) -> float:
        """Between the first command of each batch and its end."""
        return self._busy_ms

    def _timed(self, start: Callable[[], None], seconds: float) -> Timed:
        self._start()
        began = time.perf_counter()
        _asked(lambda: runtime.eventRecord(self._before, _STREAM))
        start()
        _asked(lambda: runtime.eventRecord(self._after, _STREAM))
        self._settle(self._after, seconds)
        ended = time.perf_counter()
        return Timed(runtime.eventElapsedTime(self._before, self._after), 1000 * (ended - began))

    def _run(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        values = [_parameter(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(values))(*(ctypes.addressof(each) for each in values))
        _asked(
            lambda: driver.launchKernel(
                kernel.handle.function, *launch.grid, *launch.block, launch.shared, _STREAM,
                ctypes.addressof(places), 0,
            )
        )  # fmt: skip

    def _start(self) -> None:
        """The device has something to do from here on."""
        if not self._open:
            _asked(lambda: runtime.eventRecord(self._begin, _STREAM))
            self._open = True

    def _settle(self, event: int, seconds: float) -> None:
        """Wait for an event after which there is nothing to do."""
        began = time.perf_counter()
        while (status := runtime.eventQuery(event)) == _NOT_READY:
            passed = time.perf_counter() - began
            if passed > seconds:
                raise DeviceFault(FaultKind.TIME, f"still running after {seconds:g} s")
            if passed > _SPIN_SECONDS:
                time.sleep(_NAP_SECONDS)
        if status:
            raise _fault(status)
        if self._open:
            self._busy_ms += runtime.eventElapsedTime(self._begin, event)
            self._open = False


class _Driver:
    """Calls of the driver that CuPy does not offer."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def fill(self, place: int, word: int, words: int) -> None:
        self._call(
            "cuMemsetD32Async", ctypes.c_uint64(place), ctypes.c_uint(word), ctypes.c_size_t(words), None
        )

    def reset_persisting(self) -> None:
        self._call("cuCtxResetPersistingL2Cache")

    def variable(self, module: int, name: str) -> Memory:
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call(
            "cuModuleGetGlobal_v2", ctypes.byref(place), ctypes.byref(size), ctypes.c_void_p(module),
            name.encode(),
        )  # fmt: skip
        return Memory(place.value, size.value // 4)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise _fault(status)


def _asked(call: Callable[[], Any]) -> Any:
    """What a call of CuPy gives, its errors as faults of the device."""
    try:
        return call()
    except (runtime.CUDARuntimeError, driver.CUDADriverError) as error:
        raise _fault(error.status) from error


def _fault(status: int) -> DeviceFault | BrokenDevice:
    """What a kernel can cause, as a fault of its launch; anything else is ours, or the machine's."""
    if status in _FAULTS:
        return DeviceFault(_FAULTS[status], f"CUDA error {status}")
    return BrokenDevice(f"CUDA error {status}")


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _parameter(argument: Argument) -> Any:
    """The bytes of one parameter; of an integer the kernel takes as many low ones as its type has."""
    if isinstance(argument, Memory):
        return ctypes.c_uint64(argument.place)
    return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def _bus_id() -> str:
    """By which the management library knows this device, whatever number this process gives it."""
    name: str = runtime.deviceGetPCIBusId(0)
    return name


def _environment(facts: dict[str, Any], compiler: str) -> Environment:
    name, memory = facts["name"].decode(), int(facts["totalGlobalMem"])
    managed = next((gpu for gpu in gpus() if gpu.name == name), None)
    return Environment(
        device=name,
        device_class=managed.device_class if managed else device_class(name, memory),
        cc=f"{facts['major']}.{facts['minor']}",
        multiprocessors=facts["multiProcessorCount"],
        memory_bytes=memory,
        max_sm_mhz=managed.max_sm_mhz if managed else 0,
        driver=managed.driver if managed else "",
        cupy=cupy.__version__,
        compiler=compiler,
        host_memory=bool(runtime.deviceGetAttribute(_PAGEABLE_ACCESS, 0)),
    )
