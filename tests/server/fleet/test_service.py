"""Workers as the database knows them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from server.database.engine import Sessions
from server.fleet.models import Worker
from server.fleet.service import at_once, copy_workers, device_classes, known_workers, live, slots
from tests.server.databases import ON_BOTH
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState

pytestmark = ON_BOTH

BEAT = 1_800_000_000.0
NOW = datetime.fromtimestamp(BEAT, UTC)


def worker(name: str, *states: WorkerState, queue: str = "cpu", beat: float = BEAT) -> WorkerRecord:
    told = tuple(SlotRecord(f"s{i}", queue, "", state) for i, state in enumerate(states))
    return WorkerRecord(name, "host", 1, WorkerState.BUSY, told, 0.0, beat, device_classes={"h200": "sm_90"})


def test_only_slots_that_take_steps_count():
    state = WorkerState
    records = [
        worker("a", state.IDLE, state.BUSY, state.OUT, state.DRAINED),
        worker("b", state.IDLE, queue="gpu.h200"),
        replace(worker("c", state.IDLE), state=state.DRAINING),
    ]
    assert slots(records) == {"cpu": 2, "gpu.h200": 1}


def test_the_slots_of_a_gpu_share_it():
    assert [at_once("cpu", slots) for slots in (0, 1, 2)] == [0, 1, 2]
    assert [at_once("gpu.h200", slots) for slots in (0, 1, 3, 6)] == [0, 1, 1, 2]


def test_who_was_silent_for_long_does_not_live():
    assert [each.id for each in live([worker("a"), worker("b", beat=BEAT - 60)], BEAT)] == ["a"]


def test_workers_come_into_the_table_and_are_gone_when_silent(made: Sessions):
    with made.begin() as session:
        copy_workers(session, [worker("a", WorkerState.IDLE), worker("b")], BEAT)
    with made.begin() as session:
        copy_workers(session, [worker("a", WorkerState.IDLE, beat=BEAT + 40), worker("b")], BEAT + 40)
    with made.begin() as session:
        a, b = session.get_one(Worker, "a"), session.get_one(Worker, "b")
        assert (a.state, b.state) == ("busy", "gone")
        assert a.first_seen == NOW
        assert a.last_beat.timestamp() == BEAT + 40
        assert [each.id for each in known_workers(session, NOW)] == ["a"]
        assert device_classes(session, NOW) == {"h200": "sm_90"}
        a.record = {"of": "another version"}
    with made.begin() as session:
        assert known_workers(session, NOW) == []


@pytest.mark.parametrize("minutes", [3, 600])
def test_a_table_that_nobody_writes_any_more_tells_of_nobody(made: Sessions, minutes):
    with made.begin() as session:
        copy_workers(session, [worker("a")], BEAT)
        later = datetime.fromtimestamp(BEAT + 60 * minutes, UTC)
        assert known_workers(session, later) == []


def test_two_may_write_at_once(made: Sessions):
    together = threading.Barrier(4)

    def write(_: int) -> None:
        together.wait()
        with made.begin() as session:
            copy_workers(session, [worker("b"), worker("a")], BEAT)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with made.begin() as session:
        assert [each.id for each in known_workers(session, NOW)] == ["a", "b"]
