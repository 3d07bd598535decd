"""Traces of jobs that are over, for an OpenTelemetry collector: OTLP over HTTP, in JSON.

The database has all times from the arrival in the portal to the verdict, so the workers send nothing. A trace has no
person, address or source.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPException

import redis
from sqlalchemy import Engine, select, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import selectinload

from kernels.verdict import Verdict
from server.database.engine import DatabaseUnavailable, readers
from server.dispatching.process_loop import Outage
from server.grading.models import AttemptOutcome, Job, Step
from server.grading.queue_order import queues_with
from server.settings import TraceCollector
from worker.contract.broker import BrokerUnavailable, broker_errors

_ROUND_SECONDS = 5.0
_SETTLED = timedelta(seconds=30)
"""Younger jobs wait: another machine's clock may differ, and a transaction may end late."""
_OLDEST = timedelta(hours=1)
"""Jobs that ended longer ago are left out, after an outage of the collector."""
_AT_ONCE = 100
_SECONDS = 10.0
_CURSOR, _SENDER = "tilelab:traces", "tilelab:traces-sender"
_INTERNAL, _ERROR = 1, 2
_LATER = frozenset({401, 403, 404, 408, 429})
"""Answers that a correction of the collector's settings may change."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a job's time. fault: how it failed; "" if it didn't. A worker's own words may hold anything."""

    name: str
    begun: datetime
    ended: datetime
    facts: Mapping[str, str | int]
    fault: str = ""


@dataclass(slots=True)
class TraceSender:
    """Sends the traces of jobs, each once. Of several dispatchers, one sends at a time."""

    engine: Engine
    collector: TraceCollector
    client: redis.Redis
    _outage: Outage = field(default_factory=lambda: Outage("the collector of traces"))

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(_ROUND_SECONDS):
            try:
                self.send(stop=stop)
            except (DatabaseUnavailable, DBAPIError, BrokerUnavailable) as error:
                logger.info("traces wait: %s", error)
            except (OSError, HTTPException) as error:
                stop.wait(self._outage.failed(error))
            except Exception:
                logger.exception("traces could not be sent")
            else:
                self._outage.over()

    def send(self, now: datetime | None = None, stop: threading.Event | None = None) -> int:
        """Send the traces of all jobs that ended since the last round. Returns their number."""
        until, sent = (now or datetime.now(UTC)) - _SETTLED, 0
        lock = self.client.lock(_SENDER, timeout=4 * _SECONDS, blocking=False)
        with broker_errors(self.client):
            if not lock.acquire():
                return 0
        try:
            while (jobs := self._ended(until)) and not (stop and stop.is_set()):
                with broker_errors(self.client):
                    lock.reacquire()
                _post(self.collector, json.dumps(otlp(jobs)).encode())
                self._moved(jobs[-1].ended_at or until, jobs[-1].id)
                sent += len(jobs)
        finally:
            with suppress(redis.RedisError):
                lock.release()
        return sent

    def _ended(self, until: datetime) -> Sequence[Job]:
        """The next jobs, with their steps and attempts. The first round of all begins with the present."""
        with broker_errors(self.client):
            stored = self.client.get(_CURSOR)
        if stored is None:
            self._moved(until, 0)
            return []
        moment, _, number = str(stored).partition(" ")  # the client decodes answers
        since = max(datetime.fromisoformat(moment), until - _OLDEST)
        with readers(self.engine).begin() as session:
            query = (
                select(Job)
                .join(Step)
                .where(
                    Step.queue.in_(queues_with(session)),
                    Step.ended_at >= since, Step.ended_at < until, Step.ended_at == Job.ended_at,
                    tuple_(Job.ended_at, Job.id) > (since, int(number)),
                )
                .order_by(Job.ended_at, Job.id)
                .limit(_AT_ONCE)
                .options(selectinload(Job.exercise), selectinload(Job.steps).selectinload(Step.attempts))
            )  # fmt: skip
            return session.scalars(query).unique().all()

    def _moved(self, moment: datetime, number: int) -> None:
        with broker_errors(self.client):
            self.client.set(_CURSOR, f"{moment.isoformat()} {number}")


def _post(collector: TraceCollector, body: bytes) -> None:
    headers = {"Content-Type": "application/json", **collector.headers}
    request = urllib.request.Request(collector.address, body, headers)  # noqa: S310 - the settings allow http and https
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
            pass
    except urllib.error.HTTPError as error:
        if error.code in _LATER or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        # It would refuse them again, and the traces behind them would wait.
        logger.error("the collector refused traces, which are left out: %d %s", error.code, error.reason)  # noqa: TRY400 - no trace is needed


def spans(job: Job) -> Iterator[Span]:
    """The whole job first. Then, for each attempt: the wait in the queue, the way to a worker, and the step itself."""
    ended = job.ended_at or job.queued_at
    facts: dict[str, str | int] = {"tilelab.job": job.id, "tilelab.exercise": job.exercise.name}
    facts |= {"tilelab.verdict": str(job.verdict)} if job.verdict else {}
    fault = str(job.verdict) if job.verdict is Verdict.SYSTEM_ERROR else ""
    yield Span(str(job.kind), job.queued_at, ended, facts, fault)
    since = job.queued_at
    for step in job.steps:
        for attempt in step.attempts:
            name, over = str(step.kind), attempt.ended_at or ended
            begun = min(attempt.started_at or attempt.sent_at, over)
            facts = {"tilelab.queue": step.queue, "tilelab.attempt": attempt.number}
            yield Span(f"{name}: wait", since, attempt.sent_at, facts)
            yield Span(f"{name}: send", attempt.sent_at, begun, facts)
            well = attempt.outcome in {None, AttemptOutcome.DONE}
            worker = {"tilelab.worker": attempt.worker} if attempt.worker else {}
            yield Span(name, begun, over, facts | worker, "" if well else str(attempt.outcome))
            since = over


def otlp(jobs: Sequence[Job]) -> Mapping[str, object]:
    """The body of a request with the traces of these jobs."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute("service.name", "tilelab")]},
                "scopeSpans": [{"scope": {"name": "tilelab"}, "spans": [each for job in jobs for each in _trace(job)]}],
            }
        ]
    }


def _trace(job: Job) -> Iterator[Mapping[str, object]]:
    trace = _name(f"{job.id} {job.queued_at.isoformat()}", 32)
    root = _name(trace, 16)
    for number, span in enumerate(spans(job)):
        yield {
            "traceId": trace,
            "spanId": _name(f"{trace} {number}", 16) if number else root,
            **({"parentSpanId": root} if number else {}),
            "name": span.name,
            "kind": _INTERNAL,
            "startTimeUnixNano": _nanoseconds(span.begun),
            "endTimeUnixNano": _nanoseconds(max(span.begun, span.ended)),
            "attributes": [_attribute(name, value) for name, value in span.facts.items()],
            **({"status": {"code": _ERROR, "message": span.fault}} if span.fault else {}),
        }


def _name(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _nanoseconds(moment: datetime) -> str:
    return str((moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000)


def _attribute(name: str, value: str | int) -> Mapping[str, object]:
    return {"key": name, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
