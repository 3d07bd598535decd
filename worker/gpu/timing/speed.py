"""The speed at one size from its repeats, and whether the clocks are plausible."""

from __future__ import annotations

import statistics

from kernels.exercise import Operation
from kernels.judging.outcomes import size_text
from kernels.measurement import Clocks, Speed
from kernels.measurement.median import middle
from worker.gpu.timing.roofline import elements, operand_bytes, operations
from worker.gpu.timing.timings import Timings

_GAP_MS, _GAP_SHARE = 1.0, 0.2
_RESOLUTION_MS, _DRIFT = 0.01, 0.001


def speed(timings: Timings, clocks: Clocks) -> Speed:
    """The speed at one size. clocks: right after the repeats."""
    case, ms = timings.case, [run.ms for run in timings.runs]
    bounds = middle(timings.counting_ms)
    cublas = timings.cublas_median_ms
    seconds = bounds.median / 1000
    measured = seconds > 0 and case.operation is not Operation.ANALYSIS
    counted = measured and operations(case) > 0
    return Speed(
        sizes=dict(case.sizes),
        ms_median=bounds.median,
        ci=(bounds.low, bounds.high),
        spread=(min(ms), max(ms)),
        repeats=len(ms),
        settled=bounds.settled,
        gflops=operations(case) / seconds / 1e9 if counted else None,
        gbps=operand_bytes(case) / seconds / 1e9 if measured else None,
        melements=elements(case) / seconds / 1e6 if measured else None,
        cublas_share=cublas / bounds.median if cublas is not None and bounds.median > 0 else None,
        cublas_ms=cublas,
        clocks=clocks,
    )


def clock_doubt(timings: Timings) -> str:
    """How the device's clock and the host's disagree about the launches; "" if they agree."""
    size = size_text(timings.case)
    # The host's interval contains the launch, so a longer launch shows a wrong clock.
    if any(run.ms > run.host_ms * (1 + _DRIFT) + _RESOLUTION_MS for run in timings.runs):
        return f"{size}: launches took longer by the device's clock than by the host's."
    gap = statistics.median(run.host_ms - run.ms for run in timings.runs)
    ms = statistics.median(run.ms for run in timings.runs)
    if gap > max(_GAP_MS, _GAP_SHARE * ms):
        return (
            f"{size}: by the host's clock, a launch took {gap:.3g} ms longer than the device's {ms:.3g} ms."
            " The machine may be busy with other work."
        )
    return ""
