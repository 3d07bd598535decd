"""Stands where the warm processes for a GPU stand: what they answer is set by the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernels.measurement import Environment, Measurement
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.gpu.spares import Spares
from worker.workplaces.gpu import GpuWorkplace

Answer = Callable[[MeasureRequest], MeasureResponse]


def right(request: MeasureRequest) -> MeasureResponse:
    """As if nothing was wrong with the kernel."""
    return MeasureResponse((), (), ptx_digests=tuple(code.ptx_digest for code in request.modules), busy_ms=10.0)


def measured(request: MeasureRequest, ms: float = 1.0) -> MeasureResponse:
    """As if every repeat took so long."""
    answer = right(request)
    environment = Environment("GPU", "gpu", "9.0", 1, 1, 1, "", "", "")
    measurement = Measurement(
        sizes={"Width": 2048},
        ms_median=ms,
        ci=(ms, ms),
        spread=(ms, ms),
        repeats=7,
        settled=True,
        gflops=100 / ms,
        cublas_share=0.5,
        metric="gflops",
        environment=environment,
    )
    return MeasureResponse((), (), measurement, ptx_digests=answer.ptx_digests, busy_ms=5.0)


class Runner:
    isolation = None
    usable = True
    reaches_host = False

    def __init__(self, supply: Supply) -> None:
        self.supply = supply
        self.closed_by: list[str] = []

    def measure(self, request: MeasureRequest, progress: object, turn: object, *, last: bool) -> MeasureResponse:
        self.usable = not last
        with self.supply.alone:
            self.supply.requests.append(request)
            return self.supply.answer(request)

    def kill(self) -> None:
        pass

    def close(self) -> None:
        self.closed_by.append(threading.current_thread().name)


class Supply:
    """Keeps what was asked, and every runner that was taken."""

    def __init__(self, answer: Answer = right) -> None:
        self.answer = answer
        self.requests: list[MeasureRequest] = []
        self.runners: list[Runner] = []
        self.alone = threading.Lock()

    def take(self) -> Runner:
        self.runners.append(Runner(self))
        return self.runners[-1]


class GpuPlace(GpuWorkplace):
    """The workplace of a slot with an h200, whose processes are the test's."""

    def __init__(self, supply: Supply, device_class: str = "h200") -> None:
        super().__init__(0, device_class, "sm_90", Path("/nowhere"))
        self._supply: Any = supply

    def _start(self) -> Spares:
        found: Spares = self._supply
        return found
