"""What a slot tells the process that started it: its record, as a line of JSON, whenever that changes."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import replace

from kernels.wire import to_plain
from worker.fleet import SlotRecord, WorkerState
from worker.messages import StepResult, Ticket
from worker.workplace import is_doubtful


class Teller:
    """Keeps a slot's record and tells it. For the slot's main thread."""

    def __init__(self, name: str, queue: str, device: str, descriptor: int | None = None) -> None:
        """descriptor: of a pipe; None to tell nobody."""
        self.record = SlotRecord(name, queue, device, WorkerState.STARTING)
        self._descriptor = descriptor
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)
        self._tell()

    def begun(self, ticket: Ticket) -> None:
        """A step is in work."""
        self._change(state=WorkerState.BUSY, job=ticket.job, step=ticket.kind.value, since=time.time())

    def ended(self, result: StepResult | None) -> None:
        """It no longer is. result: None where it was lost, which says nothing about this slot."""
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
        """A message came that this slot cannot read: with more of them, it is of no use here."""
        self.record = replace(
            self.record, failed=self.record.failed + 1, failed_in_row=self.record.failed_in_row + 1
        )
        self.at(WorkerState.IDLE)

    def at(self, state: WorkerState) -> None:
        """No step is in work."""
        self._change(state=state, job=None, step="", since=time.time())

    def _change(self, state: WorkerState, job: int | None, step: str, since: float) -> None:
        self.record = replace(self.record, state=state, job=job, step=step, since=since)
        self._tell()

    def _tell(self) -> None:
        if self._descriptor is None:
            return
        line = json.dumps(to_plain(self.record), separators=(",", ":")).encode() + b"\n"
        # one who does not read, or is gone, misses a line; the next holds all that it said
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, line)
