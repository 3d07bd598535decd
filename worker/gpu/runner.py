"""The process that drives one device for one job: what it loads before its lock, and what it answers after it.

Of its module only `worker.gpu.device_process` makes use. The parent's side is `worker.gpu.spares`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest, Numbers, Prepare, Prepared
from worker.gpu import measure_step
from worker.gpu.backend import Backend, Code
from worker.gpu.judge.rehearsal import rehearse_backend, rehearse_judge
from worker.gpu.judge.verification import Judge
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet
from worker.sandbox import child

CPU, GPU = "cpu", "gpu"
NUMBERS = "numbers"
"""The one question there is."""

NUMBER_BITS = 63

Ask = Callable[[], Numbers]


def load(device: str) -> Callable[[str], Backend]:
    """Load the libraries, which look for each other in many places, and leave the device alone."""
    if device == GPU:
        from worker.gpu.cupy_backend import CupyBackend

        return CupyBackend
    if device == CPU:
        from worker.gpu.cpu_backend import CpuBackend

        return CpuBackend
    raise ValueError(f"there is no device of the kind {device!r}")


def open_driver(device: str) -> None:
    """What comes before the context, where the device has one."""
    if device == GPU:
        from worker.gpu import cupy_backend

        cupy_backend.open_driver()


def warm_up(device: str, compiler: str = "", quiet: Quiet = NOBODY_ELSE) -> Backend:
    """Start the device and load all that a job will need: afterwards nothing can be loaded.

    quiet: in three parts, so that what is timed need not wait for all of them
    """
    child.load_judge()
    with quiet.starting():
        open_driver(device)
    with quiet.starting():
        backend = load(device)(compiler)
    with quiet.starting():
        rehearse_backend(backend)
    return backend


def serve(backend: Backend, answers: int, quiet: Quiet = NOBODY_ELSE) -> None:
    """Answer the lines on standard input until there are no more."""
    lines = child.requests(0)

    def ask() -> Numbers:
        child.send(answers, {"ask": NUMBERS})
        return numbers(next(lines, b"null"))

    job = Job(backend, ask, quiet)
    for line in lines:
        child.send(answers, child.answer(job.step, line))


def numbers(line: bytes) -> Numbers:
    """The parent's reply to a question; raises WireError where it is none."""
    found = from_plain(Numbers, json.loads(line))
    if found.inputs >> NUMBER_BITS or found.vector >> NUMBER_BITS:
        raise WireError(f"a number of {NUMBER_BITS} bits is needed")
    return found


class Job:
    """The two requests of one job, in their order: first what to judge with, then what to judge and measure."""

    def __init__(self, backend: Backend, ask: Ask, quiet: Quiet = NOBODY_ELSE) -> None:
        self._backend = backend
        self._ask = ask
        self._quiet = quiet
        self._judge: Judge | None = None

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._judge is None:
            answer: object = self._prepare(from_plain(Prepare, request))
        else:
            given = from_plain(MeasureRequest, request)
            answer = measure_step.measure(given, self._backend, self._judge, self._ask, self._quiet)
        plain: dict[str, Any] = to_plain(answer)
        return plain

    def _prepare(self, request: Prepare) -> Prepared:
        with self._quiet.starting():
            judge = Judge(self._backend, Code(request.judge.ptx, request.judge.cubin_bytes))
            rehearse_judge(self._backend, judge)
        self._judge = judge
        return Prepared(replace(self._backend.environment, compiler=request.compiler))
