"""Runs compiled kernels on this machine's NVIDIA GPU through the driver's own library, by ctypes.

The driver is on every machine with a GPU, and so needs no package that the development environment would have to carry.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernels.device import Argument
from kernels.exercise.tensor_map import TensorMap
from kernels.launch import Launch
from worker.gpu.launch_config import launch_config
from worker.gpu.tensor_maps import encoded

_MOST_DYNAMIC = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_COMPUTE_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


class NoGPU(RuntimeError):
    """There is no NVIDIA GPU here that can be used; the text says what is missing."""


class GPUError(RuntimeError):
    """A call of the driver failed; the text has the call and the driver's name for what went wrong."""


class GPU:
    """The first GPU of this machine, ready to run kernels. Use as a context manager."""

    def __init__(self) -> None:
        """Raises NoGPU."""
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise NoGPU("no NVIDIA driver here") from None
        self._device = ctypes.c_int()
        try:
            self._call("cuInit", 0)
            self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        except GPUError as error:
            raise NoGPU(f"no NVIDIA GPU here ({error})") from None

    def __enter__(self) -> Self:
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.cuDevicePrimaryCtxRelease_v2(self._device)

    @property
    def name(self) -> str:
        """Such as "NVIDIA H200"."""
        text = ctypes.create_string_buffer(100)
        self._call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode()

    @property
    def architecture(self) -> str:
        """What to compile for, such as "sm_90"."""
        number = ctypes.c_int()
        digits = ""
        for attribute in _COMPUTE_CAPABILITY:
            self._call("cuDeviceGetAttribute", ctypes.byref(number), attribute, self._device)
            digits += str(number.value)
        return f"sm_{digits}"

    def load(self, cubin: bytes, entry: str) -> Kernel:
        """A kernel from machine code for this GPU. Use as a context manager."""
        return Kernel(self._call, cubin, entry)

    def _call(self, name: str, *arguments: Any) -> None:
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(result, ctypes.byref(text))
            raise GPUError(f"{name}: {(text.value or b'unknown error').decode()}")


class Kernel:
    """A kernel on the GPU; its module stays loaded while the context lasts."""

    def __init__(self, call: Any, cubin: bytes, entry: str) -> None:
        self._call = call
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self._module), cubin)
        call("cuModuleGetFunction", ctypes.byref(self._function), self._module, entry.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call("cuModuleUnload", self._module)

    def run(
        self,
        launch: Launch,
        arguments: Sequence[Argument],
        arrays: Mapping[str, NDArray[Any]],
        symbols: Mapping[str, str],
        constants: Mapping[str, bytes],
    ) -> dict[str, NDArray[Any]]:
        """What the arrays hold after one launch; a string is a pointer to the array of that name.

        symbols: variable of the module -> the array that it holds
        constants: variable of the module -> its content
        """
        places = {array: self._variable(variable) for variable, array in symbols.items()}
        taken = {name: self._take(array) for name, array in arrays.items() if name not in places}
        device = {**places, **taken}
        try:
            for name, array in arrays.items():
                self._copy(array, device[name])
            for name, content in constants.items():
                self._copy(np.frombuffer(content, np.uint8), self._variable(name))
            self._launch(launch, [self._parameter(argument, device) for argument in arguments])
            return {name: self._copy_back(device[name], array) for name, array in arrays.items()}
        finally:
            for pointer in taken.values():
                self._call("cuMemFree_v2", pointer)

    def blocks_per_multiprocessor(self, threads: int, shared: int) -> int:
        """The driver's own answer to how many blocks fit; `shared` is the dynamic shared memory of a block."""
        blocks = ctypes.c_int()
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            self._function,
            threads,
            ctypes.c_size_t(shared),
        )
        return blocks.value

    def _launch(self, launch: Launch, parameters: list[Any]) -> None:
        addresses = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(each) for each in parameters))
        if launch.shared:
            self._call("cuFuncSetAttribute", self._function, _MOST_DYNAMIC, launch.shared)
        if launch.cluster_blocks > 1:
            config = launch_config(launch)
            self._call("cuLaunchKernelEx", ctypes.byref(config), self._function, addresses, None)
        else:
            extents = *launch.grid, *launch.block
            self._call("cuLaunchKernel", self._function, *extents, launch.shared, None, addresses, None)
        self._call("cuCtxSynchronize")

    def _parameter(self, argument: Argument, device: Mapping[str, ctypes.c_uint64]) -> Any:
        if isinstance(argument, TensorMap):
            return encoded(self._call, argument, device[argument.operand].value)
        return _parameter(argument, device)

    def _variable(self, name: str) -> ctypes.c_uint64:
        """Where a variable of the module lies."""
        pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call("cuModuleGetGlobal_v2", ctypes.byref(pointer), ctypes.byref(size), self._module, name.encode())
        return pointer

    def _take(self, array: NDArray[Any]) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        return pointer

    def _copy(self, array: NDArray[Any], pointer: ctypes.c_uint64) -> None:
        self._call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))

    def _copy_back(self, pointer: ctypes.c_uint64, like: NDArray[Any]) -> NDArray[Any]:
        array = np.empty_like(like)
        self._call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(array.nbytes))
        return array


def _parameter(argument: str | float, device: Mapping[str, ctypes.c_uint64]) -> Any:
    """The bytes of one kernel parameter; of an integer the kernel takes as many low ones as its type has."""
    if isinstance(argument, str):
        return device[argument]
    return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def driver_version() -> str:
    """The version of the driver, such as "580.159.04"; "unknown" where it does not tell."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return "unknown"
    text = ctypes.create_string_buffer(80)
    if library.nvmlInit_v2() != 0 or library.nvmlSystemGetDriverVersion(text, len(text)) != 0:
        return "unknown"
    return text.value.decode()
