"""`make bench`: the CPU device and a whole grade, each figure compared with one from the same run.

python -m bench [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

from bench.counting import Cost, costs
from bench.device import Rate, Subject, rates
from bench.grade import Grading, grading
from bench.table import table

KERNELS = ("tiled", "naive")
WIDTHS = (64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Simulated:
    """One launch of the tiled kernel in Numba's CUDA simulator: processor time and elapsed time."""

    width: int
    seconds: float
    waited: float


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, widths up to 256, the simulator at 64")
    parser.add_argument("--json", action="store_true", help="figures for a program instead of tables")
    options = parser.parse_args()
    rounds, widths, simulated_width = (2, WIDTHS[:-1], 64) if options.quick else (5, WIDTHS, 128)
    subjects = [Subject(kernel, width, observe) for kernel in KERNELS for width in widths for observe in (True, False)]
    measured = list(rates(subjects, rounds, _progress))
    counted = costs(rounds, _progress)
    graded = grading(rounds, _progress)
    simulated = _simulate(simulated_width)
    if options.json:
        print(json.dumps(_figures(measured, counted, graded, simulated), indent=2))
    else:
        print(_tables(measured, counted, graded, simulated))


def _progress(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


def _simulate(width: int) -> Simulated:
    """Time the simulator. It runs last because it takes longest: about a minute at 128."""
    _progress(f"Numba's CUDA simulator, tiled, N={width}")
    done = subprocess.run(
        (sys.executable, "-m", "bench.numba_tiled", str(width)),
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, waited = done.stdout.split()
    return Simulated(width, float(seconds), float(waited))


def _times_faster(measured: list[Rate], simulated: Simulated) -> tuple[float, float]:
    """Return how many times faster the device with all checks is than the simulator: elapsed and processor time."""
    subject = Subject("tiled", simulated.width, True)
    rate = next(rate for rate in measured if rate.subject == subject)
    return simulated.seconds / rate.seconds, simulated.waited / rate.waited


def _figures(
    measured: list[Rate], counted: tuple[Cost, ...], graded: Grading, simulated: Simulated
) -> dict[str, object]:
    processor, clock = _times_faster(measured, simulated)
    return {
        "device": [
            asdict(rate.subject)
            | {
                "instructions": rate.instructions,
                "seconds": rate.seconds,
                "instructions_per_second": rate.per_second,
                "share_of_numpy_multiply_add": rate.share,
            }
            for rate in measured
        ],
        "numpy_multiply_adds_per_second": measured[0].numpy_rate,
        "counting": [asdict(cost) | {"ratio": cost.ratio} for cost in counted],
        "simulator": asdict(simulated)
        | {"device_times_faster": clock, "device_times_faster_in_processor_time": processor},
        "grade": {
            "seconds": graded.total,
            "times_numpy_import": graded.total / graded.numpy,
            "profile": graded.profile,
        },
    }


def _tables(measured: list[Rate], counted: tuple[Cost, ...], graded: Grading, simulated: Simulated) -> str:
    processor, clock = _times_faster(measured, simulated)
    ceiling = f"{measured[0].numpy_rate / 1e6:,.0f} M/s"
    pairs = list(zip(measured[::2], measured[1::2], strict=True))
    device = table(
        ("kernel", "N", "M instr", "checked ms", "M/s", "of numpy", "unchecked ms", "M/s", "of numpy", "checks cost"),
        [(*_cells(with_checks), *_cells(without)[3:], _cost(with_checks, without)) for with_checks, without in pairs],
    )
    counting = table(
        ("tiled, N=256", "plain ms", "counted ms", "counting costs"),
        [
            (
                "with all checks" if cost.observe else "without checks",
                f"{cost.plain * 1e3:,.1f}",
                f"{cost.counted * 1e3:,.1f}",
                f"{cost.ratio:.2f}x",
            )
            for cost in counted
        ],
    )
    profile = table(
        ("part of a grade", "s", "share"),
        [(name, f"{s:.3f}", f"{s / graded.total:.0%}") for name, s in graded.profile.items()],
    )
    return f"""\
The CPU device: thread-instructions per second of processor time.
One core, tile 16, median of interleaved launches.

"of numpy" compares with numpy's float32 multiply-add: {ceiling}.

{device}

The cost of also counting accesses, branches and instructions:

{counting}

Numba's CUDA simulator, tiled, N={simulated.width}: {simulated.waited:.1f} s elapsed, {simulated.seconds:.1f} s \
of processor time. The device with all checks is {clock:,.0f} and {processor:,.0f} times faster.

Grade of the solution of tiled, process start to verdict: {graded.total:.2f} s. This is \
{graded.total / graded.numpy:.1f} times as long as Python takes to import numpy.

{profile}"""


def _cells(rate: Rate) -> tuple[str, ...]:
    subject = rate.subject
    return (
        subject.kernel,
        str(subject.width),
        f"{rate.instructions / 1e6:,.1f}",
        f"{rate.seconds * 1e3:,.1f}",
        f"{rate.per_second / 1e6:,.0f}",
        f"{rate.share:.0%}",
    )


def _cost(with_checks: Rate, without: Rate) -> str:
    return f"{with_checks.seconds / without.seconds:.2f}x"


if __name__ == "__main__":
    main()
