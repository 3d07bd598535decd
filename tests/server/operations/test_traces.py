"""Traces of jobs, as a collector on loopback gets them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import Engine

from kernels.verdict import Verdict
from server.dispatching.dispatch import take
from server.grading.attempts import claimed
from server.grading.models import AttemptOutcome
from server.operations.traces import TraceSender
from server.recording.record import record
from server.settings import SettingError, TraceCollector, read_settings
from server.submissions.verdicts import failed
from tests.server.course import NOW, ACourse, check_result, later, measure_result, step_of
from tests.server.databases import ON_BOTH, ON_ONE
from worker.contract.broker import BrokerUnavailable, connect_redis
from worker.contract.messages import StepKind


@dataclass
class Collector:
    """status: of its answers"""

    status: int = 200
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    address: str = ""

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [
            span
            for body in self.bodies
            for resource in body["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if made.status == 200 and self.path == "/v1/traces":
                made.bodies.append(body)
                made.keys.append(self.headers["Key"])
            self.send_response(made.status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}/v1/traces"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def sender(engine: Engine, redis_url: str, collector: Collector) -> TraceSender:
    return TraceSender(engine, TraceCollector(collector.address, {"Key": "a secret"}), connect_redis(redis_url))


@pytest.fixture
def traces(engine: Engine, redis_url: str, collector: Collector) -> TraceSender:
    """A sender that looked once, before anything ended."""
    made = sender(engine, redis_url, collector)
    assert made.send(NOW) == 0
    return made


def run(course: ACourse, kind: StepKind, job: int, seconds: tuple[float, float]) -> None:
    """Send the step, and let a worker claim it."""
    with course.sessions.begin() as session:
        step = step_of(session, job, kind)
        take(session, step.queue, slots=9, cap=9, now=later(seconds[0]))
        claimed(session, step, "host-1.abc", later(seconds[1]))


def moments(span: dict[str, Any]) -> tuple[float, float]:
    begun, ended = (int(span[f"{name}TimeUnixNano"]) / 1e9 - NOW.timestamp() for name in ("start", "end"))
    return round(begun, 3), round(ended, 3)


def attributes(span: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


@ON_BOTH
def test_a_job_is_one_trace_from_its_arrival_to_its_verdict(course, collector, traces):
    job = course.job("ada")
    run(course, StepKind.CHECK, job, (2, 3))
    with course.sessions.begin() as session:
        checked = check_result(session, job)
    record(course.sessions, checked, later(5))
    run(course, StepKind.MEASURE, job, (6, 7))
    with course.sessions.begin() as session:
        measured = measure_result(session, job, 900.0)
    record(course.sessions, measured, later(10))
    assert traces.send(later(20)) == 0  # a transaction may still end
    assert (traces.send(later(60)), traces.send(later(61))) == (1, 0)
    root, *parts = collector.spans
    assert (root["name"], moments(root)) == ("submission", (0, 10))
    assert attributes(root) == {"tilelab.job": str(job), "tilelab.exercise": "tiled", "tilelab.verdict": "accepted"}
    assert {each["name"]: moments(each) for each in parts} == {
        "check: wait": (0, 2), "check: send": (2, 3), "check": (3, 5),
        "measure: wait": (5, 6), "measure: send": (6, 7), "measure": (7, 10),
    }  # fmt: skip
    assert {each["traceId"] for each in parts} == {root["traceId"]}
    assert {each["parentSpanId"] for each in parts} == {root["spanId"]}
    assert len({each["spanId"] for each in collector.spans}) == len(collector.spans) == 7
    assert (len(bytes.fromhex(root["traceId"])), len(bytes.fromhex(root["spanId"]))) == (16, 8)
    assert collector.keys == ["a secret"]
    assert not [text for text in ("ada", "MatrixMulKernel") if text in json.dumps(collector.bodies)]


@ON_ONE
def test_each_lost_attempt_is_a_span_that_failed(course, collector, traces):
    job = course.job("ada")
    for number in range(3):
        run(course, StepKind.CHECK, job, (10 * number, 10 * number + 1))
        with course.sessions.begin() as session:
            failed(session, step_of(session, job), AttemptOutcome.LOST, "a secret", later(10 * number + 5))
    assert traces.send(later(100)) == 1
    broken = [each for each in collector.spans if each.get("status", {}).get("code") == 2]
    assert [(each["name"], moments(each)) for each in broken] == [
        ("submission", (0, 25)), ("check", (1, 5)), ("check", (11, 15)), ("check", (21, 25)),
    ]  # fmt: skip

    assert {each["status"]["message"] for each in broken} == {"system_error", "lost"}
    assert "a secret" not in json.dumps(collector.bodies)


def ended(course: ACourse, name: str, now: datetime) -> int:
    job = course.job(name)
    run(course, StepKind.CHECK, job, (0, 0))
    with course.sessions.begin() as session:
        result = check_result(session, job, Verdict.DATA_RACE)
    record(course.sessions, result, now)
    return job


def jobs(collector: Collector) -> list[int]:
    return [int(attributes(each)["tilelab.job"]) for each in collector.spans if "parentSpanId" not in each]


@ON_ONE
def test_traces_wait_for_their_collector(course, collector, traces):
    first = ended(course, "ada", later(1))
    collector.status = 503
    with pytest.raises(OSError, match="503"):
        traces.send(later(60))
    collector.status = 200
    second = ended(course, "bob", later(61))
    assert traces.send(later(120)) == 2
    assert jobs(collector) == [first, second]


@ON_ONE
def test_refused_traces_hold_up_no_others(course, collector, traces):
    ended(course, "ada", later(1))
    collector.status = 400
    assert traces.send(later(60)) == 1
    collector.status = 200
    second = ended(course, "bob", later(61))
    assert traces.send(later(120)) == 1
    assert jobs(collector) == [second]


@ON_ONE
def test_a_sender_that_lost_its_lock_sends_no_more(course, redis_url, collector, traces, monkeypatch):
    ended(course, "ada", later(1))
    found = traces._ended

    def slow(until: datetime) -> Any:
        with connect_redis(redis_url) as client:
            client.set("tilelab:traces-sender", "another's")
        return found(until)

    monkeypatch.setattr(TraceSender, "_ended", lambda _self, until: slow(until))
    with pytest.raises(BrokerUnavailable):
        traces.send(later(60))
    assert collector.bodies == []
    with connect_redis(redis_url) as client:
        assert client.get("tilelab:traces-sender") == "another's"


@ON_ONE
def test_several_dispatchers_send_each_trace_once(course, engine, redis_url, collector, traces, monkeypatch):
    monkeypatch.setattr("server.operations.traces._AT_ONCE", 1)
    expected = [ended(course, name, later(1)) for name in ("ada", "bob", "eve")]
    senders = [traces, *(sender(engine, redis_url, collector) for _ in range(3))]
    threads = [threading.Thread(target=each.send, args=(later(60),)) for each in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert jobs(collector) == expected


def settings_of(**names: str) -> TraceCollector | None:
    given = {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in names.items()}
    return read_settings({"DATABASE_URL": "sqlite://", "REDIS_URL": "redis://h"} | given).traces


def test_the_collector_is_named_as_opentelemetry_does():
    assert settings_of() is None
    found = settings_of(ENDPOINT="https://c.example:4318/", HEADERS="key=a%2Cb, other=c")
    assert found == TraceCollector("https://c.example:4318/v1/traces", {"key": "a,b", "other": "c"})


@pytest.mark.parametrize(
    "names",
    [
        {"ENDPOINT": "ftp://c.example"},
        {"ENDPOINT": "file:///etc/passwd"},
        {"ENDPOINT": "http:" + "//[::1"},
        {"ENDPOINT": "http://c.example:abc"},
        {"ENDPOINT": "http:" + "//user:secret@c.example"},
        {"ENDPOINT": "http://c.example", "HEADERS": "a=b%0d%0ac: d"},
        {"ENDPOINT": "http://c.example", "HEADERS": "a"},
    ],
)
def test_another_collector_is_refused(names):
    with pytest.raises(SettingError):
        settings_of(**names)
