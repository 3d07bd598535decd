"""Requests to the runner process and its answers, as JSON lines of kernels.wire.

Before the runner uses the GPU, it asks `{"ask": "device"}`. When no other slot measures there, the parent writes `{}`.

After that, it may ask `{"ask": "numbers"}` any number of times. The parent then writes
`{"inputs": n, "vector": n}` with two new random numbers of 63 bits. `vector` checks a launch, and `inputs` makes the
inputs of the next one. The runner asks just before the launch, and reads the reply after it.

When nothing runs on the GPU any more, it asks `{"ask": "free"}`. The parent lets another slot use the GPU, and writes
`{}`. Then the runner answers.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernels.compile.diagnostics import Resources
from kernels.judging.plan import CasePlan, Plan
from kernels.measurement import Environment, Measurement
from kernels.verdict import CaseCheck, Finding


def digest(ptx: str) -> str:
    """SHA-256 of a PTX text. It ensures that the measured code is the checked code."""
    return hashlib.sha256(ptx.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Numbers:
    """The parent's random numbers, for checking the last launch and for the inputs of the next one."""

    inputs: int
    vector: int


@dataclass(frozen=True, slots=True)
class WireCode:
    """One compiled module for a runner.

    cubin: in base64
    entry: mangled name of the kernel; "" for the judge's module, which has several
    globals: mangled names of module variables, by their names in the source
    others: mangled names of the kernels that are launched after `entry`, by their names in the source
    """

    ptx: str
    cubin: str
    entry: str = ""
    globals: Mapping[str, str] = field(default_factory=dict)
    resources: Resources | None = None
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def cubin_bytes(self) -> bytes:
        return base64.b64decode(self.cubin)

    @property
    def ptx_digest(self) -> str:
        return digest(self.ptx)


@dataclass(frozen=True, slots=True)
class Prepare:
    """The first request to a runner: load the judge's own kernels. compiler: the version of NVRTC, for the record."""

    judge: WireCode
    compiler: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The answer to Prepare."""

    environment: Environment


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often an experiment measures a kernel, in place of the usual number.

    number: exactly so many; 0 for as many as the interval needs
    interval: the largest distance of either end of the median's interval from the median, as a share
    """

    number: int = 0
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """A kernel to judge on the GPU and, if it is correct there, to measure.

    plan: its small cases are judged first, with the same inputs as on the CPU device
    modules: by `CasePlan.module`, also for the curve's cases
    ranking: the case of the ranking size; None to measure nothing
    curve: cases of other sizes, smallest first
    metric: the exercise's ranking metric
    launch_seconds: a longer launch counts as endless
    budget_seconds: for all repeats at the ranking size; the curve's sizes get a share of it
    repeats: None for the usual number within that budget
    solution: the exercise's solution, by `CasePlan.module`, for the operation SOLUTION
    """

    plan: Plan
    modules: tuple[WireCode, ...]
    ranking: CasePlan | None
    curve: tuple[CasePlan, ...]
    metric: str
    launch_seconds: float = 5.0
    budget_seconds: float = 1.0
    repeats: Repeats | None = None
    solution: tuple[WireCode, ...] = ()


@dataclass(frozen=True, slots=True)
class DriverOccupancy:
    """The driver's figures for the launch at the ranking size, or at the largest size that ran."""

    threads: int
    shared: int
    blocks_per_sm: int
    registers: int
    shared_bytes: int
    local_bytes: int


NO_MEMORY = "not run, because the GPU has too little memory for it"
"""Why a case wasn't run, or a size not measured."""


@dataclass(frozen=True, slots=True)
class MeasureResponse:
    """The GPU's findings and measurement.

    findings, checks: as in a check on the CPU device, but the ranking size is checked too
    ptx_digests: of the modules that ran, in order
    lost: the kernel left the device unusable
    busy_ms: GPU time for this job with judging, even if nothing was measured
    environment: of the judge; None if the process had to be stopped
    """

    findings: tuple[Finding, ...]
    checks: tuple[CaseCheck, ...]
    measurement: Measurement | None = None
    occupancy: DriverOccupancy | None = None
    ptx_digests: tuple[str, ...] = ()
    lost: bool = False
    busy_ms: float = 0.0
    environment: Environment | None = None

    @property
    def complete(self) -> bool:
        """Whether the kernel was measured, and every case and size had enough memory."""
        if self.lost or self.measurement is None:
            return False
        reasons = (*self.measurement.left_out, *(check.note for check in self.checks))
        return not any(reason.endswith(NO_MEMORY) for reason in reasons)
