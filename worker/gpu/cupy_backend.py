"""A GPU through CuPy. Only a runner process imports it, because the import creates a CUDA context.

No host memory is pinned or mapped, so kernels can't reach it.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import driver, runtime
from cupy_backends.cuda.libs import cublas
from numpy.typing import NDArray

from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.launch import Launch
from kernels.measurement import Clocks, Environment
from worker.gpu.backend import (
    GUARD_WORDS,
    Argument,
    Call,
    Code,
    DeviceFault,
    FaultKind,
    Kernel,
    Mapped,
    Memory,
    Product,
    Timed,
    Used,
)
from worker.gpu.cuda_errors import fault_kind
from worker.gpu.device_class import device_class
from worker.gpu.launch_config import LaunchConfig, launch_config
from worker.gpu.nvml import ClockReader, gpus
from worker.gpu.tensor_maps import encoded

_ALIGNMENT = 512
# The alignment of a separate allocation. It determines the place of matrices in the L2 cache, and so their speed.
_LARGE_BYTES, _LARGE_ALIGNMENT = 2**20, 2 * 2**20
# Enough for two products at 4,096 with guards; at most a sixteenth of a small device.
_ARENA_BYTES = 640 * 2**20
_ARENA_SHARE = 16
# Bytes written to empty the L2 cache, as a multiple of its size. Meanwhile the host queues the next launch. If the
# device waited for it, the measurement would include the wait.
_FLUSH_CACHES = 4
# Runs of cuBLAS without timing, in which it loads its kernels for new shapes.
_UNTIMED = 2
# After this time, wait with naps, because another job may need this core.
_SPIN_SECONDS = 0.01
_NAP_SECONDS = 0.0001

_NOT_READY = 600
_REGISTERS, _SHARED, _LOCAL = 4, 1, 3  # CU_FUNC_ATTRIBUTE_NUM_REGS, _SHARED_SIZE_BYTES, _LOCAL_SIZE_BYTES
_PERSISTING_LIMIT = 6  # cudaLimitPersistingL2CacheSize
_PAGEABLE_ACCESS = 88  # cudaDevAttrPageableMemoryAccess
_TO_DEVICE, _TO_HOST = 1, 2
_STREAM = 0
_MOST_DYNAMIC = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_WHOLE_32 = 10  # CUDA_R_32I
_BLAS_TYPES = {
    ElementType.FLOAT: runtime.CUDA_R_32F,
    ElementType.DOUBLE: runtime.CUDA_R_64F,
    ElementType.HALF: runtime.CUDA_R_16F,
    ElementType.BFLOAT: runtime.CUDA_R_16BF,
    ElementType.CHAR: runtime.CUDA_R_8I,
    ElementType.INT: _WHOLE_32,
}
_BLAS_COMPUTES: Mapping[ElementType, tuple[int, type[np.number[Any]]]] = {
    ElementType.FLOAT: (cublas.CUBLAS_COMPUTE_32F, np.float32),
    ElementType.DOUBLE: (cublas.CUBLAS_COMPUTE_64F, np.float64),
    ElementType.INT: (cublas.CUBLAS_COMPUTE_32I, np.int32),
}
"""How cuBLAS adds up, and the type of its two scalars, by the type of the result."""


class BrokenDevice(RuntimeError):
    """An error that no kernel can cause, such as broken memory. The text has CUDA's error number."""


@dataclass(frozen=True, slots=True)
class _Handle:
    module: int
    function: int


def opened(compiler: str = "") -> Callable[[], CupyBackend]:
    """Open the driver and read all facts, which takes a while but slows down no launch on the device.

    The answer creates the context and the backend.
    """
    facts = runtime.getDeviceProperties(0)
    # The device's PCI address, with which the management library finds it
    name: str = runtime.deviceGetPCIBusId(0)
    return partial(CupyBackend, facts, _environment(facts, compiler), ClockReader(name))


class CupyBackend:
    """The only GPU of this process. The end of the process frees everything."""

    def __init__(self, facts: Mapping[str, Any], environment: Environment, clocks: ClockReader) -> None:
        """Create the context, allocate memory, and load all that would delay the first launch."""
        runtime.setDevice(0)
        # The context is created by the first call that needs one.
        runtime.free(0)
        self._driver = _Driver()
        self._environment, self._clocks = environment, clocks
        # Otherwise a kernel could keep its data in the L2 cache for the next timed launch.
        runtime.deviceSetLimit(_PERSISTING_LIMIT, 0)
        self._arena_bytes = min(_ARENA_BYTES, facts["totalGlobalMem"] // _ARENA_SHARE)
        self._arena = runtime.malloc(self._arena_bytes)
        self._used = 0
        self._more: list[Memory] = []
        self._more_words = _FLUSH_CACHES * facts["l2CacheSize"] // 4
        self._more_than_caches = runtime.malloc(4 * self._more_words)
        self._modules: dict[int, tuple[Code, int]] = {}
        self._blas = cublas.create()
        self._multiplied: set[tuple[ProductTypes, tuple[int, int, int]]] = set()
        self._scales = {kind: (np.ones(1, kind), np.zeros(1, kind)) for _, kind in _BLAS_COMPUTES.values()}
        self._begin, self._end, self._before, self._after = (runtime.eventCreate() for _ in range(4))
        self._open = False
        self._busy_ms = 0.0

    @property
    def environment(self) -> Environment:
        return self._environment

    # -- memory --------------------------------------------------------------------------------------------------------

    def take(self, words: int, *, guarded: bool = False) -> Memory:
        """A part of the arena, or a separate allocation if the arena is full."""
        margin, size = 4 * GUARD_WORDS if guarded else 0, 4 * words
        alignment = _LARGE_ALIGNMENT if size >= _LARGE_BYTES else _ALIGNMENT
        place = _aligned(self._arena + self._used + margin, alignment)
        end = place + size + margin - self._arena
        if end <= self._arena_bytes:
            self._used = end
        else:
            whole = size + 2 * margin + alignment
            more = _asked(lambda: runtime.malloc(whole))
            self._more.append(Memory(more, whole // 4))
            place = _aligned(more + margin, alignment)
        return Memory(place, words)

    def guards(self, memory: Memory) -> tuple[Memory, Memory]:
        return (
            Memory(memory.place - 4 * GUARD_WORDS, GUARD_WORDS),
            Memory(memory.place + 4 * memory.words, GUARD_WORDS),
        )

    def release(self) -> None:
        self._used = 0
        for memory in self._more:
            runtime.free(memory.place)
        self._more.clear()

    def reset(self) -> None:
        self.wait()
        for memory in (*self._more, Memory(self._arena, self._arena_bytes // 4)):
            self.fill(memory, 0)
        self.release()
        for _, module in self._modules.values():
            driver.moduleUnload(module)
        self._modules.clear()
        self._flush()
        self.wait()

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
        """A kernel of the module `code`, which is loaded once."""
        known = self._modules.get(id(code))
        if known is None:
            known = code, _of_kernel(lambda: driver.moduleLoadData(code.cubin))
            # The entry keeps the code alive, so its ID stays unique.
            self._modules[id(code)] = known
        module = known[1]
        return Kernel(entry, _Handle(module, _of_kernel(lambda: driver.moduleGetFunction(module, entry))))

    def variable(self, kernel: Kernel, name: str) -> Memory:
        return self._driver.variable(kernel.handle.module, name)

    def used(self, kernel: Kernel) -> Used:
        function = kernel.handle.function
        return Used(
            *(_of_kernel(partial(driver.funcGetAttribute, each, function)) for each in (_REGISTERS, _SHARED, _LOCAL))
        )

    def blocks_per_multiprocessor(self, kernel: Kernel, threads: int, shared: int) -> int:
        function = kernel.handle.function
        self._driver.allow_shared(function, shared)
        blocks: int = _of_kernel(lambda: driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared))
        return blocks

    def launch(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        self._start()
        self._prepared(kernel, launch, arguments)()

    def timed(
        self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], seconds: float, then: Sequence[Call] = ()
    ) -> Timed:
        """Run one launch or several between two events, with a timeout by the host's clock."""
        calls = (Call(kernel, launch, tuple(arguments)), *then)
        # Prepare all before. While the caches are emptied, the host only starts it, so the device never waits.
        starts = [self._prepared(call.kernel, call.launch, call.arguments) for call in calls]
        self._flush()

        def start() -> None:
            for start in starts:
                start()

        return self._timed(start, seconds)

    def multiply(self, product: Product) -> Timed:
        """Multiply with cuBLAS. Its matrices are column-major, so this computes the transposed product."""
        self._flush()
        # keep the device busy, because starting the library takes longer than starting a kernel
        self._empty_caches()
        return self._timed(lambda: self._product(product), seconds=60.0)

    def load_library(self, product: Product) -> None:
        if (kind := (product.types, product.shape)) not in self._multiplied:
            self._start()
            for _ in range(_UNTIMED):
                self._product(product)
            self._multiplied.add(kind)

    def _product(self, product: Product) -> None:
        (rows, inner, columns), result = product.shape, product.types.result
        factor, out = _BLAS_TYPES[product.types.left], _BLAS_TYPES[result]
        compute, scale = _BLAS_COMPUTES.get(result, _BLAS_COMPUTES[ElementType.FLOAT])
        one, zero = self._scales[scale]
        cublas.gemmEx(
            self._blas, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, columns, rows, inner,
            one.ctypes.data, product.right.place, factor, columns, product.left.place, factor, inner,
            zero.ctypes.data, product.out.place, out, columns, compute, cublas.CUBLAS_GEMM_DEFAULT,
        )  # fmt: skip

    def _flush(self) -> None:
        """Write more than the caches hold, and reset persisting lines."""
        self._start()
        self._driver.reset_persisting()
        self._empty_caches()

    def _empty_caches(self) -> None:
        self._driver.fill(self._more_than_caches, 0, self._more_words)

    # -- time ----------------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        _asked(lambda: runtime.eventRecord(self._end, _STREAM))
        self._settle(self._end, seconds=60.0)

    def clocks(self) -> Clocks:
        return self._clocks.read()

    def busy_ms(self) -> float:
        """The time between the first command of each batch and its end."""
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

    def _prepared(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> Callable[[], None]:
        self._driver.allow_shared(kernel.handle.function, launch.shared)
        values = [self._parameter(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))

        function = kernel.handle.function
        clustered = launch_config(launch) if launch.cluster_blocks > 1 else None

        def start(_alive: object = values) -> None:
            # The values must live until the launch: the driver gets only their addresses.
            if clustered is not None:
                self._driver.launch(function, clustered, places)
                return
            _of_kernel(
                lambda: driver.launchKernel(
                    function, *launch.grid, *launch.block, launch.shared, _STREAM, ctypes.addressof(places), 0
                )
            )

        return start

    def _parameter(self, argument: Argument) -> Any:
        return self._driver.encoded(argument) if isinstance(argument, Mapped) else _parameter(argument)

    def _start(self) -> None:
        """Mark the begin of a batch."""
        if not self._open:
            _asked(lambda: runtime.eventRecord(self._begin, _STREAM))
            self._open = True

    def _settle(self, event: int, seconds: float) -> None:
        """Wait for the event at the end of a batch."""
        began = time.perf_counter()
        while (status := runtime.eventQuery(event)) == _NOT_READY:
            passed = time.perf_counter() - began
            if passed > seconds:
                raise DeviceFault(FaultKind.TIME, f"still running after {seconds:g} s")
            if passed > _SPIN_SECONDS:
                time.sleep(_NAP_SECONDS)
        if status:
            raise _fault(status, FaultKind.OTHER)
        if self._open:
            self._busy_ms += runtime.eventElapsedTime(self._begin, event)
            self._open = False


class _Driver:
    """Driver functions that CuPy doesn't have."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def fill(self, place: int, word: int, words: int) -> None:
        self._call("cuMemsetD32Async", ctypes.c_uint64(place), ctypes.c_uint(word), ctypes.c_size_t(words), None)

    def reset_persisting(self) -> None:
        self._call("cuCtxResetPersistingL2Cache")

    def allow_shared(self, function: int, size: int) -> None:
        """Opt in to so many bytes of dynamic shared memory, without which a block has no more than 48 KiB."""
        if size:
            self._call("cuFuncSetAttribute", ctypes.c_void_p(function), _MOST_DYNAMIC, size)

    def variable(self, module: int, name: str) -> Memory:
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call(
            "cuModuleGetGlobal_v2", ctypes.byref(place), ctypes.byref(size), ctypes.c_void_p(module),
            name.encode(),
        )  # fmt: skip
        return Memory(place.value, size.value // 4)

    def launch(self, function: int, config: LaunchConfig, places: Any) -> None:
        """Launch a kernel with clusters. places: the addresses of its arguments."""
        call = self._library.cuLaunchKernelEx
        if status := call(ctypes.byref(config), ctypes.c_void_p(function), places, None):
            raise _fault(status, FaultKind.UNSUPPORTED)

    def encoded(self, mapped: Mapped) -> Any:
        return encoded(self._call, mapped.map, mapped.memory.place)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise _fault(status)


def _asked(call: Callable[[], Any], otherwise: FaultKind | None = None) -> Any:
    """Call CuPy, and turn its errors into faults of the device. `otherwise` is the kind of errors without their own."""
    try:
        return call()
    except (runtime.CUDARuntimeError, driver.CUDADriverError) as error:
        raise _fault(error.status, otherwise) from error


_of_kernel = partial(_asked, otherwise=FaultKind.UNSUPPORTED)
"""Like `_asked`, for a kernel that is loaded or launched."""


def _fault(status: int, otherwise: FaultKind | None = None) -> DeviceFault | BrokenDevice:
    """A DeviceFault for errors that a kernel can cause, and BrokenDevice for all others."""
    kind = fault_kind(status, otherwise)
    return BrokenDevice(f"CUDA error {status}") if kind is None else DeviceFault(kind, f"CUDA error {status}")


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _parameter(argument: Memory | float) -> Any:
    """One parameter's bytes. For an integer, the kernel reads as many low bytes as its type has."""
    if isinstance(argument, Memory):
        return ctypes.c_uint64(argument.place)
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    return (ctypes.c_double if isinstance(argument, np.float64) else ctypes.c_float)(argument)


def _environment(facts: Mapping[str, Any], compiler: str) -> Environment:
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
