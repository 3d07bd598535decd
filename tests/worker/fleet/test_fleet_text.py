from __future__ import annotations

from dataclasses import replace

from kernels.rendering.text_style import Style
from worker.commands.worker.status import fleet_json, fleet_text
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState

IDLE = SlotRecord("cpu-0", "cpu", "cpu", WorkerState.IDLE, done=12, failed=1)
BUSY = SlotRecord("gpu-0", "gpu.h200", "NVIDIA H200", WorkerState.BUSY, job=417, step="measure", since=97.0, done=9)
RECORD = WorkerRecord(
    "one-1-ab", "one", 1, WorkerState.BUSY, (IDLE, BUSY), 1.0, beat=99.0,
    versions={"tilelab": "0.1.0", "driver": "580.1", "python": "3.11"},
)  # fmt: skip


def lines(*records: WorkerRecord) -> list[list[str]]:
    text = fleet_text(records, 100.0, 15.0, Style())
    return [[cell for cell in line.split("  ") if cell] for line in text.splitlines()]


def test_the_table_has_a_row_for_each_slot():
    head, first, second = [[cell.strip() for cell in row] for row in lines(RECORD)]
    assert head == [
        "worker", "host", "slot", "device", "state", "job", "done", "failed", "last heartbeat", "versions",
    ]  # fmt: skip
    assert first == [
        "one-1-ab", "one", "cpu-0", "cpu", "idle", "12", "1", "1 s ago", "tilelab 0.1.0 driver 580.1",
    ]  # fmt: skip
    assert second == ["gpu-0", "NVIDIA H200", "busy", "417 measure, 3 s", "9", "0"]


def test_a_silent_worker_and_a_reason_are_told_below():
    text = fleet_text(
        [replace(RECORD, beat=80.0), replace(RECORD, id="two", state=WorkerState.OUT, reason="a\nfault")],
        100.0, 15.0, Style(),
    )  # fmt: skip
    assert "one-1-ab is silent. It may have ended" in text
    rows = text.splitlines()
    assert "silent" in rows[1]
    assert "20 s ago" in rows[1]
    assert "417" not in rows[2], "what it was at is done elsewhere"
    assert "  out  " in rows[3]
    assert "busy" in rows[4], "it has a step in work all the same"
    assert rows[-1].startswith("two: a")
    assert rows[-1].endswith("fault")


def test_what_a_worker_says_cannot_reach_the_terminal():
    assert "\x1b" not in fleet_text([replace(RECORD, host="\x1b[2J", reason="\x1b[31m")], 100.0, 15.0, Style())


def test_colours_are_there_where_they_are_wanted():
    assert "\x1b[31msilent" in fleet_text([replace(RECORD, beat=0.0)], 100.0, 15.0, Style(colour=True))


def test_nobody_there_says_what_to_do():
    assert "`tilelab worker start`" in fleet_text([], 100.0, 15.0, Style())


def test_json_has_sums_and_who_is_silent():
    found = fleet_json([RECORD], 100.0, 0.5)
    assert found["now"] == 100.0
    (worker,) = found["workers"]
    assert (worker["done"], worker["failed"], worker["silent"], worker["slots"][1]["job"]) == (21, 1, True, 417)
