"""Each GPU runs one kernel at a time: of those that wait, the one whose submission came first."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from worker.contract.measure_work import MeasureRequest, MeasureResponse

Now = Callable[[], float]


class Runner(Protocol):
    """A process that measures one kernel."""

    def ready(self) -> object:
        """Wait until it is warm; raises SandboxFailure."""

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        """Hand it the kernel and wait; raises SandboxFailure."""

    def close(self) -> None:
        """End it."""


class Supply(Protocol):
    """Runners that were started ahead, all on one GPU."""

    def take(self) -> Runner:
        """The next; raises SandboxFailure where none can be started."""


@dataclass(slots=True)
class Turn:
    """One kernel's turn on a GPU; times are in seconds, None where it did not come so far.

    gpu: which of the lanes
    begun: it was this kernel's turn
    ready: a warm process was there for it
    ended: the answer was there
    failure: why there is no answer
    """

    number: int
    request: MeasureRequest
    gpu: int = 0
    begun: float | None = None
    ready: float | None = None
    ended: float | None = None
    answer: MeasureResponse | None = None
    failure: Exception | None = None
    runner: Runner | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def busy_ms(self) -> float:
        """How long the device was at work for it, as far as it could still be asked."""
        if self.answer is None:
            return 0.0
        return self.answer.busy_ms


class Lanes:
    """A thread for each GPU. Use as a context manager.

    turns: those that are over, as they ended
    """

    def __init__(self, supplies: Sequence[Supply], now: Now = time.monotonic) -> None:
        self.turns: list[Turn] = []
        self._now = now
        self._order = itertools.count()
        self._waiting: queue.PriorityQueue[tuple[float, int, Turn | None]] = queue.PriorityQueue()
        self._threads = [
            threading.Thread(target=self._run, args=(gpu, supply), name=f"gpu-{gpu}", daemon=True)
            for gpu, supply in enumerate(supplies)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let those that wait have their turn, then end."""
        for _ in self._threads:
            self._waiting.put((float("inf"), next(self._order), None))
        for thread in self._threads:
            thread.join()

    def measure(self, number: int, request: MeasureRequest) -> Turn:
        """Wait for this submission's turn and for its end.

        number: the submission's place in the order in which they came
        """
        if not self._threads:
            raise RuntimeError("there is no GPU here to measure on")
        turn = Turn(number, request)
        self._waiting.put((number, next(self._order), turn))
        turn.done.wait()
        # Ending a process that held a GPU takes a while; the lane goes on meanwhile.
        if turn.runner is not None:
            turn.runner.close()
        return turn

    def _run(self, gpu: int, supply: Supply) -> None:
        while (turn := self._waiting.get()[-1]) is not None:
            turn.gpu = gpu
            try:
                self._take_turn(turn, supply)
            except Exception as failure:  # noqa: BLE001 - it is raised where the kernel came from
                turn.failure = failure
            # What this kernel may have left running must not slow the next one down.
            if turn.runner is not None and (turn.answer is None or turn.answer.lost):
                turn.runner.close()
            turn.ended = self._now()
            self.turns.append(turn)
            turn.done.set()

    def _take_turn(self, turn: Turn, supply: Supply) -> None:
        turn.begun = self._now()
        turn.runner = supply.take()
        turn.runner.ready()
        turn.ready = self._now()
        turn.answer = turn.runner.measure(turn.request)
