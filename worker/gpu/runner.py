"""The process with one device: its start before the lockdown, and its answers after it.

Only `worker.gpu.device_process` uses this module. The parent's side is `worker.gpu.spares`.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernels.judging.judge import PlanInputs, plan_inputs
from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Numbers, Prepare, Prepared
from worker.gpu import measure_step
from worker.gpu.backend import Backend, Code
from worker.gpu.judge.rehearsal import rehearse_backend, rehearse_judge, rehearse_library
from worker.gpu.judge.verification import Judge
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet
from worker.sandbox import child

CPU, GPU = "cpu", "gpu"
NUMBERS, DEVICE, FREE = "numbers", "device", "free"
"""The questions to the parent. It answers DEVICE when no other slot measures there, until FREE."""

# The judge's kernels take them as signed integers of 64 bits.
NUMBER_BITS = 63

_SAME_CLOCK_SECONDS = 1.0
"""After this time without work, the device may have another clock."""

Ask = Callable[[str], Callable[[], bytes]]


def load(device: str) -> Callable[[str], Callable[[], Backend]]:
    """Load the libraries, which search many folders, without using the device.

    The answer takes the compiler's version, and opens the driver. What that returns creates the device's context.
    """
    if device == GPU:
        from worker.gpu.cupy_backend import opened

        return opened
    if device == CPU:
        from worker.gpu.cpu_backend import CpuBackend

        return lambda compiler: lambda: CpuBackend(compiler)
    raise ValueError(f"unknown kind of device {device!r}")


def warm_up(device: str, compiler: str = "", quiet: Quiet = NOBODY_ELSE) -> Backend:
    """Start the device, and load all that a job needs, because nothing can be loaded after the lockdown.

    quiet: used for what slows down a launch on the device, so that a measurement waits only for this
    """
    child.load_judge()
    create = load(device)(compiler)
    with quiet.starting():
        backend = create()
    with quiet.starting():
        rehearse_backend(backend)
    return backend


def serve(backend: Backend, answers: int, quiet: Quiet = NOBODY_ELSE) -> None:
    """Answer the requests on standard input until its end."""
    lines = child.requests(0)

    def ask(question: str) -> Callable[[], bytes]:
        child.send(answers, {"ask": question})
        return lambda: next(lines, b"null")

    job = Job(backend, ask, quiet)
    # While Python looks for garbage, the device waits, up to 20 ms each time.
    gc.freeze()
    gc.disable()
    for line in lines:
        child.send(answers, child.answer(job.step, line))
        job.clear_up()
        gc.collect()


def numbers(line: bytes) -> Numbers:
    """The parent's reply to a question. Raises WireError."""
    found = from_plain(Numbers, json.loads(line))
    if found.inputs >> NUMBER_BITS or found.vector >> NUMBER_BITS:
        raise WireError(f"numbers must have at most {NUMBER_BITS} bits")
    return found


class Job:
    """The requests of one process: first the judge's kernels, then each kernel to judge and measure.

    ask: asks the parent a question, and returns a function that reads its reply
    """

    def __init__(self, backend: Backend, ask: Ask, quiet: Quiet = NOBODY_ELSE) -> None:
        self._backend = backend
        self._ask = ask
        self._quiet = quiet
        self._judge: Judge | None = None
        self._clock_mhz = 0
        self._ended = 0.0
        self._measured = False

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._judge is None:
            answer: object = self._prepare(from_plain(Prepare, request))
        else:
            asked = from_plain(MeasureRequest, request)
            # other slots can measure meanwhile
            inputs = plan_inputs(asked.plan)
            self._ask(DEVICE)()
            answer = measured = self._measure(asked, self._judge, inputs)
            if not measured.lost:
                # the answer takes a while to pack and to read
                self._ask(FREE)()
        plain: dict[str, Any] = to_plain(answer)
        return plain

    def clear_up(self) -> None:
        """Leave nothing of a measured kernel to the next. After another answer, the parent ends this process."""
        if self._judge is not None and self._measured:
            with self._quiet.starting():
                self._judge.reset()
                rehearse_judge(self._backend, self._judge)

    def _numbers(self) -> Callable[[], Numbers]:
        reply = self._ask(NUMBERS)
        return lambda: numbers(reply())

    def _measure(self, request: MeasureRequest, judge: Judge, inputs: PlanInputs) -> MeasureResponse:
        clock = self._clock_mhz if time.monotonic() - self._ended < _SAME_CLOCK_SECONDS else 0
        answer = measure_step.measure(request, self._backend, judge, self._numbers, self._quiet, clock, inputs)
        self._ended = time.monotonic()
        self._measured = answer.measurement is not None
        self._clock_mhz = answer.measurement.clocks.sm_mhz if answer.measurement is not None else 0
        return answer

    def _prepare(self, request: Prepare) -> Prepared:
        with self._quiet.starting():
            judge = Judge(self._backend, Code(request.judge.ptx, request.judge.cubin_bytes))
            rehearse_judge(self._backend, judge)
            rehearse_library(self._backend)
        self._judge = judge
        return Prepared(replace(self._backend.environment, compiler=request.compiler))
