"""What the runner process is asked, and what it answers. Plain JSON lines by kernels.wire.

After a request, the runner may write any number of questions before its answer: `{"ask": "numbers"}`, to which the
parent writes `{"inputs": n, "vector": n}`, two random numbers of 63 bits that nobody has seen before. `vector` is for
checking the launch that has just ended, `inputs` for making those of the next one.
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
    """SHA-256 of a PTX text: what was checked must be what is measured."""
    return hashlib.sha256(ptx.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Numbers:
    """The parent's random numbers: for checking what was just run, and for the inputs of what is run next."""

    inputs: int
    vector: int


@dataclass(frozen=True, slots=True)
class WireCode:
    """One compilation on its way to a runner.

    cubin: in base64
    entry: the mangled name of the kernel; "" for the judge's module, which has several
    globals: mangled names of module variables, by their names in the source
    """

    ptx: str
    cubin: str
    entry: str = ""
    globals: Mapping[str, str] = field(default_factory=dict)
    resources: Resources | None = None

    @property
    def cubin_bytes(self) -> bytes:
        return base64.b64decode(self.cubin)

    @property
    def ptx_digest(self) -> str:
        return digest(self.ptx)


@dataclass(frozen=True, slots=True)
class Prepare:
    """The first request to a runner: load the judge's own kernels and be ready.

    compiler: the version of NVRTC, for the record
    """

    judge: WireCode
    compiler: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The answer to it."""

    environment: Environment


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """A kernel to be judged on the GPU and, if it is right there, measured.

    plan: its cases that are small enough for the CPU device are judged first, with the same inputs as there
    modules: by `CasePlan.module`, the curve's cases included
    ranking: the case of the ranking size; None where nothing is to be measured
    curve: cases of other sizes, the smallest first
    metric: what the exercise ranks by
    launch_seconds: after which a launch counts as endless
    budget_seconds: for all repeats at the ranking size; the sizes of the curve get a part of it
    """

    plan: Plan
    modules: tuple[WireCode, ...]
    ranking: CasePlan | None
    curve: tuple[CasePlan, ...]
    metric: str
    launch_seconds: float = 5.0
    budget_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class DriverOccupancy:
    """What the driver says about the launch at the ranking size, or the largest that was run."""

    threads: int
    shared: int
    blocks_per_sm: int
    registers: int
    shared_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class MeasureResponse:
    """What the GPU showed.

    findings, checks: as of a check on the CPU device; the checks are named alike, the ranking size's included
    ptx_digests: of the modules that were run, in their order
    lost: whether the device could not go on after what this kernel did
    busy_ms: how long the device was at work for this job, judging included, also where nothing was measured
    environment: what judged it; None where the process had to be stopped
    """

    findings: tuple[Finding, ...]
    checks: tuple[CaseCheck, ...]
    measurement: Measurement | None = None
    occupancy: DriverOccupancy | None = None
    ptx_digests: tuple[str, ...] = ()
    lost: bool = False
    busy_ms: float = 0.0
    environment: Environment | None = None
