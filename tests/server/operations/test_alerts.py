"""The alert rules fire where they should, and the reference lists every metric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
import yaml
from prometheus_client.core import Metric
from sqlalchemy import Engine

from server.database.engine import Sessions, connect
from server.dispatching.dispatch import take
from server.fleet.service import copy_workers
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis
from server.submissions.verdicts import give_up
from tests.server.compose_file import ROOT
from tests.server.course import NOW, ACourse, step_of
from tests.server.operations.promql import Samples, evaluate
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE

RULES = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"][0]["rules"]
PAGE = (ROOT / "docs" / "server-reference.md").read_text()
NAME = re.compile(r"tilelab_[a-z_]+")


@pytest.fixture
def families(sqlite_url) -> Iterator[list[Metric]]:
    engine = connect(sqlite_url)
    yield list(TilelabCollector(engine, lambda: InRedis({}, 0, 0)).collect())
    engine.dispose()


def names(families: list[Metric]) -> set[str]:
    """As a query has them."""
    return {f"{each.name}_total" if each.type == "counter" else each.name for each in families}


def test_rules_ask_for_what_there_is_and_say_what_to_do(families):
    assert len(RULES) == 7
    for rule in RULES:
        asked = NAME.findall(rule["expr"])
        assert asked
        assert set(asked) <= names(families)
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def test_every_metric_is_explained_and_no_other(families):
    chapter = PAGE.partition("## Metrics and alerts")[2].partition("\n## ")[0]
    assert {match for match in NAME.findall(chapter) if match != "tilelab_"} == names(families)


WELL = InRedis({"dispatcher": 1, "recorder": 1}, 0, 0)


@dataclass
class Scene:
    """A server whose metrics Prometheus reads twice."""

    course: ACourse
    engine: Engine
    in_redis: InRedis = WELL
    now: datetime = NOW
    before: Samples = field(default_factory=dict)

    def read(self) -> Samples:
        collector = TilelabCollector(self.engine, lambda: self.in_redis, lambda: self.now)
        found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {("up", frozenset({("job", "tilelab")})): 1.0}
        for family in collector.collect():
            for sample in family.samples:
                labels = {**sample.labels, "job": "tilelab", "instance": "portal"}
                found[sample.name, frozenset(labels.items())] = sample.value
        return found

    def firing(self) -> dict[str, set[str]]:
        """The queues or processes that each rule fires for."""
        now = self.read()
        found = {rule["alert"]: evaluate(rule["expr"], now, self.before or now) for rule in RULES}
        wanted = {"queue", "process", "why"}
        return {
            name: {value for labels in vector for label, value in labels if label in wanted}
            for name, vector in found.items()
            if vector
        }

    def worker(self, state: WorkerState, *queues: str, living: bool = True) -> None:
        told = tuple(SlotRecord(f"slot-{i}", queue, "", WorkerState.IDLE) for i, queue in enumerate(queues))
        record = WorkerRecord("w", "host", 1, state, told, 0.0, self.now.timestamp())
        with self.course.sessions.begin() as session:
            copy_workers(session, [record] if living else [], self.now.timestamp())


@pytest.fixture
def scene(made: Sessions, engine: Engine) -> Scene:
    found = Scene(ACourse.make(made), engine)
    found.worker(WorkerState.IDLE, CPU_QUEUE, "gpu.h200")
    assert found.firing() == {}
    return found


@pytest.mark.parametrize("sent", [False, True])
def test_a_lost_gpu_host_is_told_whether_its_work_was_sent_or_not(scene: Scene, sent: bool) -> None:
    job = scene.course.job("ada")
    with scene.course.sessions.begin() as session:
        step_of(session, job).queue = "gpu.h200"
    if sent:
        with scene.course.sessions.begin() as session:
            assert take(session, "gpu.h200", slots=1, cap=5, now=NOW)
    assert scene.firing() == {}
    scene.worker(WorkerState.IDLE, CPU_QUEUE, living=False)
    scene.worker(WorkerState.IDLE, CPU_QUEUE)
    assert scene.firing() == {"TilelabNothingIsGraded": {"gpu.h200"}}


def test_one_submission_that_was_sent_and_not_begun_is_a_long_wait(scene: Scene) -> None:
    scene.course.job("ada")
    with scene.course.sessions.begin() as session:
        assert take(session, CPU_QUEUE, slots=1, cap=5, now=NOW)
    scene.now = NOW + timedelta(minutes=31)
    scene.worker(WorkerState.IDLE, CPU_QUEUE, "gpu.h200")
    assert scene.firing() == {"TilelabWaitIsLong": {CPU_QUEUE}}


def test_a_disk_that_fills_is_told_before_the_floor(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    read = scene.read
    floor = 100.0

    def with_free(free: float) -> Samples:
        labels = frozenset({("job", "tilelab")})
        disk = {("tilelab_database_free_bytes", labels): free, ("tilelab_database_free_floor_bytes", labels): floor}
        others = {each: value for each, value in read().items() if "_free_" not in each[0]}
        return {**others, **disk}

    monkeypatch.setattr(scene, "read", lambda: with_free(5 * floor))
    assert scene.firing() == {}
    monkeypatch.setattr(scene, "read", lambda: with_free(3 * floor))
    assert len(scene.firing()) == 1


def test_a_process_that_is_gone_is_named(scene: Scene) -> None:
    scene.in_redis = InRedis({"recorder": 1}, 0, 0)
    assert scene.firing() == {"TilelabPartIsDown": {"dispatcher"}}


def test_a_refused_result_is_told_with_its_reason(scene: Scene) -> None:
    scene.before = scene.read()
    scene.in_redis = InRedis(WELL.processes, 0, 0, {"work": 1})
    assert scene.firing() == {"TilelabResultsAreRefused": {"work"}}


def test_a_new_fault_and_a_worker_that_is_out_are_told(scene: Scene) -> None:
    scene.before = scene.read()
    job = scene.course.job("ada")
    with scene.course.sessions.begin() as session:
        (step,) = take(session, CPU_QUEUE, slots=1, cap=5, now=NOW)
        assert step.job_id == job
        give_up(session, step, "broken", NOW)
    scene.worker(WorkerState.OUT, CPU_QUEUE)
    assert scene.firing().keys() == {"TilelabFaults", "TilelabWorkerIsOut"}


def test_queues_of_assignments_are_told_before_anything_is_in_them(scene: Scene) -> None:
    scene.worker(WorkerState.IDLE, CPU_QUEUE, living=False)
    families = {name for name, labels in scene.read() if ("queue", "gpu.h200") in labels}
    assert families >= {
        "tilelab_steps_waiting",
        "tilelab_oldest_waiting_seconds",
        "tilelab_steps_in_flight",
        "tilelab_slots",
    }
