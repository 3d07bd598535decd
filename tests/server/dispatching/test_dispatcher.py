"""The dispatcher at every instant at which something may die; with a Redis and a clock that the test sets."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import OperationalError

from kernels.verdict import Verdict
from server.database.engine import DatabaseUnavailable, connect
from server.dispatching.dispatch import room_for_experiments, take
from server.dispatching.dispatcher import Dispatcher
from server.dispatching.process_loop import CannotGoOn, Rounds
from server.fleet.models import Worker
from server.grading.attempts import locked_current
from server.grading.models import Attempt, AttemptOutcome, Job, JobState, Step, StepState
from server.grading.reports import unpack
from server.recording.record import Recorded, record
from server.settings import Settings
from server.submissions.changes import cancel
from tests.server.course import NOW, check_result, read_rows, result_of, step_of
from tests.server.databases import ON_BOTH, ON_ONE
from tests.server.dispatching.redis_stand_in import StandIn
from worker.commands.root import tilelab
from worker.contract.claims import Stand
from worker.contract.messages import CPU_QUEUE, StepKind, Ticket
from worker.supervision.heartbeat import Heartbeat

LEASE = 20.0


@dataclass
class Scene:
    """A dispatcher whose clock stands until it is moved."""

    engine: Engine
    redis: StandIn = field(default_factory=StandIn)

    def __post_init__(self) -> None:
        self.dispatcher = self.another()

    def another(self) -> Dispatcher:
        settings = Settings("", "", lease_seconds=LEASE, republish_seconds=10.0)
        return Dispatcher(self.engine, self.redis.connections, settings)

    def tick(self, after: float = 0.0) -> None:
        self.redis.time += after
        self.dispatcher.tick(self.redis.time)

    def ticks(self, seconds: float, step: float = 1.0) -> None:
        """Round after round, for so long."""
        end = self.redis.time + seconds
        while self.redis.time < end:
            self.tick(step)


@pytest.fixture
def scene(engine: Engine) -> Scene:
    return Scene(engine)


@ON_BOTH
def test_a_step_is_sent_claimed_and_seen_to_run(scene, course, made):
    job = course.job("ada")
    scene.tick()
    (message,) = scene.redis.sent
    assert (message.ticket.job, message.attempt, message.lease_seconds) == (job, 1, LEASE)
    scene.redis.take(worker="w/cpu-0")
    scene.tick(0.2)
    with made.begin() as session:
        step = step_of(session, job)
        assert (step.state, step.worker) == (StepState.RUNNING, "w/cpu-0")
        assert session.get_one(Job, job).state is JobState.RUNNING
        assert step.attempts[0].started_at is not None
    scene.ticks(3 * LEASE, 5.0)
    assert len(scene.redis.sent) == 1, "who beats keeps it, however long it takes"


@ON_BOTH
def test_what_was_killed_between_commit_and_sending_is_sent_with_the_same_token(scene, course, made):
    job = course.job("ada")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=4, now=NOW)
        token = step_of(session, job).token
    scene.ticks(4)
    (message,) = scene.redis.sent
    assert (message.ticket.token, message.attempt) == (token, 1)


def test_a_message_that_is_lost_in_an_empty_queue_is_soon_sent_anew(scene, course):
    course.job("ada")
    scene.tick()
    scene.redis.queues[CPU_QUEUE].clear()
    scene.tick(1.0)
    assert len(scene.redis.sent) == 1
    scene.tick(1.1)
    first, second = scene.redis.sent
    assert first == second


@ON_ONE
def test_a_queue_that_nobody_serves_does_not_grow(scene, course):
    scene.redis.slots = {}
    for i in range(5):
        course.job(f"p{i}")
    scene.ticks(300, 5.0)
    assert len(scene.redis.sent) == 2


@ON_ONE
def test_a_message_that_is_lost_among_others_is_sent_anew(scene, course):
    scene.redis.slots = {CPU_QUEUE: 2}
    for i in range(3):
        course.job(f"p{i}")
    scene.tick()
    lost = scene.redis.queues[CPU_QUEUE].pop(1)
    scene.ticks(9.5, 0.5)
    assert len(scene.redis.sent) == 3
    scene.ticks(1.0, 0.5)
    assert scene.redis.sent[3:] != []
    assert lost in scene.redis.sent[3:]


def test_a_worker_that_stops_beating_loses_its_step_and_its_late_result_is_fenced(scene, course, made):
    job = course.job("ada")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.tick(0.2)
    with made.begin() as session:
        late = check_result(session, job)
    del scene.redis.held[ticket]
    scene.ticks(LEASE)
    assert scene.redis.revoked == []
    scene.ticks(1.5)
    assert scene.redis.revoked == [ticket]
    again = scene.redis.take()
    assert again.attempt == 2
    assert again.ticket.token != ticket.token
    assert record(made, late) is Recorded.FENCED
    with made.begin() as session:
        step = step_of(session, job)
        assert step.token == again.ticket.token
        assert [each.outcome for each in step.attempts] == [AttemptOutcome.LOST, None]


@ON_ONE
def test_after_three_lost_attempts_the_job_ends_in_a_fault_of_our_own(scene, course, made):
    job = course.job("ada")
    for _ in range(3):
        scene.ticks(1.0, 0.25)
        ticket = scene.redis.take().ticket
        scene.tick(0.2)
        del scene.redis.held[ticket]
        scene.ticks(LEASE + 2.0)
    with made.begin() as session:
        graded = session.get_one(Job, job)
        assert (graded.state, graded.verdict) == (JobState.DONE, Verdict.SYSTEM_ERROR)
        step = step_of(session, job)
        assert (step.state, step.attempt, step.token) == (StepState.FAILED, 3, None)
        assert [each.outcome for each in step.attempts] == [AttemptOutcome.LOST] * 3
        assert "stopped responding" in (step.fault or "")
        result = result_of(session, job)
        assert result is not None
        report = unpack(result.report)
        assert report["verdict"] == "system_error"
        assert "failed on our side" in report["message"]
        assert "responding" not in report["message"]
    scene.ticks(2 * LEASE, 5.0)
    assert len(scene.redis.sent) == 3


@ON_ONE
def test_redis_that_forgets_everything_costs_no_attempt(scene, course, made):
    running, waiting = course.job("ada"), course.job("bob")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.tick(0.2)
    scene.redis.restart()
    scene.ticks(LEASE - 2.0)
    assert [message.ticket.job for message in scene.redis.sent] == [running, waiting, waiting]
    assert scene.redis.claim(ticket, "w", LEASE), "the worker still beats, and so writes its claim anew"
    scene.ticks(2 * LEASE, 5.0)
    with made.begin() as session:
        assert step_of(session, running).attempt == 1
        assert step_of(session, waiting).attempt == 1
    assert scene.redis.revoked == []


@ON_ONE
def test_an_outage_of_redis_gives_every_claim_a_whole_lease(scene, course, made):
    job = course.job("ada")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.tick(0.2)
    del scene.redis.held[ticket]
    scene.ticks(LEASE - 1.0)
    scene.redis.away = True
    for _ in range(5):
        with pytest.raises(ConnectionError):
            scene.tick(1.0)
    scene.redis.away = False
    scene.ticks(LEASE)
    assert scene.redis.revoked == []
    scene.ticks(2.0)
    assert scene.redis.revoked == [ticket]
    with made.begin() as session:
        assert step_of(session, job).attempt == 2


@ON_ONE
def test_a_dispatcher_that_starts_or_slept_gives_every_claim_a_whole_lease(scene, course):
    course.job("ada")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.tick(0.2)
    del scene.redis.held[ticket]
    scene.ticks(LEASE - 2.0)
    scene.dispatcher = scene.another()
    scene.ticks(LEASE - 2.0)
    scene.tick(3 * LEASE)
    assert scene.redis.revoked == []
    scene.ticks(LEASE + 1.0)
    assert scene.redis.revoked == [ticket]


@ON_ONE
def test_what_a_broker_does_not_take_is_sent_when_it_is_back(scene, course, made):
    scene.redis.slots = {CPU_QUEUE: 3}
    jobs = [course.job(f"p{i}") for i in range(4)]
    scene.redis.sends_left = 2
    with pytest.raises(ConnectionError):
        scene.tick()
    assert [message.ticket.job for message in scene.redis.sent] == jobs[:2]
    assert {step.state for step in read_rows(made, select(Step))} == {StepState.SENT}
    scene.redis.sends_left = None
    scene.tick(0.5)
    assert [message.ticket.job for message in scene.redis.sent] == jobs
    assert {message.attempt for message in scene.redis.sent} == {1}


@ON_ONE
def test_the_broker_is_kept_short(scene, course):
    scene.redis.slots = {CPU_QUEUE: 2}
    for i in range(20):
        course.job(f"p{i}")
    scene.ticks(3.0, 0.2)
    assert len(scene.redis.queues[CPU_QUEUE]) == 4
    scene.redis.take()
    scene.tick(0.2)  # sees the claim
    scene.tick(0.2)
    assert len(scene.redis.queues[CPU_QUEUE]) == 4


@ON_BOTH
def test_two_dispatchers_do_no_harm(scene, course, made):
    other = scene.another()
    scene.redis.slots = {CPU_QUEUE: 4}
    jobs = [course.job(f"p{i}") for i in range(6)]
    for _ in range(5):
        scene.tick(0.2)
        other.tick(scene.redis.time)
    assert sorted(message.ticket.job for message in scene.redis.sent) == jobs
    ticket = scene.redis.take().ticket
    for _ in range(3):
        scene.tick(0.2)
        other.tick(scene.redis.time)
    del scene.redis.held[ticket]
    for _ in range(40):
        scene.tick(1.0)
        other.tick(scene.redis.time)
    with made.begin() as session:
        assert step_of(session, ticket.job).attempt == 2
        assert session.scalars(select(Attempt).where(Attempt.outcome == AttemptOutcome.LOST)).one()


def test_a_result_that_was_settled_for_another_database_is_awaited_once_more(scene, course, made):
    job = course.job("ada")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.redis.settle(ticket)
    scene.ticks(LEASE + 2.0)
    with made.begin() as session:
        assert step_of(session, job).attempt == 2


@ON_BOTH
def test_a_cancelled_job_is_not_sent_again(scene, course, made):
    job = course.job("ada")
    scene.tick()
    ticket = scene.redis.take().ticket
    scene.tick(0.2)
    with made.begin() as session:
        late = check_result(session, job)
        assert cancel(session, job, None) == [ticket]
    scene.ticks(2 * LEASE, 5.0)
    assert len(scene.redis.sent) == 1
    assert record(made, late) is Recorded.FENCED
    with made.begin() as session:
        assert session.get_one(Job, job).state is JobState.CANCELLED
        assert step_of(session, job).state is StepState.CANCELLED
        assert not locked_current(session, [ticket])


def test_a_step_of_which_no_message_can_be_made_ends_its_job(scene, course, made):
    job = course.job("ada")
    scene.tick()
    with made.begin() as session:
        passed = check_result(session, job)
    assert record(made, passed) is Recorded.GOES_ON
    with made.begin() as session:
        step_of(session, job, StepKind.MEASURE).work = b"\xff"
    scene.redis.slots = {"gpu.h200": 1}
    scene.tick(0.2)
    with made.begin() as session:
        assert session.get_one(Job, job).verdict is Verdict.SYSTEM_ERROR
        assert "cannot be read" in (step_of(session, job, StepKind.MEASURE).fault or "")


def test_workers_are_copied_into_the_database(scene, made):
    scene.tick()
    with made.begin() as session:
        worker = session.get_one(Worker, "w")
        assert (worker.state, worker.host) == ("idle", "host")
        assert worker.record["slots"][0]["queue"] == CPU_QUEUE


def test_a_database_that_cannot_be_used_is_told_in_one_line(tmp_path):
    from server.database.engine import connect

    scene = Scene(connect(f"sqlite:///{tmp_path}/no/such/folder.db"))
    with pytest.raises(DatabaseUnavailable) as told:
        scene.tick()
    assert "\n" not in str(told.value)


def test_a_claim_of_an_unknown_attempt_is_no_concern(scene):
    scene.redis.claim(Ticket(5, StepKind.CHECK, "x"), "w", LEASE)
    scene.tick()
    assert {claim.stand for claim in scene.redis.held.values()} == {Stand.CLAIMED}


def test_what_the_database_refuses_for_good_ends_the_process_in_a_line(sqlite_url, monkeypatch):
    engine = connect(sqlite_url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE steps RENAME TO gone"))
    engine.dispose()
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr("server.dispatching.process_loop.on_signals", lambda _: None)
    ended = CliRunner().invoke(tilelab, ["serve", "dispatcher"])
    assert ended.exit_code == 3
    assert ended.stderr.splitlines()[-1] == (
        "tilelab: The database refuses a statement of the dispatcher: OperationalError: no such table: steps"
    )


@pytest.mark.parametrize(("code", "waits"), [("54000", False), ("57P01", True), ("57014", True)])
def test_what_may_pass_is_waited_for(scene, monkeypatch, code, waits):
    class Refused(Exception):
        sqlstate = code

    def refuse(*_):
        raise OperationalError("SELECT", {}, Refused("so it is"))

    monkeypatch.setattr(Dispatcher, "_rows", refuse)
    rounds = Rounds(scene.dispatcher, Heartbeat(None))
    if waits:
        assert rounds._round() > 0
    else:
        with pytest.raises(CannotGoOn, match="so it is"):
            rounds._round()


@pytest.mark.parametrize(
    ("slots", "on_gpu", "under_way", "room"),
    [(0, True, 0, 1), (1, True, 0, 1), (3, False, 0, 2), (3, True, 0, 1), (3, True, 1, 0), (6, True, 0, 3)],
)
def test_experiments_leave_slots_to_submissions(slots: int, on_gpu: bool, under_way: int, room: int) -> None:
    assert room_for_experiments(slots, under_way, on_gpu=on_gpu) == room
