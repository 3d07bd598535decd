"""The optional profile stage: one launch of a kernel under Nsight Compute, with its report and four figures.

It runs only if the operator allows it. The profiler writes files, starts programs and talks to the driver, so the
process with the kernel isn't isolated. Only its time and the size of its files are limited.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.wire import to_plain
from worker.contract.measure_work import MeasureRequest, WireCode
from worker.gpu.profile.profiled_launch import REQUEST, ProfileRequest
from worker.sandbox.child_command import ENVIRONMENT
from worker.supervision.children import search_path

SECONDS = 60.0
REPORT_BYTES = 64 * 2**20
SUFFIX = ".ncu-rep"

_PLACES = ("/usr/local/cuda/bin/ncu", "/usr/local/cuda-*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
_TIME = "gpu__time_duration.sum"
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_MULTIPROCESSORS = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
_MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
# Versions of Nsight Compute use different words for units.
_IN_MS = {
    "ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0, "s": 1e3, "second": 1e3,
}  # fmt: skip
_EXCERPT = 300
# The process gets this process's search path.
_START = "import sys; sys.path[:0] = sys.argv[2:]; from worker.gpu.profile.profiled_launch import main; main()"

NOT_ALLOWED = "the operator has not allowed profiling on this machine"
NO_PROFILER = (
    "Nsight Compute (ncu) is not installed. It comes with the CUDA toolkit, or as the package nsight-compute. Put its "
    "folder on PATH"
)
NO_RANKING = "the kernel does not run at the ranking size, so there is nothing to profile"
_NO_COUNTERS = (
    "only root can use the driver's performance counters. An operator can allow all users: put "
    "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a file in /etc/modprobe.d and restart the machine. "
    "In a container, add the capability SYS_ADMIN instead"
)
_BUSY_COUNTERS = (
    "another tool uses the GPU's performance counters, such as a monitor (DCGM: `dcgmi profile --pause`) or another "
    "profiler. Stop it and try again"
)
_KNOWN = (
    ("ERR_NVGPUCTRPERM", _NO_COUNTERS),
    ("driver resource was unavailable", _BUSY_COUNTERS),
    ("No kernels were profiled", "Nsight Compute saw no launch of the kernel"),
)


class ProfileFailed(RuntimeError):
    """Profiling failed. The text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """The profiler's figures for the launch; None if unknown.

    ms: its duration, by the profiler's clock
    occupancy: active warps, in percent of a multiprocessor's limit
    multiprocessors, memory: throughput, in percent of the device's peak
    """

    ms: float | None = None
    occupancy: float | None = None
    multiprocessors: float | None = None
    memory: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A finished profile. report: the file for Nsight Compute's viewer."""

    report: Path
    summary: ProfileSummary


def request_of(measure_request: MeasureRequest, judge: WireCode, seed: int) -> ProfileRequest:
    """The request to profile a measured kernel's launch at the ranking size. Raises ProfileFailed.

    seed: of the inputs
    """
    case = measure_request.ranking
    if case is None or case.launch is None:
        raise ProfileFailed(NO_RANKING)
    return ProfileRequest(judge, measure_request.modules[case.module], case, seed)


def profile(
    request: ProfileRequest,
    device: int,
    file: Path,
    *,
    allowed: bool,
    program: Path | None = None,
    seconds: float = SECONDS,
) -> Profile:
    """Profile one launch, and write the report to `file`. Raises ProfileFailed.

    device: number of the GPU in the order of the PCI bus
    allowed: the operator allows it
    program: path of Nsight Compute; by default the installed one
    """
    if not allowed:
        raise ProfileFailed(NOT_ALLOWED)
    ncu = program or find_ncu()
    if ncu is None:
        raise ProfileFailed(NO_PROFILER)
    with tempfile.TemporaryDirectory(prefix="tilelab-profile-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / REQUEST).write_text(json.dumps(to_plain(request)), encoding="utf-8")
        written = folder / f"report{SUFFIX}"
        ended, said = _run(_watch(ncu, written, request, folder), folder, device, seconds)
        if written.is_file() and written.stat().st_size >= REPORT_BYTES:
            raise ProfileFailed(f"the report exceeds {REPORT_BYTES // 2**20} MiB")
        if ended != 0 or not written.is_file():
            raise ProfileFailed(failure_text(said))
        raw = [str(ncu), "--import", str(written), "--csv", "--page", "raw", "--print-units", "base"]
        summary = summary_of(_run(raw, folder, device, seconds)[1])
        try:
            shutil.copyfile(written, file)
        except OSError as error:
            raise ProfileFailed(f"cannot write the report to {file} ({error.strerror})") from error
    return Profile(file, summary)


def find_ncu() -> Path | None:
    """Nsight Compute on PATH, or the newest in CUDA's usual folders."""
    if found := shutil.which("ncu"):
        return Path(found)
    for pattern in _PLACES:
        places = sorted(Path("/").glob(pattern.lstrip("/")), key=_by_version)
        if places:
            return places[-1]
    return None


def summary_of(table: str) -> ProfileSummary:
    """The figures of the first launch, from `ncu --csv --page raw`: names, units, and a line for each launch."""
    lines = table.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return ProfileSummary()
    names, units, *launches = [*csv.reader(lines[start : start + 3]), [], []][:3]
    if not launches[0]:
        return ProfileSummary()
    unit, values = dict(zip(names, units, strict=False)), dict(zip(names, launches[0], strict=False))
    time, scale = _number(values, _TIME), _IN_MS.get(unit.get(_TIME, ""))
    return ProfileSummary(
        ms=round(time * scale, 6) if time is not None and scale is not None else None,
        occupancy=_number(values, _OCCUPANCY),
        multiprocessors=_number(values, _MULTIPROCESSORS),
        memory=_number(values, _MEMORY),
    )


def failure_text(said: str) -> str:
    """Why there is no report, from Nsight Compute's output."""
    for sign, text in _KNOWN:
        if sign in said:
            return text
    errors = [line.removeprefix("==ERROR==").strip() for line in said.splitlines() if line.startswith("==ERROR==")]
    reason = errors[0] if errors else said.strip().splitlines()[-1] if said.strip() else "no output"
    return f"Nsight Compute wrote no report: {reason[:_EXCERPT]}"


def _watch(ncu: Path, report: Path, request: ProfileRequest, folder: Path) -> list[str]:
    return [
        str(ncu), "--clock-control", "none", "--set", "full",
        "--metrics", f"{_TIME},{_OCCUPANCY},{_MULTIPROCESSORS},{_MEMORY}",
        "--kernel-name-base", "mangled", "--kernel-name", request.module.entry, "--launch-count", "1",
        "--export", str(report), "--force-overwrite",
        sys.executable, "-I", "-c", _START, str(folder), *search_path(),
    ]  # fmt: skip


def _run(command: Sequence[str], folder: Path, device: int, seconds: float) -> tuple[int, str]:
    """A command's exit code and output. Raises ProfileFailed if it takes too long or doesn't start."""
    with (folder / "said.txt").open("w+b") as said:
        try:
            running = subprocess.Popen(
                command, cwd=folder, env=_environment(folder, device), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except OSError as error:
            raise ProfileFailed(f"{command[0]} did not start ({error.strerror})") from error
        try:
            _limit(running.pid)
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ProfileFailed(f"Nsight Compute ran longer than {seconds:g} s and was stopped") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        said.seek(0)
        return running.returncode, said.read(REPORT_BYTES).decode("utf-8", "replace")


def _limit(pid: int) -> None:
    """Limit the size of files that it and its child processes may write."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for kind, most in ((resource.RLIMIT_FSIZE, REPORT_BYTES), (resource.RLIMIT_CORE, 0)):
                resource.prlimit(pid, kind, (most, most))


def _environment(folder: Path, device: int) -> Mapping[str, str]:
    """The profiler's environment: the driver's and system's paths, and the folder for its own files."""
    passed_on = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "CUDA_PATH") if name in os.environ}
    return {
        **ENVIRONMENT,
        **passed_on,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": str(device),
        "CUPY_CACHE_IN_MEMORY": "1",
    }


def _number(values: Mapping[str, str], name: str) -> float | None:
    try:
        return float(values[name].replace(",", ""))
    except (KeyError, ValueError):
        return None


def _by_version(path: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))]
