"""The workers' board in a real Redis."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from kernels.wire import to_plain
from worker.contract.broker import connect_redis
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.redis_fleet import RedisFleet

SLOT = SlotRecord("gpu-0", "gpu.h200", "NVIDIA H200", WorkerState.BUSY, 7, "measure", 1.0, 3, 1, 0, 12.5)


def record(worker: str = "host-1-a", state: WorkerState = WorkerState.IDLE) -> WorkerRecord:
    classes, versions = {"h200": "sm_90"}, {"tilelab": "0.1"}
    return WorkerRecord(worker, "host", 1, state, (SLOT,), 5.0, 0.0, "", classes, versions)


@pytest.fixture
def client(redis_url):
    with connect_redis(redis_url) as client:
        yield client


def test_what_a_worker_tells_is_on_the_board_with_the_time_of_redis(client):
    fleet = RedisFleet(client)
    before = fleet.now()
    assert abs(before - time.time()) < 60
    assert fleet.tell(record()) is Wanted.WORK
    assert fleet.tell(record("host-2-b")) is Wanted.WORK
    found = {each.id: each for each in fleet.workers()}
    assert set(found) == {"host-1-a", "host-2-b"}
    one = found["host-1-a"]
    assert before - 0.01 <= one.beat <= fleet.now() + 0.01
    assert one.slots == (SLOT,)
    assert one.device_classes == {"h200": "sm_90"}
    assert (one.done, one.failed) == (3, 1)


@pytest.mark.parametrize("change", [lambda it: it.pop("versions"), lambda it: it.update(more=1)])
def test_a_record_of_an_older_or_newer_worker_is_read(client: Any, change: Any) -> None:
    fleet = RedisFleet(client)
    fleet.tell(record())
    plain = to_plain(record())
    change(plain)
    client.set("tilelab:worker:host-1-a", json.dumps(plain))
    assert [each.id for each in fleet.workers()] == ["host-1-a"]


@pytest.mark.parametrize(("ahead", "said"), [(0, False), (60, True), (-60, True)])
def test_a_worker_reports_that_its_clock_is_wrong(
    client: Any, monkeypatch: pytest.MonkeyPatch, ahead: float, said: bool
) -> None:
    now = time.time
    monkeypatch.setattr("worker.contract.redis_fleet.time.time", lambda: now() + ahead)
    fleet = RedisFleet(client)
    fleet.tell(record())
    (found,) = fleet.workers()
    assert ("60 s" in found.reason) is said


def test_a_record_that_cannot_be_read_is_said_once(client, caplog):
    fleet = RedisFleet(client)
    fleet.tell(record())
    fleet.tell(record("host-2-b"))
    client.set("tilelab:worker:host-2-b", '{"of": "another version"}')
    for _ in range(3):
        assert [each.id for each in fleet.workers()] == ["host-1-a"]
    assert caplog.text.count("cannot read a worker's record") == 1


def test_who_leaves_is_off_the_board(client):
    fleet = RedisFleet(client)
    fleet.tell(record())
    fleet.want("host-1-a", Wanted.DRAIN)
    fleet.leave("host-1-a")
    assert fleet.workers() == []
    assert client.keys("tilelab:*") == []


def test_a_worker_hears_what_is_wanted_of_it(client):
    fleet = RedisFleet(client)
    fleet.tell(record())
    fleet.want("host-1-a", Wanted.DRAIN)
    assert fleet.tell(record()) is Wanted.DRAIN
    assert fleet.tell(record("host-2-b")) is Wanted.WORK
    fleet.want("host-1-a", Wanted.WORK)
    assert fleet.tell(record(state=WorkerState.DRAINED)) is Wanted.WORK


def test_a_drained_worker_stays_so_when_redis_has_forgotten_everything(client):
    fleet = RedisFleet(client)
    fleet.want("host-1-a", Wanted.DRAIN)
    assert fleet.tell(record()) is Wanted.DRAIN
    client.flushall()
    assert fleet.tell(record(state=WorkerState.DRAINED)) is Wanted.DRAIN
    assert fleet.tell(record()) is Wanted.DRAIN, "it is remembered again"


def test_a_silent_worker_is_forgotten(client):
    fleet = RedisFleet(client)
    fleet.tell(record())
    # as it expires
    client.delete("tilelab:worker:host-1-a")
    assert fleet.workers() == []
    fleet.tell(record("host-2-b"))
    assert client.smembers("tilelab:worker-ids") == {"host-2-b"}


def test_a_worker_reports_for_no_other(client):
    fleet = RedisFleet(client)
    fleet.tell(record())
    client.sadd("tilelab:worker-ids", "host-2-b")
    client.set("tilelab:worker:host-2-b", str(client.get("tilelab:worker:host-1-a")))
    assert [each.id for each in fleet.workers()] == ["host-1-a"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"id": "x"}', "[" * 5000, "x" * 2**19])
def test_a_record_that_cannot_be_read_hides_no_other(client, text):
    fleet = RedisFleet(client)
    fleet.tell(record())
    fleet.tell(record("host-2-b"))
    client.set("tilelab:worker:host-1-a", text)
    assert [each.id for each in fleet.workers()] == ["host-2-b"]
