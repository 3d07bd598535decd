"""The queue's own cost: the time from submission to recorded verdict, for a step that does nothing."""

from __future__ import annotations

import http.client
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.queue.bare import Bare
from bench.queue.ground import CANNED, COURSE, Ground
from bench.table import table
from server.accounts.models import Person
from server.accounts.service import create_token
from server.dispatching.dispatch import message_of
from server.dispatching.process_loop import TICK_SECONDS
from server.grading.models import Job, Result, Step
from server.submissions.models import Submission
from tests.services.redis_server import free_port
from worker.contract.messages import encode

_LOOK_SECONDS = 0.004
STUDENTS = 50
"""The portal answers each of them 60 times a minute at most."""
SOURCE = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{}}\n// {number}\n"


@dataclass(frozen=True, slots=True)
class Portal:
    """The portal over HTTP, with a connection for each request, like a client."""

    port: int
    tokens: tuple[str, ...]

    def hand_in(self, number: int) -> str:
        """Submit one new source. Return the submission's id."""
        body = {"assignment": f"{COURSE}/tiled-own", "source": SOURCE.format(number=number), "mode": "check"}
        headers = {
            "Authorization": f"Bearer {self.tokens[number % len(self.tokens)]}",
            "Content-Type": "application/json",
        }
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("POST", "/api/v1/submissions", json.dumps(body), headers)
            answer = connection.getresponse()
            found = json.loads(answer.read())
        if answer.status != 202:
            raise RuntimeError(f"submitting: {answer.status} {found}")
        return str(found["id"])

    def answers(self) -> bool:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            try:
                connection.request("GET", "/healthz")
                return connection.getresponse().status == 200
            except OSError:
                return False


@dataclass(frozen=True, slots=True)
class One:
    """The times of one submission in seconds.

    dispatched: from accepted to dispatched
    worked: from there to recorded
    """

    whole: float
    accepted: float
    dispatched: float
    worked: float


@dataclass(frozen=True, slots=True)
class Backlog:
    """Many submissions at once. cpu: processor seconds by part; bare: the same number of tasks in Celery alone."""

    slots: int
    jobs: int
    seconds: float
    bare_seconds: float
    cpu: dict[str, float]

    @property
    def ratio(self) -> float:
        return self.bare_seconds / self.seconds


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    singles, jobs = (20, 60) if quick else (150, 400)
    with Ground(folder, students=STUDENTS) as ground:
        port = free_port()
        web = ["-m", "worker.commands", "serve", "web", "--port", str(port), "--processes", "1"]
        ground.start("portal", web, DATABASE_URL=ground.database_url, TILELAB_UNDER_WAY=str(10 * jobs))
        ground.serve("dispatcher", "recorder")
        ground.work("--slots", "1", "--workplace", CANNED, "--cache", str(folder / "cache"), slots=1)
        portal = _portal(ground, port)
        _say("warming up")
        for number in range(5):
            _one(ground, portal, -number)
        bare = Bare.on(ground, _message(ground))
        names = [bare.start(0)]
        _say(f"{singles} one at a time")
        alone, trips = [], []
        dice = random.Random(1)
        for number in range(singles):
            # people submit at any moment of the dispatcher's rounds
            time.sleep(dice.uniform(0, 2 * TICK_SECONDS))
            alone.append(_one(ground, portal, number))
            trips.append(bare.round_trip())
        backlogs = [_backlog(ground, portal, bare, names, jobs)]
        ground.stop("worker")
        ground.work("--slots", "2", "--workplace", CANNED, "--cache", str(folder / "cache"), slots=2)
        names.append(bare.start(1))
        backlogs.append(_backlog(ground, portal, bare, names, jobs))
    figures = {
        "one at a time": {
            name: _spread([getattr(each, name) for each in alone])
            for name in ("whole", "accepted", "dispatched", "worked")
        },
        "bare": _spread(trips),
        "backlogs": [asdict(each) | {"ratio": each.ratio} for each in backlogs],
    }
    return figures, _text(figures, backlogs)


def _say(text: str) -> None:
    print(f"overhead: {text}", file=sys.stderr, flush=True)


def _portal(ground: Ground, port: int) -> Portal:
    with ground.sessions.begin() as session:
        tokens = tuple(create_token(session, session.get_one(Person, person), "bench") for person in ground.people)
    portal = Portal(port, tokens)
    ground.wait_for(portal.answers, "the portal")
    return portal


def _one(ground: Ground, portal: Portal, number: int) -> One:
    began = time.perf_counter()
    submission = portal.hand_in(number)
    accepted = time.perf_counter() - began
    query = (
        select(Job.queued_at, Step.sent_at, Result.recorded_at)
        .join(Submission, Submission.id == Job.submission_id)
        .join(Step, Step.job_id == Job.id)
        .join(Result, Result.job_id == Job.id)
        .where(Submission.public_id == submission)
    )
    while True:
        with ground.sessions.begin() as session:
            row = session.execute(query).one_or_none()
        if row is not None:
            break
        time.sleep(_LOOK_SECONDS)
    whole = time.perf_counter() - began
    queued, sent, recorded = row
    assert sent is not None
    return One(whole, accepted, (sent - queued).total_seconds(), (recorded - sent).total_seconds())


def _backlog(ground: Ground, portal: Portal, bare: Bare, names: list[str], jobs: int) -> Backlog:
    slots = len(names)
    _say(f"a backlog of {jobs}, slots: {slots}")
    before = ground.recorded()
    ground.hold("dispatcher")
    for number in range(jobs):
        portal.hand_in(1000 * slots + number)
    cpu, began = ground.cpu_seconds(), time.perf_counter()
    ground.go_on("dispatcher")
    ground.wait_for_results(before + jobs)
    seconds = time.perf_counter() - began
    used = {name: spent - cpu[name] for name, spent in ground.cpu_seconds().items()}
    used = {name: round(spent, 3) for name, spent in used.items() if not name.startswith(("bare", "portal"))}
    return Backlog(slots, jobs, seconds, bare.backlog(jobs, names), used)


def _message(ground: Ground) -> str:
    """Return a step's whole message, so that the bare task carries as much."""
    with ground.sessions() as session, session.no_autoflush:
        step = session.scalars(select(Step).order_by(Step.id).limit(1)).one()
        step.token = "0" * 32
        return encode(message_of(step, 20.0))


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {"median": statistics.median(ordered), "p99": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]}


def _text(figures: dict[str, Any], backlogs: Sequence[Backlog]) -> str:
    bare = figures["bare"]
    names = {
        "whole": "handed in -> recorded", "accepted": "  the portal's answer",
        "dispatched": "  until the dispatcher sends it", "worked": "  slot and recorder",
    }  # fmt: skip
    single = [
        (
            names[name], f"{each['median'] * 1e3:,.1f}", f"{each['p99'] * 1e3:,.1f}",
            f"{each['median'] / bare['median']:.1f}x",
        )
        for name, each in figures["one at a time"].items()
    ]  # fmt: skip
    single.append(
        ("a bare Celery task and its answer", f"{bare['median'] * 1e3:,.1f}", f"{bare['p99'] * 1e3:,.1f}", "1x")
    )
    many = [
        (
            f"{each.jobs} jobs, {each.slots} slots", f"{each.jobs / each.seconds:,.0f}",
            f"{each.jobs / each.bare_seconds:,.0f}", f"{each.ratio:.2f}",
        )
        for each in backlogs
    ]  # fmt: skip
    parts = sorted({name for each in backlogs for name in each.cpu})
    cpu = [
        (f"{each.slots} slots", *(f"{each.cpu.get(name, 0) / each.jobs * 1e3:.1f}" for name in parts),
         f"{sum(each.cpu.values()) / each.seconds:.0%}")
        for each in backlogs
    ]  # fmt: skip
    return "\n\n".join(
        (
            table(("one at a time", "median ms", "p99 ms", "of bare"), single),
            table(("a backlog", "jobs/s", "bare tasks/s", "ratio"), many),
            table(("processor ms a job", *parts, "of one core"), cpu),
        )
    )
