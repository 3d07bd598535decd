"""Whether a job costs more in a longer queue, and a leaderboard more with more results, on PostgreSQL.

Also the steps that one dispatcher and one recorder carry from the longer queue.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from bench.queue.canned import Canned
from bench.queue.ground import Ground, Terms
from bench.queue.rows import Full, grade, made, queue
from bench.table import table
from kernels.report import Report
from kernels.verdict import Verdict
from server.database.engine import connect, readers
from server.dispatching.connections import connections_to
from server.dispatching.dispatcher import Dispatcher
from server.fleet.worker_keys import register_key
from server.grading.attempts import ticket_of
from server.grading.models import Result, Step
from server.grading.queue_order import IN_FLIGHT
from server.recording.origin import submitted_digest
from server.recording.recorder import Recorder
from server.settings import Settings
from server.standings.service import board
from server.submissions.models import Mode
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source
from tests.server.course import written
from tests.services.redis_server import A_WORKER
from worker.contract.broker import Inbox, ResultSender, body_in, celery_app
from worker.contract.claims import Stand
from worker.contract.credential import seal
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE, StepMessage, StepResult, Ticket, decode, encode, graded_digest
from worker.contract.redis_claims import RedisClaims
from worker.supervision.heartbeat import Heartbeat

PEOPLE = 200
SLOTS = 8
MOST_A_JOB, MOST_A_BOARD = 1.2, 1.3

CARRYING_SLOTS, _WARM, _LEASE_SECONDS = 32, 200, 600.0
_ON_A_BOARD = 1_000
_SHOWN = 100
_DEVICE_CLASS = "h200"

Times = dict[str, list[float]]


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    waiting, results, rounds, steps, looks = (1_000, 100_000), (1_000, 1_000_000), 40, 3_000, 300
    if quick:
        waiting, results, rounds, steps, looks = (1_000, 10_000), (1_000, 20_000), 8, 300, 40
    with Ground(folder) as ground:
        jobs = _jobs(ground, waiting, rounds)
        carried = _carried(ground, waiting[-1], steps)
        boards = _boards(ground, results, looks)
    figures = {
        "queued": list(waiting), "seconds a job": _compared(jobs, waiting), "carried": asdict(carried),
        "results": list(results), "seconds a look at a leaderboard": _compared(boards, results),
    }  # fmt: skip
    return figures, _text(figures)


def _say(text: str) -> None:
    print(f"flat: {text}", file=sys.stderr, flush=True)


# -- jobs --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Side:
    """A database with waiting jobs, and the parts of the server that process them, in this process."""

    full: Full
    dispatcher: Dispatcher
    recorder: Recorder
    times: Times = field(default_factory=lambda: {"accept": [], "dispatch": [], "record": []})
    handed_in: int = 0

    def round(self, ground: Ground) -> None:
        """Dispatch as much as there is room for, record it, and add as many jobs again."""
        ground.fleet.tell(_worker())
        began = time.perf_counter()
        self.dispatcher.tick()
        ticked = time.perf_counter() - began
        bodies = self._results()
        if not bodies:
            raise RuntimeError("the dispatcher sent nothing")
        self.times["dispatch"].append(ticked / len(bodies))
        ground.client.delete(CPU_QUEUE)
        for body in bodies:
            self._timed("record", partial(written, self.recorder, body))
        for _ in bodies:
            self.handed_in += 1
            person = self.full.people[self.handed_in % PEOPLE]
            source = f"// {self.handed_in}\n".encode()
            handed_in = SubmissionInput(person, self.full.assignment, read_source(source), Mode.CHECK)
            self._timed("accept", partial(accept, self.full.sessions, handed_in))

    def _results(self) -> list[str]:
        """Return the messages that a worker would send back for all dispatched jobs."""
        with self.full.sessions() as session:
            steps = session.scalars(select(Step).where(IN_FLIGHT)).all()
            return [
                seal(A_WORKER, encode(StepResult(
                    ticket_of(step), f"{A_WORKER.name}.bench", _report(step), graded=submitted_digest(step), seconds=1.0
                ))) for step in steps
            ]  # fmt: skip

    def _timed(self, name: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        self.times[name].append(time.perf_counter() - began)


def _report(step: Step) -> Report:
    job = step.job
    return Report(Verdict.ACCEPTED, "Right.", job.exercise.name, "cpu", job.arch, 16, seed=job.seed)


def _worker(number: int = SLOTS) -> WorkerRecord:
    slots = tuple(SlotRecord(f"cpu-{n}", CPU_QUEUE, "cpu", WorkerState.IDLE) for n in range(number))
    return WorkerRecord("bench", "bench", 1, WorkerState.IDLE, slots, time.time())


def _jobs(ground: Ground, sizes: tuple[int, ...], rounds: int) -> dict[int, Times]:
    sides = {size: _side(ground, size) for size in sizes}
    for side in sides.values():
        side.round(ground)
        side.times = {name: [] for name in side.times}
    _say(f"{rounds} rounds of {2 * SLOTS} jobs")
    for number in range(rounds):
        for size in sizes if number % 2 else sizes[::-1]:
            sides[size].round(ground)
    for side in sides.values():
        side.full.engine.dispose()
    return {size: side.times for size, side in sides.items()}


def _side(ground: Ground, size: int) -> Side:
    _say(f"{size:,} jobs that wait")
    url = ground.add_database(f"queued_{size}")
    full = made(url, PEOPLE, Terms())
    queue(full, size)
    settings = Settings(url, ground.redis.url)
    with full.sessions.begin() as session:
        register_key(session, ground.redis.worker_url, datetime.now(UTC))
    recorder = Recorder(full.engine, RedisClaims(ground.client), Heartbeat(None))
    return Side(full, Dispatcher(full.engine, connections_to(ground.redis.url), settings), recorder)


# -- steps a second ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Carried:
    """Steps through the processes of a dispatcher and a recorder. cpu: processor seconds by part."""

    steps: int
    seconds: float
    cpu: dict[str, float]


def _carried(ground: Ground, size: int, steps: int) -> Carried:
    """Answer each step at once, in the place of all workers."""
    assert ground.postgres is not None
    url = ground.postgres.url(f"queued_{size}")
    first = _results_in(url)
    ground.serve("dispatcher", "recorder", database_url=url)
    sender = ResultSender(celery_app(ground.redis.worker_url))
    _answer(ground, sender, _WARM)
    _say(f"{steps} steps through the processes")
    before, began = ground.cpu_seconds() | {"workers": time.process_time()}, time.perf_counter()
    _answer(ground, sender, steps)
    after, seconds = ground.cpu_seconds() | {"workers": time.process_time()}, time.perf_counter() - began
    for name in ("dispatcher", "recorder"):
        ground.stop(name)
    sender.close()
    if _results_in(url) != first + _WARM + steps:
        raise RuntimeError("the recorder refused results")
    return Carried(steps, seconds, {name: after[name] - before[name] for name in after})


def _results_in(url: str) -> int:
    engine = connect(url)
    with engine.connect() as connection:
        number = connection.scalar(select(func.count()).select_from(Result)) or 0
    engine.dispose()
    return number


def _answer(ground: Ground, sender: ResultSender, steps: int) -> None:
    """Answer so many steps. Waits for the recorder to settle the last ones."""
    inbox, claims, canned = Inbox(ground.client, CPU_QUEUE), RedisClaims(ground.client), Canned()
    worker, answered = f"{A_WORKER.name}.bench", 0
    unsettled: list[Ticket] = []
    while answered < steps or unsettled:
        ground.fleet.tell(_worker(CARRYING_SLOTS))
        for text in islice(inbox.waiting(0.01), min(2 * CARRYING_SLOTS, steps - answered)):
            message = decode(StepMessage, body_in(text))
            if not claims.claim(message.ticket, worker, _LEASE_SECONDS):
                continue  # a second copy
            result = canned.do(message, worker, lambda _: None)
            sender.send(seal(A_WORKER, encode(replace(result, graded=graded_digest(message)))))
            unsettled.append(message.ticket)
            answered += 1
        if answered == steps:
            time.sleep(0.01)
        unsettled = [
            ticket
            for ticket, claim in zip(unsettled, claims.look(unsettled), strict=True)
            if claim.stand is not Stand.SETTLED
        ]


# -- leaderboards -----------------------------------------------------------------------------------------------------


def _boards(ground: Ground, sizes: tuple[int, ...], looks: int) -> dict[int, Times]:
    """Time leaderboards with the same people, who submitted once or a thousand times."""
    sides: dict[int, Full] = {}
    for size in sizes:
        _say(f"{size:,} results")
        sides[size] = made(ground.add_database(f"results_{size}"), _ON_A_BOARD, Terms(device_class=_DEVICE_CLASS))
        grade(sides[size], size)
    times: dict[int, Times] = {size: {"board": []} for size in sizes}
    dice = random.Random(1)
    for number in range(-5, looks):
        place = dice.randrange(_ON_A_BOARD)
        for size in sizes if number % 2 else sizes[::-1]:
            seconds = _look(sides[size], place)
            if number >= 0:
                times[size]["board"].append(seconds)
    for full in sides.values():
        full.engine.dispose()
    return times


def _look(full: Full, place: int) -> float:
    """Time a person's request of the leaderboard, as the page and the API make it."""
    made_readers = readers(full.engine)
    began = time.perf_counter()
    with made_readers.begin() as session:
        found = board(session, full.assignment, _DEVICE_CLASS, limit=_SHOWN, person=full.people[place])
    seconds = time.perf_counter() - began
    if found.own is None or len(found.rows) != _SHOWN:
        raise RuntimeError("the leaderboard has changed")
    return seconds


# -- figures -----------------------------------------------------------------------------------------------------------


def _compared(times: Mapping[int, Times], sizes: tuple[int, ...]) -> dict[str, dict[str, float]]:
    small, large = sizes
    compared = {}
    for name in times[small]:
        least, most = (statistics.median(times[size][name]) for size in (small, large))
        compared[name] = {"small": least, "large": most, "ratio": most / least}
    return compared


def _text(figures: Mapping[str, Any]) -> str:
    def rows(name: str, goals: Mapping[str, float]) -> list[tuple[str, ...]]:
        return [
            (
                what, f"{each['small'] * 1e3:.2f}", f"{each['large'] * 1e3:.2f}", f"{each['ratio']:.2f}x",
                f"<= {goals[what]}" if what in goals else "",
            )
            for what, each in figures[name].items()
        ]  # fmt: skip

    queued, results, carried = figures["queued"], figures["results"], figures["carried"]
    cpu = [1e3 * seconds / carried["steps"] for seconds in carried["cpu"].values()]
    jobs = {"dispatch": MOST_A_JOB, "record": MOST_A_JOB}
    return "\n\n".join(
        (
            table(
                ("ms a job", *(f"{number:,} queued" for number in queued), "ratio", "goal"), rows("seconds a job", jobs)
            ),
            table(
                ("processor ms a step", *carried["cpu"], "all", "steps/s", "on two cores"),
                [
                    (
                        "one dispatcher, one recorder",
                        *(f"{ms:.1f}" for ms in cpu),
                        f"{sum(cpu):.1f}",
                        f"{carried['steps'] / carried['seconds']:.0f}",
                        f"{2_000 / sum(cpu):.0f}",
                    )
                ],
            ),
            table(
                ("ms a look", *(f"{number:,} results" for number in results), "ratio", "goal"),
                rows("seconds a look at a leaderboard", {"board": MOST_A_BOARD}),
            ),
        )
    )
