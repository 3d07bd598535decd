from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.root import WrongUse
from worker.commands.submission import cache_folder

if TYPE_CHECKING:
    from kernels.report import Report
    from worker.contract.measure_work import MeasureRequest
    from worker.gpu.nvml import GpuFacts
    from worker.gpu.profile.nsight import Profile

_SUFFIX = ".ncu-rep"
_SEED_BITS = 63


def check_target(file: Path, gpu: GpuFacts | None) -> None:
    """Raise WrongUse if the profiler can't write its report to this file."""
    if gpu is None:
        raise WrongUse("--profile needs a GPU, and this run uses none.")
    if file.suffix != _SUFFIX:
        raise WrongUse(f"--profile {file}: the name must end in {_SUFFIX}.")
    if not file.parent.is_dir():
        raise WrongUse(f"--profile {file}: the folder does not exist.")


def profiled(report: Report, asked: MeasureRequest | None, gpu: GpuFacts, file: Path) -> tuple[str, ...]:
    """Profile a graded kernel, and return the lines to show. If that fails, print the reason and return nothing.

    asked: the request for the measurement; None if grading ended before it
    """
    from kernels.compile.nvrtc import NVRTCUnavailable
    from kernels.verdict import Verdict
    from worker.gpu.profile.nsight import ProfileFailed
    from worker.sandbox.limits import SandboxFailure

    reason = "only an accepted kernel is profiled"
    if report.verdict is Verdict.ACCEPTED and asked is not None:
        try:
            return profile_text(_profile(asked, report, gpu, file))
        except (ProfileFailed, NVRTCUnavailable, SandboxFailure) as failure:
            reason = str(failure)
        except OSError as error:
            reason = f"cannot write the profiler's files ({error.strerror})"
    click.echo(f"tilelab: no profile: {reason.removesuffix('.')}.", err=True)
    return ()


def _profile(measure_request: MeasureRequest, report: Report, gpu: GpuFacts, file: Path) -> Profile:
    from worker.commands.progress import Progress
    from worker.gpu.judge.code import judge_code
    from worker.gpu.profile.nsight import profile, request_of

    judge = judge_code(report.arch, cache_folder())
    profile_request = request_of(measure_request, judge, int(report.seed, 16) % 2**_SEED_BITS)
    with Progress() as progress:
        progress.show("profiling")
        return profile(profile_request, gpu.index, file, allowed=True)


def profile_text(profile: Profile) -> tuple[str, ...]:
    figures = ", ".join(_figures(profile))
    return (
        f"Profiled with Nsight Compute{': ' * bool(figures)}{figures}.",
        f"Open the full report with: ncu-ui {profile.report}",
    )


def _figures(profile: Profile) -> Iterator[str]:
    from kernels.rendering.measured_numbers import ms_text, share_text

    summary = profile.summary
    if summary.ms is not None:
        yield f"{ms_text(summary.ms)} ms"
    if summary.occupancy is not None:
        yield f"occupancy {share_text(summary.occupancy / 100)}"
    if summary.multiprocessors is not None:
        yield f"SMs at {share_text(summary.multiprocessors / 100)} of their throughput"
    if summary.memory is not None:
        yield f"memory at {share_text(summary.memory / 100)}"
