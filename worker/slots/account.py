"""A slot's counts over all its processes since the worker started."""

from __future__ import annotations

import json
from dataclasses import replace

from kernels.wire import WireError, from_plain
from worker.contract.fleet import SlotRecord, WorkerState
from worker.slots.plan import Slot
from worker.supervision.parts import STEADY_SECONDS

_LONGEST_RECORD = 2**12
_WITHOUT_PROCESS = {
    WorkerState.DRAINING: WorkerState.DRAINED,
    WorkerState.DRAINED: WorkerState.DRAINED,
    WorkerState.OUT: WorkerState.OUT,
    WorkerState.STOPPING: WorkerState.STOPPING,
}
"""The state of a slot without a process, by the state of its worker."""


class SlotAccount:
    """Adds up the reports of a slot's processes.

    failed_in_row: failures since the last successful step. A process that died counts if a step was running, or soon
        after its start.
    doubtful_in_row: failures among them that the submissions may have caused
    """

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.failed_in_row = 0
        self.doubtful_in_row = 0
        self._now = self._new()
        self._before = self._now

    @property
    def record(self) -> SlotRecord:
        """The slot's record since the worker's start."""
        now, before = self._now, self._before
        return replace(
            now,
            done=before.done + now.done,
            failed=before.failed + now.failed,
            failed_in_row=self.failed_in_row,
            doubtful_in_row=self.doubtful_in_row,
            busy_ms=round(before.busy_ms + now.busy_ms, 3),
        )

    def as_seen(self, worker: WorkerState, *, there: bool) -> SlotRecord:
        """The record for the report of a worker in this state.

        there: whether the slot has a process, or will have one soon
        """
        record = self.record
        return record if there else replace(record, state=_WITHOUT_PROCESS.get(worker, record.state))

    def told(self, line: str) -> None:
        """Read a report of the slot's process. Ignores invalid lines."""
        try:
            told = from_plain(SlotRecord, json.loads(line)) if len(line) <= _LONGEST_RECORD else None
        except (WireError, ValueError, RecursionError):
            return
        if told is None or told.name != self.slot.name:
            return
        if told.done > self._now.done:
            # A success ends the row of failures, also of earlier processes.
            self.failed_in_row, self.doubtful_in_row = told.failed_in_row, told.doubtful_in_row
        else:
            self.failed_in_row += told.failed - self._now.failed
            self.doubtful_in_row += told.doubtful_in_row - self._now.doubtful_in_row
        self._now = told

    def died(self, lived_seconds: float) -> None:
        """Count the death of the slot's process."""
        lost = self._now.job is not None
        self.gone()
        if lost:
            self._before = replace(self._before, failed=self._before.failed + 1)
        if lost or lived_seconds < STEADY_SECONDS:
            self.failed_in_row += 1

    def gone(self) -> None:
        self._before, self._now = self.record, self._new()

    def forgive(self) -> None:
        """Forget past failures, because an operator resumed the worker."""
        self.failed_in_row = self.doubtful_in_row = 0

    def _new(self) -> SlotRecord:
        return SlotRecord(self.slot.name, self.slot.queue, self.slot.device, WorkerState.STARTING)
