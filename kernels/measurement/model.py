"""What was measured on a GPU: the speed at one size, and all that a ranking keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernels.launch import Launch


@dataclass(frozen=True, slots=True)
class Clocks:
    """The state of a GPU at one moment, as its management library tells it; 0 where it does not.

    max_sm_mhz: the highest clock that the multiprocessors can have
    held_down: why the clock is lower than that, in words; empty where nothing holds it down
    """

    sm_mhz: int = 0
    max_sm_mhz: int = 0
    temperature_c: int = 0
    power_w: float = 0.0
    held_down: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """What a measurement was made with.

    device_class: where measurements may be compared, such as "h200"
    cc: compute capability, such as "9.0"
    compiler: the version of NVRTC
    host_memory: whether kernels on this device can reach the ordinary memory of the process that launches them
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

    gflops: of a matrix product, 2 x rows x inner x columns / time; None for anything else
    gbps: bytes of all operands, each once, over the time; None for an exercise that compares nothing
    cublas_share: cuBLAS's time, measured in between, over the kernel's; None where there was none
    ms_median: of one launch, by the device's events, with cold caches
    ci: the 95 % interval of that median, in ms; of fewer than 6 repeats, which are too few for one, the whole range
    spread: the shortest and the longest repeat, in ms
    repeats: launches that were timed, each with inputs of its own and its output verified
    settled: whether the interval is within 0.5 % of the median on both sides; else the time for repeats was over, or
        there had been as many as are made at the most
    """

    sizes: Mapping[str, int]
    ms_median: float
    ci: tuple[float, float]
    spread: tuple[float, float]
    repeats: int
    settled: bool
    gflops: float | None = None
    gbps: float | None = None
    cublas_share: float | None = None
    cublas_ms: float | None = None
    clocks: Clocks = field(default_factory=Clocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Speed):
    """The speed at the ranking size, and what stands beside it. The CPU device never makes one.

    metric: what the exercise ranks by: "gflops", "gbps" or "time"
    curve: the speed at other sizes, the smallest first; the ranking size is among them
    left_out: sizes that were not measured, each with its reason
    ranked: whether the result can stand on a leaderboard; `remarks` say why not
    busy_ms: how long the device was at work for this job, judging included
    ptx_digest: SHA-256 of the PTX that was checked on the CPU device; the measured cubin was compiled with it
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
