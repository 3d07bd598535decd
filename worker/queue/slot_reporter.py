"""A slot's reports to its parent process: its record as a line of JSON at each change, and heartbeats."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from kernels.wire import to_plain
from worker.contract.fleet import SlotRecord, WorkerState
from worker.contract.messages import StepResult, Ticket
from worker.supervision.heartbeat import EVERY_SECONDS, prepare, tell_beat
from worker.workplaces.workplace import is_doubtful


class SlotReporter:
    """Keeps a slot's record and reports it. For the slot's main thread, except `beat`."""

    def __init__(self, name: str, queue: str, device: str, descriptor: int | None = None) -> None:
        """descriptor: of the parent's pipe; None to report nothing."""
        self.record = SlotRecord(name, queue, device, WorkerState.STARTING)
        self._descriptor = descriptor
        if descriptor is not None:
            prepare(descriptor)
        # The parent shows the slot while its first processes start, which takes seconds.
        self._tell()

    def beat(self) -> None:
        if self._descriptor is not None:
            tell_beat(self._descriptor)

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Send heartbeats from a thread while the body runs, which may take longer than the allowed silence."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(EVERY_SECONDS):
                self.beat()

        thread = threading.Thread(target=run, name="busy", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def begun(self, ticket: Ticket) -> None:
        self._change(state=WorkerState.BUSY, job=ticket.job, step=ticket.kind.value, since=time.time())

    def ended(self, result: StepResult | None) -> None:
        """Record the end of a step. result: None if the claim was lost, which says nothing about this slot."""
        if result is not None and not result.given_back:
            failed, doubtful = bool(result.fault), is_doubtful(result.fault)
            self.record = replace(
                self.record,
                done=self.record.done + (not failed),
                failed=self.record.failed + failed,
                failed_in_row=self.record.failed_in_row + 1 if failed else 0,
                doubtful_in_row=self.record.doubtful_in_row + doubtful if failed else 0,
                busy_ms=round(self.record.busy_ms + result.busy_ms, 3),
            )
        self.at(WorkerState.IDLE)

    def useless(self) -> None:
        """Count a message that this slot can't read as a failure."""
        self.record = replace(self.record, failed=self.record.failed + 1, failed_in_row=self.record.failed_in_row + 1)
        self.at(WorkerState.IDLE)

    def at(self, state: WorkerState) -> None:
        """Set a state without a running step."""
        self._change(state=state, job=None, step="", since=time.time())

    def _change(self, state: WorkerState, job: int | None, step: str, since: float) -> None:
        self.record = replace(self.record, state=state, job=job, step=step, since=since)
        self._tell()

    def _tell(self) -> None:
        if self._descriptor is None:
            return
        line = json.dumps(to_plain(self.record), separators=(",", ":")).encode() + b"\n"
        # a parent that doesn't read misses a line; the next one has the whole record again
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, line)
