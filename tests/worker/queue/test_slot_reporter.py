"""A slot's record, as the process that started the slot reads it."""

from __future__ import annotations

import json
import os

from worker.contract.messages import StepKind, Ticket
from worker.queue.slot_reporter import SlotReporter


def test_each_change_is_a_line():
    heard, tell = os.pipe()
    os.set_blocking(heard, False)
    try:
        reporter = SlotReporter("cpu-0", "cpu", "cpu", tell)
        reporter.begun(Ticket(5, StepKind.CHECK, "t"))
        reporter.ended(None)
        lines = [json.loads(line) for line in os.read(heard, 2**16).splitlines()]
    finally:
        os.close(heard)
        os.close(tell)
    assert [(line["state"], line["job"]) for line in lines] == [
        ("starting", None), ("busy", 5), ("idle", None),
    ]  # fmt: skip


def test_without_a_descriptor_nobody_is_told():
    reporter = SlotReporter("cpu-0", "cpu", "cpu")
    reporter.begun(Ticket(5, StepKind.CHECK, "t"))
    assert reporter.record.job == 5
