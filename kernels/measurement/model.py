"""The result of a measurement on a GPU: the speed at one size, and everything that a ranking stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernels.launch import Launch


@dataclass(frozen=True, slots=True)
class Clocks:
    """The state of a GPU at one moment, from its management library; 0 for unknown figures.

    max_sm_mhz: the highest clock of the multiprocessors
    held_down: the reasons for a lower clock, in words; empty without any
    """

    sm_mhz: int = 0
    max_sm_mhz: int = 0
    temperature_c: int = 0
    power_w: float = 0.0
    held_down: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a measurement.

    device_class: measurements with the same class can be compared, such as "h200"
    cc: compute capability, such as "9.0"
    compiler: the version of NVRTC
    host_memory: whether kernels on this device can access the ordinary memory of their host process
    """

    device: str
    device_class: str
    cc: str
    multiprocessors: int
    memory_bytes: int
    max_sm_mhz: int
    driver: str
    cupy: str
    compiler: str
    host_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The speed of a kernel at one size.

    gflops: of a matrix product, 2 x rows x inner x columns / time. Other exercises may declare their operations
    gbps: bytes of all operands, each once, or what the exercise declares, over the time; None without comparison
    melements: millions of elements a second: of the outputs, or what the exercise declares; None without comparison
    cublas_share: cuBLAS's time, measured in between, over the kernel's; None without it
    ms_median: of one launch, from the device's events, with cold caches
    ci: the 95 % interval of that median, in ms; with fewer than 6 repeats, the whole range
    spread: the shortest and the longest repeat, in ms
    repeats: timed launches, each with its own inputs and verified output
    settled: whether the interval is within 0.5 % of the median; otherwise repeats reached their limit
    """

    sizes: Mapping[str, int]
    ms_median: float
    ci: tuple[float, float]
    spread: tuple[float, float]
    repeats: int
    settled: bool
    gflops: float | None = None
    gbps: float | None = None
    melements: float | None = None
    cublas_share: float | None = None
    cublas_ms: float | None = None
    clocks: Clocks = field(default_factory=Clocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Speed):
    """The speed at the ranking size, and related results. The CPU device never makes one.

    metric: the figure that ranks the exercise: "gflops", "gbps", "elements" or "time"
    curve: the speed at several sizes including the ranking size, the smallest first
    left_out: sizes that were not measured, each with its reason
    ranked: whether the result can be on a leaderboard; if not, `remarks` say why
    busy_ms: how long the device was busy with this job, including judging
    ptx_digest: SHA-256 of the PTX that the CPU device checked; the measured cubin was compiled with it
    launch: at the ranking size
    """

    metric: str
    environment: Environment
    curve: tuple[Speed, ...] = ()
    left_out: tuple[str, ...] = ()
    ranked: bool = True
    remarks: tuple[str, ...] = ()
    busy_ms: float = 0.0
    ptx_digest: str = ""
    launch: Launch | None = None
