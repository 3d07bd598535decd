"""Reports of kernels that a GPU measured, made up for tests of what is said of them."""

from __future__ import annotations

from typing import Any

from kernels.evidence import ChecklistRow, Evidence, Extent, Light, ResourceTime, State
from kernels.launch import Launch
from kernels.measurement import Clocks, Environment, Measurement, Speed
from kernels.occupancy.driver_answer import by_driver
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus, Verdict

H200 = Environment(
    device="NVIDIA H200",
    device_class="h200",
    cc="9.0",
    multiprocessors=132,
    memory_bytes=150_000_000_000,
    max_sm_mhz=1980,
    driver="580.95.05",
    cupy="14.0.1",
    compiler="13.5.0",
)
COOL = Clocks(1980, 1980, 34, 310.4)


def figures(width: int, milliseconds: float, **changes: Any) -> dict[str, Any]:
    return {
        "sizes": {"Width": width},
        "ms_median": milliseconds,
        "ci": (0.999 * milliseconds, 1.001 * milliseconds),
        "spread": (0.99 * milliseconds, 1.02 * milliseconds),
        "repeats": 12,
        "settled": True,
        "gflops": 2e-6 * width**3 / milliseconds,
        "gbps": 12e-6 * width**2 / milliseconds,
        "cublas_share": 0.1621,
        "cublas_ms": 0.1621 * milliseconds,
        "clocks": COOL,
    } | changes


CURVE = tuple(
    Speed(**figures(width, milliseconds))
    for width, milliseconds in ((256, 0.0123), (512, 0.0501), (1024, 0.2802), (2048, 2.1121), (4096, 16.91))
)


def measurement(**changes: Any) -> Measurement:
    values = figures(2048, 2.1121) | {"metric": "gflops", "environment": H200, "curve": CURVE} | changes
    return Measurement(**values)


def light(milliseconds: float = 1.05, device: str = "NVIDIA H200 SXM", width: int = 2048) -> Light:
    times = (ResourceTime("lsu", "Load/store units", milliseconds, ""), ResourceTime("fp32", "FP32", 0.4, ""))
    return Light(device, {"Width": width}, times, "lsu", milliseconds, 16_361.4)


def evidence(*lights: Light) -> Evidence:
    return Evidence(
        extent=Extent({"Width": 256}, 16, Launch((16, 16, 1), (16, 16, 1), 0), 256, exact=True),
        light=lights,
        checklist=(
            ChecklistRow("tiling", "Tiling of reused data", State.YES, "Used 16 times.", "", ""),
            ChecklistRow("coalescing", "Coalesced global accesses", State.PARTLY, "Some.", "", ""),
            ChecklistRow("coarsening", "Thread coarsening", State.NO, "One element.", "", ""),
        ),
    )


def measured_report(**changes: Any) -> Report:
    values: dict[str, Any] = {
        "verdict": Verdict.ACCEPTED,
        "message": "Correct in 2 of 2 cases, bit-exact.",
        "exercise": "tiled",
        "device": "h200",
        "arch": "sm_90",
        "tile": 16,
        "checks": (CaseCheck("Width=2048 integers_left", CaseStatus.PASSED),),
        "measurement": measurement(),
        "measured_occupancy": by_driver("9.0", 256, 8, registers=32, shared_static=2048),
        "evidence": evidence(light()),
    } | changes
    return Report(**values)
