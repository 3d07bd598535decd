"""The profiled process: one launch of a compiled kernel at one size, under Nsight Compute.

`worker.gpu.profile.nsight` starts it, with a folder that contains the request.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from kernels.judging.plan import CasePlan
from kernels.wire import from_plain
from worker.contract.measure_work import WireCode
from worker.gpu.backend import Backend, Code, DeviceFault, Timed
from worker.gpu.judge.filled_inputs import fill
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import Modules, place
from worker.gpu.timing.timings import kind_of

REQUEST = "request.json"


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """One launch.

    case: the case to launch; its `module` is ignored
    seed: of its inputs
    launch_seconds: a longer launch counts as endless; a profiler runs the kernel many times in one launch
    wall_seconds: the process ends itself after this time
    """

    judge: WireCode
    module: WireCode
    case: CasePlan
    seed: int
    launch_seconds: float = 50.0
    wall_seconds: int = 70


def launch_once(backend: Backend, request: ProfileRequest) -> Timed:
    """Launch once with a measurement's inputs and cold caches. Raises DeviceFault."""
    case = request.case
    assert case.launch is not None, "only a case that can be launched is profiled"
    judge = Judge(backend, Code(request.judge.ptx, request.judge.cubin_bytes))
    operands = place(backend, Modules(backend, (request.module,))[0], case)
    fill(backend, judge, operands, kind_of(case, 0), request.seed)
    return backend.timed(operands.kernel, case.launch, operands.arguments, request.launch_seconds)


def main() -> None:
    """Read the request in the folder, and launch on this process's only GPU."""
    folder = Path(sys.argv[1])
    request = from_plain(ProfileRequest, json.loads((folder / REQUEST).read_text(encoding="utf-8")))
    signal.alarm(request.wall_seconds)
    from worker.gpu.cupy_backend import opened

    try:
        launch_once(opened()(), request)
    except DeviceFault as fault:
        sys.exit(f"the launch failed ({fault})")


if __name__ == "__main__":
    main()
