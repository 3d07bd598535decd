"""Metrics: what is in the database and in Redis, whichever process is asked, and whatever is away."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, update

from kernels.verdict import Verdict
from server.accounts.models import MailKind
from server.database.engine import Sessions, connect
from server.dispatching.dispatch import take
from server.fleet.service import copy_workers
from server.grading.attempts import claimed
from server.grading.models import AttemptOutcome, Result
from server.mail.models import Mail
from server.operations import metrics
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis, Presence, look
from server.recording.record import record
from server.settings import Settings
from server.submissions.verdicts import failed
from server.web.app import create_app
from tests.server.course import NOW, ACourse, check_result, later, measure_result, step_of
from tests.server.databases import ON_SQLITE
from worker.contract.broker import BrokerUnavailable, connect_redis
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE

NO_REDIS = InRedis({}, 0, 0)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def collector(engine: Engine, clock: Clock) -> TilelabCollector:
    return TilelabCollector(engine, lambda: NO_REDIS, clock)


def scraped(collector: TilelabCollector) -> dict[str, float]:
    """All samples, as Prometheus reads them."""
    registry = CollectorRegistry()
    registry.register(collector)
    return samples(generate_latest(registry).decode())


def samples(text: str) -> dict[str, float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            name = f"{sample.name}{{{labels}}}" if labels else sample.name
            assert name not in found
            found[name] = sample.value
    return found


def send(made: Sessions, queue: str = CPU_QUEUE, slots: int = 50, now: datetime = NOW) -> None:
    with made.begin() as session:
        take(session, queue, slots=slots, cap=50, now=now)


def graded(course: ACourse, name: str, verdict: Verdict, seconds: float, now: datetime = NOW) -> int:
    """A job whose check step came to an end."""
    job = course.job(name)
    send(course.sessions)
    with course.sessions.begin() as session:
        result = check_result(session, job, verdict, seconds=seconds)
    record(course.sessions, result, now)
    return job


def test_what_waits_and_what_is_under_way(collector, course, made, clock):
    first, *_ = [course.job(name) for name in ("ada", "bob", "eve")]
    clock.now = later(90)
    assert scraped(collector)["tilelab_steps_waiting{queue=cpu}"] == 3
    send(made, slots=1)
    with made.begin() as session:
        claimed(session, step_of(session, first), "w", NOW)
    found = scraped(collector)
    assert found["tilelab_steps_waiting{queue=cpu}"] == 1
    assert found["tilelab_oldest_waiting_seconds{queue=cpu}"] == 90
    assert found["tilelab_steps_in_flight{queue=cpu,state=running}"] == 1
    assert found["tilelab_steps_in_flight{queue=cpu,state=sent}"] == 1


def test_an_empty_queue_is_told_as_empty(collector):
    found = scraped(collector)
    assert found["tilelab_steps_waiting{queue=cpu}"] == 0
    assert found["tilelab_oldest_waiting_seconds{queue=cpu}"] == 0
    assert found["tilelab_slots{queue=cpu}"] == 0
    assert found["tilelab_verdicts_total{verdict=accepted}"] == 0
    assert found["tilelab_processes{process=recorder}"] == 0


def test_verdicts_and_seconds_are_added_up(collector, course, made, clock):
    graded(course, "ada", Verdict.DATA_RACE, 0.2)
    job = graded(course, "bob", Verdict.ACCEPTED, 3.0)
    send(made, "gpu.h200")
    with made.begin() as session:
        result = measure_result(session, job, 1000.0)
    record(made, replace(result, seconds=0.75), NOW)
    found = scraped(collector)
    assert found["tilelab_verdicts_total{verdict=accepted}"] == 1
    assert found["tilelab_verdicts_total{verdict=data_race}"] == 1
    assert found["tilelab_step_seconds_count{queue=cpu}"] == 2
    assert found["tilelab_step_seconds_sum{queue=cpu}"] == pytest.approx(3.2)
    assert found["tilelab_step_seconds_bucket{le=0.25,queue=cpu}"] == 1
    assert found["tilelab_step_seconds_bucket{le=2.5,queue=cpu}"] == 1
    assert found["tilelab_step_seconds_bucket{le=5.0,queue=cpu}"] == 2
    assert found["tilelab_step_seconds_bucket{le=1.0,queue=gpu.h200}"] == 1


def test_totals_never_go_back_and_are_the_same_in_every_process(collector, course, made, engine, clock):
    for minute in range(12):
        clock.now = NOW + timedelta(minutes=minute)
        graded(course, f"p{minute}", Verdict.DATA_RACE, 0.2, clock.now)
        # one that another machine's clock dates a little back
        graded(course, f"q{minute}", Verdict.WRONG_ANSWER, 0.2, clock.now - timedelta(seconds=60))
        found = scraped(collector)
        assert found["tilelab_verdicts_total{verdict=data_race}"] == minute + 1
        assert found["tilelab_verdicts_total{verdict=wrong_answer}"] == minute + 1
        assert found["tilelab_step_seconds_count{queue=cpu}"] == 2 * (minute + 1)
        other = scraped(TilelabCollector(engine, lambda: NO_REDIS, clock))
        free = "tilelab_database_free_bytes"
        assert {**other, free: 0.0} == {**found, free: 0.0}


def test_what_is_settled_is_read_once(collector, course, made, engine, clock):
    graded(course, "ada", Verdict.DATA_RACE, 0.2)
    clock.now = NOW + 2 * metrics.STILL_MOVING
    scraped(collector)
    with made.begin() as session:
        session.execute(update(Result).values(verdict=Verdict.ACCEPTED))
    assert scraped(collector)["tilelab_verdicts_total{verdict=data_race}"] == 1


def test_failed_attempts_are_counted_when_their_step_is_over(collector, course, made):
    job = course.job("ada")
    outcomes = (AttemptOutcome.LOST, AttemptOutcome.FAULT, AttemptOutcome.FAULT)
    for hour, outcome in enumerate(outcomes):
        send(made, now=later(3600 * hour))
        with made.begin() as session:
            failed(session, step_of(session, job), outcome, "so it was", NOW)
    found = scraped(collector)
    assert found["tilelab_failed_attempts_total{outcome=fault,queue=cpu}"] == 2
    assert found["tilelab_failed_attempts_total{outcome=lost,queue=cpu}"] == 1
    assert found["tilelab_verdicts_total{verdict=system_error}"] == 1


def test_an_attempt_that_failed_before_one_that_did_not_counts(collector, course, made):
    job = course.job("ada")
    send(made)
    with made.begin() as session:
        failed(session, step_of(session, job), AttemptOutcome.LOST, "so it was", NOW)
    send(made)
    with made.begin() as session:
        result = check_result(session, job, Verdict.DATA_RACE)
    record(made, result, NOW)
    found = scraped(collector)
    assert found["tilelab_failed_attempts_total{outcome=lost,queue=cpu}"] == 1
    assert found["tilelab_failed_attempts_total{outcome=fault,queue=cpu}"] == 0


def test_workers_their_slots_and_the_time_of_their_gpus(collector, made, clock):
    gpu = SlotRecord("gpu-0a", "gpu.h200", "NVIDIA H200", WorkerState.BUSY, busy_ms=2500.0)
    cpu = SlotRecord("cpu-0", CPU_QUEUE, "cpu", WorkerState.IDLE)
    worker = WorkerRecord("a-1-x", "a", 1, WorkerState.BUSY, (cpu, gpu), 0.0, beat=NOW.timestamp())
    out = WorkerRecord("b-1-x", "b", 1, WorkerState.OUT, (cpu,), 0.0, beat=NOW.timestamp())
    with made.begin() as session:
        copy_workers(session, [worker, out], NOW.timestamp())
    found = scraped(collector)
    assert found["tilelab_workers{state=busy}"] == 1
    assert found["tilelab_workers{state=out}"] == 1
    assert found["tilelab_workers{state=idle}"] == 0
    assert found["tilelab_slots{queue=cpu}"] == 1
    assert found["tilelab_slots{queue=gpu.h200}"] == 1
    assert found["tilelab_gpu_busy_seconds_total{device=NVIDIA H200,host=a,slot=gpu-0a}"] == 2.5
    clock.now = later(3600)
    assert scraped(collector)["tilelab_workers{state=busy}"] == 0


def test_e_mails_that_wait_or_failed_are_counted(collector, course, made):
    person = course.person("ada")
    states = ((NOW, None, 1), (None, NOW, 1), (None, None, 3), (None, None, 0))
    with made.begin() as session:
        for number, (next_at, sent_at, tries) in enumerate(states):
            session.add(
                Mail(
                    person_id=person, kind=MailKind.RESULTS, reference=f"result {number}", subject="x", path="/",
                    made_at=NOW, next_at=next_at, sent_at=sent_at, tries=tries,
                )
            )  # fmt: skip
    found = scraped(collector)
    assert {name: value for name, value in found.items() if "email" in name} == {
        "tilelab_emails{state=failed}": 1.0,
        "tilelab_emails{state=waiting}": 1.0,
        "tilelab_oldest_untried_email_seconds": 0.0,
    }


@ON_SQLITE
def test_the_age_of_the_newest_backup(collector, tmp_path, clock):
    def age() -> float:
        return scraped(replace(collector, backups=tmp_path))["tilelab_newest_backup_seconds"]

    assert age() == math.inf
    clock.now = datetime.now(UTC)
    for name, hours in (("tilelab-day-1.zip.gpg", 50), ("tilelab-day-2.zip.gpg", 26)):
        (tmp_path / name).write_text("encrypted")
        then = (clock.now - timedelta(hours=hours)).timestamp()
        os.utime(tmp_path / name, (then, then))
    (tmp_path / ".unfinished").touch()
    assert age() == pytest.approx(26 * 3600)
    (tmp_path / "today.zip").write_text("no archive")
    assert age() == math.inf


def test_what_is_away_is_said_to_be(tmp_path):
    def away() -> InRedis:
        raise BrokerUnavailable("no Redis")

    found = scraped(TilelabCollector(connect(f"sqlite:///{tmp_path}/missing/tilelab.db"), away))
    assert found == {"tilelab_database_up": 0, "tilelab_broker_up": 0}


def test_processes_of_the_server_are_seen_as_long_as_they_beat(redis_url):
    with connect_redis(redis_url) as client:
        assert replace(look(client), clock_ahead=0.0) == NO_REDIS
        one, other = Presence(client, "recorder"), Presence(client, "dispatcher")
        for presence in (one, other, other):
            presence.tell()
        one.came_late()
        client.zadd("tilelab:processes", {"dispatcher long-gone 1": 1.0})
        assert abs(look(client).clock_ahead) < 2
        assert replace(look(client), clock_ahead=0.0) == InRedis({"recorder": 1, "dispatcher": 1}, 0, 1)


def test_presence_bears_a_redis_that_is_away():
    with connect_redis("redis://127.0.0.1:1/0") as client:
        Presence(client, "recorder").tell()
        Presence(client, "recorder").came_late()


@pytest.fixture
def app(sqlite_url, redis_url):
    made = []

    def make(token: str = ""):
        app = create_app(Settings(sqlite_url, redis_url, metrics_token=token))
        made.append(app)
        return app.test_client()

    yield make
    for each in made:
        each.extensions["tilelab"].engine.dispose()


def test_the_portal_answers_prometheus(app):
    answer = app().get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    found = samples(answer.get_data(as_text=True))
    assert found["tilelab_database_up"] == found["tilelab_broker_up"] == 1
    assert found["tilelab_database_free_bytes"] > 0
    assert found["tilelab_database_free_floor_bytes"] == 256 * 2**20


def test_metrics_can_be_kept_from_strangers(app):
    client = app("good")
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer bad"}).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer good"}).status_code == 200


@pytest.mark.one_in(5, "a fifth of the addresses")
@pytest.mark.parametrize(
    ("peer", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("127.8.9.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("10.0.0.7", {}, 403),
        ("::ffff:10.0.0.7", {}, 403),
        ("172.18.0.1", {}, 403),
        ("", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.9"}, 403),
        ("127.0.0.1", {"X-Real-IP": "203.0.113.9"}, 403),
        ("10.0.0.7", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("10.0.0.7", {"Authorization": "Bearer "}, 403),
    ],
)
def test_without_a_token_they_are_for_this_machine_alone(app, peer, headers, status):
    answer = app().get("/metrics", headers=headers, environ_base={"REMOTE_ADDR": peer})
    assert answer.status_code == status
    if status == 403:
        assert answer.json["code"] == "not_from_here"
        assert "TILELAB_METRICS_TOKEN" in answer.json["detail"]
        assert "tilelab_" not in answer.get_data(as_text=True)


def test_with_the_token_they_are_for_every_machine(app):
    given = {"Authorization": "Bearer good", "X-Forwarded-For": "203.0.113.9"}
    client = app("good")
    assert client.get("/metrics", headers=given, environ_base={"REMOTE_ADDR": "10.0.0.7"}).status_code == 200
    assert client.get("/metrics").status_code == 401


def test_the_token_is_not_shown_with_the_settings():
    assert "good" not in repr(Settings("sqlite://", "redis://x", metrics_token="good"))
