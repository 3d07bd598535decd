"""The recorder around the recording: a database that is away, a Redis that does not hear, a message that is poison."""

from __future__ import annotations

import base64
import json
import logging
import threading
import zlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import OperationalError

from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.database.engine import connect, sessions
from server.dispatching.dispatch import take
from server.grading.attempts import ticket_of
from server.grading.models import Job, Step, StepState
from server.grading.refusals import recent_refusals
from server.recording import recorder as recording
from server.recording.recorder import Recorder, read
from tests.server.course import (
    AFTER_ANY_PAUSE,
    NOW,
    ACourse,
    check_result,
    in_broker,
    result_of,
    signed,
    step_of,
    written,
)
from tests.server.databases import ON_BOTH
from tests.server.dispatching.redis_stand_in import StandIn
from tests.services.redis_server import A_WORKER
from worker.contract.claims import Stand
from worker.contract.credential import seal
from worker.contract.messages import CPU_QUEUE, VERSION, encode
from worker.supervision.heartbeat import Heartbeat


@pytest.fixture
def redis():
    return StandIn()


@pytest.fixture
def recorder(engine, redis):
    return Recorder(engine, redis, Heartbeat(None))


@pytest.fixture
def sent(made):
    """A result on its way, and its ticket."""
    return a_result(made)


def a_result(made):
    course = ACourse.make(made)
    job = course.job("ada")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=NOW)
    with made.begin() as session:
        return check_result(session, job, Verdict.DATA_RACE)


def on_its_way(made):
    """The same, for a database of one's own: its ticket, and its message."""
    result = a_result(made)
    return result.ticket, signed(made, result)


def test_it_settles_what_is_recorded_and_what_comes_again(recorder, redis, sent, made):
    assert written(recorder, signed(made, sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    redis.held.clear()
    assert written(recorder, signed(made, sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    with made.begin() as session:
        assert session.get_one(Job, sent.ticket.job).verdict is Verdict.DATA_RACE


@pytest.fixture
def several(made):
    """The results of five people's checks, on their way."""
    course = ACourse.make(made)
    jobs = [course.job(name) for name in ("ada", "bob", "cy", "dan", "eve")]
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=5, cap=5, now=NOW)
    with made.begin() as session:
        return [check_result(session, job, Verdict.DATA_RACE) for job in jobs]


def verdicts(made, results):
    with made.begin() as session:
        return [session.get_one(Job, result.ticket.job).verdict for result in results]


def test_what_waits_is_written_with_as_many_statements_as_one_result(recorder, redis, several, made, engine):
    numbers = []
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert written(recorder, signed(made, replace(several[0], ticket=replace(several[0].ticket, token="0" * 32))))
    for some in (several[:1], several[1:]):
        bodies = [signed(made, each) for each in some]
        statements.clear()
        assert written(recorder, *bodies)
        numbers.append(len(statements))
    # Several also lock their submissions first.
    assert numbers[0] + 1 == numbers[1]
    assert verdicts(made, several) == [Verdict.DATA_RACE] * 5
    assert {redis.held[each.ticket].stand for each in several} == {Stand.SETTLED}


@pytest.mark.parametrize(
    "poison",
    [{"seconds": 10**400}, {"token": "\ud800"}, {"token": "0" * 31 + "\0"}, {"token": "0" * 33}, {"job": 2**63}],
    ids=["seconds", "surrogate", "zero", "long", "job"],
)
@ON_BOTH
def test_poison_costs_no_other_its_result(recorder, redis, several, made, poison):
    bodies = [signed(made, each) for each in several]
    forged = to_plain(several[0])
    for part in (forged, forged["ticket"]):
        part |= {name: value for name, value in poison.items() if name in part}
    bodies.insert(2, seal(A_WORKER, base64.b64encode(zlib.compress(json.dumps(forged).encode())).decode()))
    assert written(recorder, *bodies)
    assert verdicts(made, several) == [Verdict.DATA_RACE] * 5


def test_a_step_that_another_process_holds_delays_no_other(postgres_engine, redis):
    made = sessions(postgres_engine)
    course = ACourse.make(made)
    jobs = [course.job(name) for name in ("ada", "bob", "cy")]
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=3, cap=3, now=NOW)
    with made.begin() as session:
        results = [check_result(session, job, Verdict.DATA_RACE) for job in jobs]
    messages = [in_broker(signed(made, each)) for each in results]
    recorder = Recorder(postgres_engine, redis, Heartbeat(None))
    with made.begin() as holder:
        holder.execute(select(Step).where(Step.job_id == jobs[1]).with_for_update())
        recorder.stop.set()
        writing = threading.Thread(target=recorder.write, args=[read(messages)])
        writing.start()
        while verdicts(made, results) != [Verdict.DATA_RACE, None, Verdict.DATA_RACE]:
            assert writing.is_alive()
    writing.join()
    assert verdicts(made, results) == [Verdict.DATA_RACE] * 3


@ON_BOTH
def test_copies_that_wait_together_are_recorded_once(recorder, several, made, caplog):
    bodies = [signed(made, each) for each in several]
    with caplog.at_level(logging.INFO):
        assert written(recorder, *bodies, *bodies)
    assert verdicts(made, several) == [Verdict.DATA_RACE] * 5
    assert [sum(f": {what}" in line for line in caplog.messages) for what in ("final", "repeated")] == [5, 5]


@ON_BOTH
def test_one_that_breaks_the_transaction_costs_no_other_its_result(recorder, redis, several, made, monkeypatch, caplog):
    from server.recording.refusal import check_result as whole

    def breaks(step, result):
        if result.report and result.ticket == several[2].ticket:
            raise ZeroDivisionError
        return whole(step, result)

    monkeypatch.setattr("server.recording.record.check_result", breaks)
    assert written(recorder, *(signed(made, each) for each in several))
    assert verdicts(made, several) == [None if each is several[2] else Verdict.DATA_RACE for each in several]
    assert {redis.held[each.ticket].stand for each in several} == {Stand.SETTLED}
    with made.begin() as session:
        assert step_of(session, several[2].ticket.job).state is StepState.QUEUED


def test_refused_and_unreadable_ones_are_recorded_with_the_others(recorder, several, made):
    forged = seal(replace(A_WORKER, key="0" * 64), encode(several[1]))
    wrong = signed(made, replace(several[2], graded="0" * 64))
    good = [several[0], *several[3:]]
    assert written(recorder, forged, "no result", wrong, *(signed(made, each) for each in good))
    assert verdicts(made, several) == [Verdict.DATA_RACE, None, None, Verdict.DATA_RACE, Verdict.DATA_RACE]
    with made.begin() as session:
        assert {refused.why for refused in recent_refusals(session, datetime.now(UTC))} == {"signature", "work"}


def test_a_large_result_ends_what_is_written_together(several, monkeypatch):
    messages = iter([in_broker(encode(each)) for each in several])
    monkeypatch.setattr(recording, "MOST", 3)
    assert [each.ticket for each in read(messages)] == [each.ticket for each in several[:3]]
    monkeypatch.setattr(recording, "READ_SECONDS", 0.0)
    assert [each.ticket for each in read(messages)] == [several[3].ticket]


def test_a_redis_that_is_away_undoes_nothing(recorder, redis, sent, made):
    redis.away = True
    assert written(recorder, signed(made, sent))
    with made.begin() as session:
        assert result_of(session, sent.ticket.job) is not None


@ON_BOTH
def test_a_database_that_is_away_is_waited_for_with_one_line(recorder, sent, made, monkeypatch, caplog):
    tries = []
    from server.recording.record import record_all as whole

    def away_twice(*given, **_):
        tries.append(given)
        if len(tries) < 3:
            raise OperationalError("SELECT", {}, Exception("server closed the connection"))
        return whole(*given)

    monkeypatch.setattr(recording, "record_all", away_twice)
    with caplog.at_level(logging.INFO):
        assert written(recorder, signed(made, sent))
    said = [record.message for record in caplog.records if "database" in record.message]
    assert len(said) == 2
    assert "is away" in said[0]
    assert "is back" in said[1]
    with made.begin() as session:
        assert result_of(session, sent.ticket.job) is not None


def test_told_to_stop_while_it_waits_it_gives_the_messages_back(recorder, redis, several, made, monkeypatch):
    def away(*_, **__):
        raise OperationalError("SELECT", {}, Exception("server closed the connection"))

    monkeypatch.setattr(recording, "record_all", away)
    threading.Timer(0.5, recorder.stop.set).start()
    results = read([in_broker(signed(made, each)) for each in several])
    assert recorder.write(results) == results
    assert redis.held == {}


def test_what_cannot_be_recorded_ends_its_attempt_instead_of_coming_for_ever(recorder, redis, sent, made, monkeypatch):
    def poison(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(recording, "record_all", poison)
    assert written(recorder, signed(made, sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    with made.begin() as session:
        step = step_of(session, sent.ticket.job)
        assert step.state is StepState.QUEUED
        assert "ZeroDivisionError" in (step.fault or "")


def again(made, ticket):
    """The next attempt at the step, with its own ticket."""
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    with made.begin() as session:
        return ticket_of(step_of(session, ticket.job))


def of_another_version(sent, ticket):
    plain = to_plain(replace(sent, ticket=ticket)) | {"version": VERSION + 1, "more": 1}
    return base64.b64encode(zlib.compress(json.dumps(plain).encode())).decode()


def test_results_of_another_version_cost_no_attempt_but_do_not_come_for_ever(recorder, redis, sent, made, monkeypatch):
    monkeypatch.setattr(recording, "RETURNS", 5)
    ticket = sent.ticket
    for _ in range(5):
        assert written(recorder, of_another_version(sent, ticket))
        assert redis.held[ticket].stand is Stand.SETTLED
        with made.begin() as session:
            step = step_of(session, ticket.job)
            assert (step.state, step.attempt, step.attempts) == (StepState.QUEUED, 0, [])
        ticket = again(made, ticket)
    for left in (2, 1, 0):
        assert written(recorder, of_another_version(sent, ticket))
        ticket = again(made, ticket) if left else ticket
    with made.begin() as session:
        assert session.get_one(Job, sent.ticket.job).verdict is Verdict.SYSTEM_ERROR
        assert f"version {VERSION + 1}" in (step_of(session, sent.ticket.job).fault or "")


def test_a_worker_of_this_version_ends_what_was_given_back(recorder, sent, made):
    assert written(recorder, of_another_version(sent, sent.ticket))
    ticket = again(made, sent.ticket)
    assert written(recorder, signed(made, replace(sent, ticket=ticket)))
    with made.begin() as session:
        assert session.get_one(Job, ticket.job).verdict is Verdict.DATA_RACE


def test_more_than_the_database_can_ever_take_ends_the_attempt_at_once(postgres_engine, redis, monkeypatch, caplog):
    made = sessions(postgres_engine)
    ticket, body = on_its_way(made)
    tries = []

    def too_large(sessions, *_, **__):
        tries.append(1)
        with sessions.begin() as session:
            session.execute(text("SELECT repeat('x', 2000000000)"))

    monkeypatch.setattr(recording, "record_all", too_large)
    assert written(Recorder(postgres_engine, redis, Heartbeat(None)), body)
    assert len(tries) == 1
    assert redis.held[ticket].stand is Stand.SETTLED
    with made.begin() as session:
        step = step_of(session, ticket.job)
        assert (step.state, step.attempt) == (StepState.QUEUED, 1)
        assert "its result cannot be recorded: ProgramLimitExceeded: requested length too large" in (step.fault or "")
    assert f"the result of job {ticket.job} cannot be recorded" in caplog.text


class Odd(Exception):
    """As a driver's; the code is of nothing that is known to pass."""

    sqlstate = "57014"


def test_what_may_pass_is_tried_a_few_times(recorder, redis, sent, made, monkeypatch):
    tries = []

    def slow(*_, **__):
        tries.append(1)
        raise OperationalError("UPDATE", {}, Odd("canceling statement due to statement timeout"))

    monkeypatch.setattr(recording, "record_all", slow)
    monkeypatch.setattr(recording, "TRIES", 3)
    assert written(recorder, signed(made, sent))
    assert len(tries) == 4
    with made.begin() as session:
        assert "statement timeout" in (step_of(session, sent.ticket.job).fault or "")


def test_where_not_even_a_fault_can_be_written_the_message_is_dropped(recorder, sent, made, monkeypatch, caplog):
    def broken(*_, **__):
        raise OperationalError("UPDATE", {}, Odd("canceling statement due to statement timeout"))

    monkeypatch.setattr(recording, "record_all", broken)
    monkeypatch.setattr(recording, "record_fault", broken)
    monkeypatch.setattr(recording, "TRIES", 2)
    assert written(recorder, signed(made, sent))
    assert "dropped a result" in caplog.text


def test_a_statement_that_sqlite_refuses_does_not_come_for_ever(sqlite_url, redis, monkeypatch):
    engine = connect(sqlite_url)
    made = sessions(engine)
    ticket, body = on_its_way(made)

    def wrong(sessions, *_, **__):
        with sessions.begin() as session:
            session.execute(text("SELECT * FROM nowhere"))

    monkeypatch.setattr(recording, "record_all", wrong)
    monkeypatch.setattr(recording, "TRIES", 2)
    assert written(Recorder(engine, redis, Heartbeat(None)), body)
    with made.begin() as session:
        assert "no such table: nowhere" in (step_of(session, ticket.job).fault or "")
    engine.dispose()


def test_what_cannot_be_read_is_dropped(recorder, redis):
    assert written(recorder, "no result")
    assert redis.held == {}
