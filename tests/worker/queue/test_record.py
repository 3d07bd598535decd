"""A slot's record, as the process that started the slot reads it."""

from __future__ import annotations

import json
import os

from worker.contract.messages import StepKind, Ticket
from worker.queue.record import Teller


def test_each_change_is_a_line():
    heard, tell = os.pipe()
    os.set_blocking(heard, False)
    try:
        teller = Teller("cpu-0", "cpu", "cpu", tell)
        teller.begun(Ticket(5, StepKind.CHECK, "t"))
        teller.ended(None)
        lines = [json.loads(line) for line in os.read(heard, 2**16).splitlines()]
    finally:
        os.close(heard)
        os.close(tell)
    assert [(line["state"], line["job"]) for line in lines] == [
        ("starting", None), ("busy", 5), ("idle", None),
    ]  # fmt: skip


def test_without_a_descriptor_nobody_is_told():
    teller = Teller("cpu-0", "cpu", "cpu")
    teller.begun(Ticket(5, StepKind.CHECK, "t"))
    assert teller.record.job == 5
