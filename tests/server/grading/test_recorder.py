"""The recorder around the recording: a database that is away, a Redis that does not hear, a message that is poison."""

from __future__ import annotations

import logging
import threading

import pytest
from sqlalchemy.exc import OperationalError

from kernels.verdict import Verdict
from server.grading import recorder as recording
from server.grading.dispatch import take
from server.grading.models import Job, StepState
from server.grading.recorder import Recorder
from tests.server.course import NOW, ACourse, check_result, result_of, step_of
from tests.server.grading.redis_stand_in import StandIn
from worker.claims import Stand
from worker.heartbeat import Heartbeat
from worker.messages import CPU_QUEUE, encode


@pytest.fixture
def redis():
    return StandIn()


@pytest.fixture
def recorder(engine, redis):
    return Recorder(engine, redis, Heartbeat(None))


@pytest.fixture
def sent(made):
    """A result on its way, and its ticket."""
    course = ACourse.make(made)
    job = course.job("ada")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=NOW)
    with made.begin() as session:
        return check_result(session, job, Verdict.DATA_RACE)


def test_it_settles_what_is_recorded_and_what_comes_again(recorder, redis, sent, made):
    assert recorder.run(encode(sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    redis.held.clear()
    assert recorder.run(encode(sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    with made.begin() as session:
        assert session.get_one(Job, sent.ticket.job).verdict is Verdict.DATA_RACE


def test_a_redis_that_is_away_undoes_nothing(recorder, redis, sent, made):
    redis.away = True
    assert recorder.run(encode(sent))
    with made.begin() as session:
        assert result_of(session, sent.ticket.job) is not None


def test_a_database_that_is_away_is_waited_for_with_one_line(recorder, sent, made, monkeypatch, caplog):
    tries = []
    from server.grading.record import record as whole

    def away_twice(*given):
        tries.append(given)
        if len(tries) < 3:
            raise OperationalError("SELECT", {}, Exception("server closed the connection"))
        return whole(*given)

    monkeypatch.setattr(recording, "record", away_twice)
    with caplog.at_level(logging.INFO):
        assert recorder.run(encode(sent))
    said = [record.message for record in caplog.records if "database" in record.message]
    assert len(said) == 2
    assert "is away" in said[0]
    assert "is back" in said[1]
    with made.begin() as session:
        assert result_of(session, sent.ticket.job) is not None


def test_told_to_stop_while_it_waits_it_gives_the_message_back(recorder, redis, sent, monkeypatch):
    def away(*_):
        raise OperationalError("SELECT", {}, Exception("server closed the connection"))

    monkeypatch.setattr(recording, "record", away)
    threading.Timer(0.5, recorder.stop.set).start()
    assert not recorder.run(encode(sent))
    assert redis.held == {}


def test_what_cannot_be_recorded_ends_its_attempt_instead_of_coming_for_ever(
    recorder, redis, sent, made, monkeypatch
):
    def poison(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(recording, "record", poison)
    assert recorder.run(encode(sent))
    assert redis.held[sent.ticket].stand is Stand.SETTLED
    with made.begin() as session:
        step = step_of(session, sent.ticket.job)
        assert step.state is StepState.QUEUED
        assert "ZeroDivisionError" in (step.fault or "")


def test_what_cannot_be_read_is_dropped(recorder, redis):
    assert recorder.run("no result")
    assert redis.held == {}
