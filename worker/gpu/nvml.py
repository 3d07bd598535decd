"""This machine's GPUs from the driver's management library (NVML), without using CUDA.

NVML lists every GPU, whatever CUDA_VISIBLE_DEVICES says, in its own order. Here GPUs are in the order of the PCI bus,
as in CUDA with CUDA_DEVICE_ORDER=PCI_BUS_ID. A GPU with slices (MIG) is represented by its slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernels.measurement import Clocks
from worker.gpu.device_class import device_class

# NVML's clocks event reasons by bit. Bit 0, an idle GPU, is not a reason for a low clock.
_HELD_DOWN = {
    0x002: "applications clocks setting",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal slowdown (software)",
    0x040: "thermal slowdown (hardware)",
    0x080: "power brake (hardware)",
    0x100: "display clocks setting",
    0x200: "board limit",
    0x400: "reliability",
}
_INSTALL = "install it with `bin/setup gpu`"
# A running driver has one of these, on Linux or on a virtual machine of Windows.
_SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg")


class NoGPU(RuntimeError):
    """This machine has no usable NVIDIA GPU. The text says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU, or one slice of it.

    index: number in the order of the PCI bus, from 0
    cc: compute capability, such as "9.0"
    uuid: for CUDA_VISIBLE_DEVICES, also for a slice
    max_sm_mhz: the multiprocessors' highest clock; 0 if unknown
    """

    index: int
    name: str
    memory_bytes: int
    cc: str
    uuid: str
    driver: str
    max_sm_mhz: int

    @property
    def arch(self) -> str:
        """The architecture to compile for, such as "sm_90"."""
        return f"sm_{self.cc.replace('.', '')}"

    @property
    def device_class(self) -> str:
        """Its class, such as "h200"; measurements are comparable within a class."""
        return device_class(self.name, self.memory_bytes)


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process with a CUDA context on a GPU. memory_bytes: 0 if unknown."""

    pid: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class _Place:
    """NVML's handles of a device: its card, and the device or slice itself."""

    board: Any
    handle: Any


def gpus() -> tuple[GpuFacts, ...]:
    """The GPUs of this machine, at least one. Raises NoGPU."""
    nvml = _library()
    driver = _text(_told(nvml, nvml.nvmlSystemGetDriverVersion) or "")
    found = tuple(_facts(nvml, index, place, driver) for index, place in enumerate(_places(nvml)))
    if not found:
        raise NoGPU("the NVIDIA driver finds no GPU. Run `nvidia-smi`, or pass the GPU to the container")
    return found


def gpu(index: int) -> GpuFacts:
    """One GPU by its number. Raises NoGPU with a list of the GPUs."""
    found = gpus()
    if 0 <= index < len(found):
        return found[index]
    known = ", ".join(f"{each.index} ({each.name})" for each in found)
    raise NoGPU(f"no GPU {index} on this machine. It has {known}")


def memory_used(index: int) -> int:
    """Bytes of a GPU that processes use, without the driver's own memory if it reports that separately."""
    nvml = _library()
    handle = _place(nvml, index).handle
    version = nvml.nvmlMemory_v2
    info = _told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle, version)
    info = info or _told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    if info is not None:
        return int(info.used)
    raise NoGPU(f"GPU {index} does not report its used memory")


def processes(index: int) -> tuple[GpuProcess, ...]:
    """The processes with a CUDA context on a GPU, sorted by number. The driver may not name all of them.

    In a container, the driver gives the host's process numbers.
    """
    nvml = _library()
    handle = _place(nvml, index).handle
    running = _told(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
    return tuple(sorted((GpuProcess(each.pid, each.usedGpuMemory or 0) for each in running), key=lambda p: p.pid))


class ClockReader:
    """Reads the state of one device, quickly and without failing. Unknown values are 0 or empty.

    where: UUID, CUDA's PCI bus id, or number in the order of the PCI bus
    """

    def __init__(self, where: str | int) -> None:
        """Read once, so that the library opens its files before the lockdown."""
        self._max_sm_mhz = 0
        self._handle: Any = None
        try:
            self._nvml = _library()
            self._handle = _board(self._nvml, where)
        except NoGPU:
            return
        if self._handle is None:
            return
        self._max_sm_mhz = self._number(self._nvml.nvmlDeviceGetMaxClockInfo, self._nvml.NVML_CLOCK_SM)
        self.read()

    def read(self) -> Clocks:
        """The current state, from four requests of about 10 µs each."""
        if self._handle is None:
            return Clocks()
        nvml = self._nvml
        return Clocks(
            sm_mhz=self._number(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            max_sm_mhz=self._max_sm_mhz,
            temperature_c=self._number(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            power_w=self._number(nvml.nvmlDeviceGetPowerUsage) / 1000,
            held_down=reasons(self._number(nvml.nvmlDeviceGetCurrentClocksEventReasons)),
        )

    def _number(self, ask: Callable[..., Any], *arguments: Any) -> int:
        return int(_told(self._nvml, ask, self._handle, *arguments) or 0)


def reasons(bits: int) -> tuple[str, ...]:
    """Reasons for a low clock as text, from NVML's bits. Unknown bits are given as a number."""
    unknown = bits & ~sum(_HELD_DOWN) & ~1
    named = [words for bit, words in _HELD_DOWN.items() if bits & bit]
    return (*named, f"reason 0x{unknown:x}") if unknown else tuple(named)


@cache
def _library() -> Any:
    """The library, initialised once for this process. Raises NoGPU."""
    try:
        import pynvml
    except ImportError:
        if not any(Path(sign).exists() for sign in _SIGNS):
            raise NoGPU("this machine has no NVIDIA GPU, or no driver for it") from None
        raise NoGPU(f"the package nvidia-ml-py is not installed; {_INSTALL}") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoGPU(_why(pynvml, error)) from None
    return pynvml


def _why(nvml: Any, error: Any) -> str:
    known = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
            "no NVIDIA driver is installed (libnvidia-ml.so.1 not found). Install the driver, or pass the GPU to the "
            "container"
        ),
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: (
            "the NVIDIA driver is installed but not loaded. Load it or restart the machine, and run `nvidia-smi`"
        ),
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
            "the NVIDIA driver was updated while it was loaded. Restart the machine"
        ),
        nvml.NVML_ERROR_NO_PERMISSION: (
            "this user can't open the NVIDIA driver's devices. Check the owner and mode of /dev/nvidia*"
        ),
    }
    return known.get(error.value, f"the NVIDIA driver does not answer ({error}). Run `nvidia-smi`")


def _places(nvml: Any) -> list[_Place]:
    """Every device that CUDA can use, in the order of the PCI bus."""
    boards = []
    for number in range(_told(nvml, nvml.nvmlDeviceGetCount) or 0):
        handle = _told(nvml, nvml.nvmlDeviceGetHandleByIndex, number)
        pci = handle and _told(nvml, nvml.nvmlDeviceGetPciInfo, handle)
        if pci:
            boards.append(((pci.domain, pci.bus, pci.device), handle))
    # NVML's own numbers differ from CUDA's.
    boards.sort(key=lambda each: each[0])
    return [_Place(board, handle) for _, board in boards for handle in (list(_slices(nvml, board)) or [board])]


def _slices(nvml: Any, board: Any) -> Iterator[Any]:
    mode = _told(nvml, nvml.nvmlDeviceGetMigMode, board)
    if mode is None or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return
    for number in range(_told(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, board) or 0):
        handle = _told(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, board, number)
        if handle is not None:
            yield handle


def _place(nvml: Any, index: int) -> _Place:
    places = _places(nvml)
    if not 0 <= index < len(places):
        raise NoGPU(f"no GPU {index} on this machine. The driver finds {len(places)}")
    return places[index]


def _board(nvml: Any, where: str | int) -> Any:
    """The card of a device. Only the card has a clock and a temperature, also for its slices."""
    if isinstance(where, int):
        return _place(nvml, where).board
    if ":" in where:
        return _told(nvml, nvml.nvmlDeviceGetHandleByPciBusId, where)
    handle = _told(nvml, nvml.nvmlDeviceGetHandleByUUID, where)
    if handle is None or not where.startswith("MIG"):
        return handle
    return _told(nvml, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle)


def _facts(nvml: Any, index: int, place: _Place, driver: str) -> GpuFacts:
    try:
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(place.board)
        return GpuFacts(
            index=index,
            name=_text(nvml.nvmlDeviceGetName(place.handle)),
            memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(place.handle).total),
            cc=f"{major}.{minor}",
            uuid=_text(nvml.nvmlDeviceGetUUID(place.handle)),
            driver=driver,
            max_sm_mhz=int(_told(nvml, nvml.nvmlDeviceGetMaxClockInfo, place.board, nvml.NVML_CLOCK_SM) or 0),
        )
    except nvml.NVMLError as error:
        raise NoGPU(f"GPU {index} does not answer ({error}). Run `nvidia-smi`") from None


def _told(nvml: Any, ask: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return ask(*arguments)
    except nvml.NVMLError:
        return None


def _text(told: str | bytes) -> str:
    return told.decode(errors="replace") if isinstance(told, bytes) else told
