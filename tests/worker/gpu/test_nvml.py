"""What is read from the management library: a library of made-up boards stands in for it, and its absence is calm."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.measurement import Clocks
from worker.gpu import nvml
from worker.gpu.nvml import ClockReader, GpuFacts, GpuProcess, NoGPU

FAILURES = {
    "LIBRARY_NOT_FOUND": 12,
    "DRIVER_NOT_LOADED": 9,
    "LIB_RM_VERSION_MISMATCH": 18,
    "NO_PERMISSION": 4,
    "NOT_SUPPORTED": 3,
}


class Refused(Exception):
    """Stands for NVMLError."""

    def __init__(self, value):
        super().__init__(f"code {value}")
        self.value = value


class Board(SimpleNamespace):
    """One board: what is None is not told."""


def board(**told):
    facts = {
        "name": "NVIDIA H200",
        "uuid": "GPU-1",
        "bus": (0, 3, 0),
        "total": 150_754_820_096,
        "used": 5,
        "cc": (9, 0),
        "clock": 1830,
        "highest": 1980,
        "temperature": 41,
        "power": 312_500,
        "reasons": 0,
        "slices": (),
        "processes": (),
        "parent": None,
    }
    return Board(**facts | told)


class Library:
    """The part of pynvml that is used, over such boards."""

    NVMLError = Refused
    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0
    NVML_DEVICE_MIG_ENABLE = 1
    nvmlMemory_v2 = 2  # noqa: N815

    def __init__(self, *boards, broken=0, old=False):
        self.boards, self.broken, self.old = boards, broken, old
        self.asked = []
        for name, code in FAILURES.items():
            setattr(self, f"NVML_ERROR_{name}", code)

    def tell(self, value):
        self.asked.append(value)
        if value is None:
            raise Refused(FAILURES["NOT_SUPPORTED"])
        return value

    def nvmlInit(self):  # noqa: N802
        if self.broken:
            raise Refused(self.broken)

    def every(self):
        return [*self.boards, *(each for board in self.boards for each in board.slices)]

    def __getattr__(self, name):
        calls = {
            "SystemGetDriverVersion": lambda: "580.95.05",
            "DeviceGetCount": lambda: len(self.boards),
            "DeviceGetHandleByIndex": lambda number: self.tell(self.boards[number]),
            "DeviceGetHandleByUUID": lambda uuid: self.tell(
                next((each for each in self.every() if each.uuid == uuid), None)
            ),
            "DeviceGetHandleByPciBusId": lambda text: self.tell(
                next((each for each in self.boards if "{:04x}:{:02x}:{:02x}.0".format(*each.bus) == text), None)
            ),
            "DeviceGetDeviceHandleFromMigDeviceHandle": lambda each: self.tell(each.parent),
            "DeviceGetPciInfo": lambda each: SimpleNamespace(domain=each.bus[0], bus=each.bus[1], device=each.bus[2]),
            "DeviceGetMigMode": lambda each: [1, 1] if each.slices else self.tell(None),
            "DeviceGetMaxMigDeviceCount": lambda each: len(each.slices) + 3,
            "DeviceGetMigDeviceHandleByIndex": lambda each, number: self.tell(
                each.slices[number] if number < len(each.slices) else None
            ),
            "DeviceGetName": lambda each: self.tell(each.name),
            "DeviceGetUUID": lambda each: self.tell(each.uuid),
            "DeviceGetCudaComputeCapability": lambda each: self.tell(each.cc),
            "DeviceGetMemoryInfo": self.memory,
            "DeviceGetMaxClockInfo": lambda each, kind: self.tell(each.highest),
            "DeviceGetClockInfo": lambda each, kind: self.tell(each.clock),
            "DeviceGetTemperature": lambda each, kind: self.tell(each.temperature),
            "DeviceGetPowerUsage": lambda each: self.tell(each.power),
            "DeviceGetCurrentClocksEventReasons": lambda each: self.tell(each.reasons),
            "DeviceGetComputeRunningProcesses": lambda each: self.tell(each.processes),
        }
        return calls[name.removeprefix("nvml")]

    def memory(self, each, version=1):
        if version == 2 and self.old:
            raise Refused(FAILURES["NOT_SUPPORTED"])
        reserved = 0 if version == 2 else 600
        return SimpleNamespace(total=self.tell(each.total), used=self.tell(each.used) + reserved)


@pytest.fixture
def use(monkeypatch):
    """Lets a library of these boards be found."""

    def install(*boards, **options):
        library = Library(*boards, **options)
        monkeypatch.setitem(sys.modules, "pynvml", library)
        nvml._library.cache_clear()
        return library

    yield install
    nvml._library.cache_clear()


def test_a_gpu_is_described(use):
    use(board())
    assert nvml.gpus() == (GpuFacts(0, "NVIDIA H200", 150_754_820_096, "9.0", "GPU-1", "580.95.05", 1980),)
    assert nvml.gpu(0).arch == "sm_90"


def test_gpus_stand_in_the_order_of_the_bus(use):
    use(board(uuid="far", bus=(1, 0, 0)), board(uuid="late", bus=(0, 0xA3, 0)), board(uuid="early", bus=(0, 4, 0)))
    assert [(gpu.index, gpu.uuid) for gpu in nvml.gpus()] == [(0, "early"), (1, "late"), (2, "far")]


def test_slices_stand_in_the_place_of_their_board(use):
    part = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    whole = board(bus=(0, 1, 0), uuid="GPU-0")
    whole.slices = tuple(board(name=part, uuid=f"MIG-{k}", parent=whole, cc=None, used=k) for k in range(2))
    use(board(uuid="GPU-9", bus=(0, 2, 0)), whole)
    found = nvml.gpus()
    assert [(gpu.uuid, gpu.name, gpu.cc) for gpu in found] == [
        ("MIG-0", part, "9.0"),
        ("MIG-1", part, "9.0"),
        ("GPU-9", "NVIDIA H200", "9.0"),
    ]
    assert nvml.memory_used(1) == 1
    assert ClockReader("MIG-1").read().sm_mhz == whole.clock


def test_a_gpu_that_is_not_there_is_named_with_those_that_are(use):
    use(board())
    with pytest.raises(NoGPU, match=r"no GPU 3 .* 0 \(NVIDIA H200\)"):
        nvml.gpu(3)
    with pytest.raises(NoGPU, match="The driver finds 1"):
        nvml.memory_used(-1)


def test_a_driver_without_a_gpu_is_no_gpu(use):
    use()
    with pytest.raises(NoGPU, match="finds no GPU"):
        nvml.gpus()


def test_memory_of_the_driver_itself_does_not_count_where_it_tells(use):
    use(board())
    assert nvml.memory_used(0) == 5
    use(board(), old=True)
    assert nvml.memory_used(0) == 605


def test_processes_come_by_number(use):
    running = [SimpleNamespace(pid=9, usedGpuMemory=100), SimpleNamespace(pid=4, usedGpuMemory=None)]
    use(board(processes=running))
    assert nvml.processes(0) == (GpuProcess(4, 0), GpuProcess(9, 100))
    use(board(processes=None))
    assert nvml.processes(0) == ()


@pytest.mark.parametrize("where", ["GPU-7", "0000:a3:00.0", 1])
def test_the_state_of_the_right_device_is_read(use, where):
    use(board(uuid="GPU-7", bus=(0, 0xA3, 0), clock=1111, reasons=0x1 | 0x4 | 0x20), board(bus=(0, 1, 0)))
    assert ClockReader(where).read() == Clocks(
        sm_mhz=1111,
        max_sm_mhz=1980,
        temperature_c=41,
        power_w=312.5,
        held_down=("power cap", "thermal slowdown (software)"),
    )


def test_what_a_device_does_not_tell_is_nothing(use):
    use(board(clock=None, highest=None, temperature=None, power=None, reasons=None))
    assert ClockReader(0).read() == Clocks()


@pytest.mark.parametrize("where", ["GPU-of-another-machine", "0000:ff:00.0", 5, "MIG-gone"])
def test_a_device_that_is_not_found_reads_as_nothing(use, where):
    use(board())
    assert ClockReader(where).read() == Clocks()


def test_a_read_is_four_questions(use):
    library = use(board())
    reader = ClockReader(0)
    library.asked.clear()
    reader.read()
    assert len(library.asked) == 4


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ("LIBRARY_NOT_FOUND", "no NVIDIA driver is installed .*pass the GPU to the container"),
        ("DRIVER_NOT_LOADED", "not loaded.*nvidia-smi"),
        ("LIB_RM_VERSION_MISMATCH", "Restart the machine"),
        ("NO_PERMISSION", "mode of /dev/nvidia"),
        ("NOT_SUPPORTED", r"does not answer \(code 3\)"),
    ],
)
def test_a_driver_that_is_not_ready_is_told_calmly(use, failure, says):
    use(board(), broken=FAILURES[failure])
    with pytest.raises(NoGPU, match=says):
        nvml.gpus()
    assert ClockReader(0).read() == Clocks()


def test_without_a_driver_no_package_is_missed(use, monkeypatch):
    use()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvml, "_SIGNS", ("/nowhere/nvidiactl",))
    with pytest.raises(NoGPU, match="no NVIDIA GPU, or no driver"):
        nvml.gpus()


def test_a_missing_package_is_told_with_the_way_to_it(use, monkeypatch):
    use()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvml, "_SIGNS", ("/dev/null",))
    with pytest.raises(NoGPU, match="nvidia-ml-py is not installed; install it with `bin/setup gpu`"):
        nvml.gpus()
    assert ClockReader("GPU-1").read() == Clocks()


def test_a_driver_that_is_made_ready_later_is_found_then(use):
    library = use(board(), broken=FAILURES["DRIVER_NOT_LOADED"])
    with pytest.raises(NoGPU):
        nvml.gpus()
    library.broken = 0
    assert len(nvml.gpus()) == 1


@given(st.integers(0, 2**64 - 1))
def test_every_reason_but_idleness_has_words(bits):
    words = nvml.reasons(bits)
    assert bool(words) == bool(bits & ~1)
    assert len(set(words)) == len(words)


@pytest.mark.gpu
def test_this_machines_gpus_tell_of_themselves():
    first = nvml.gpus()[0]
    assert first.memory_bytes > 2**30
    assert first.uuid.startswith(("GPU-", "MIG-"))
    assert ClockReader(first.uuid).read().temperature_c > 0
