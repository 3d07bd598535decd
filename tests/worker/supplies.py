"""Stands where the warm processes for a GPU stand: what they answer is set by the test."""

from __future__ import annotations

import threading
from collections.abc import Callable

from worker.contract.measure_work import MeasureRequest, MeasureResponse

Answer = Callable[[MeasureRequest], MeasureResponse]


def right(request: MeasureRequest) -> MeasureResponse:
    """As if nothing was wrong with the kernel."""
    return MeasureResponse(
        (), (), ptx_digests=tuple(code.ptx_digest for code in request.modules), busy_ms=10.0
    )


class Runner:
    def __init__(self, supply: Supply) -> None:
        self.supply = supply
        self.closed_by: list[str] = []

    def ready(self) -> None:
        pass

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        with self.supply.alone:
            self.supply.requests.append(request)
            return self.supply.answer(request)

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
