"""The whole way through real processes, real Redis and a real database, while they die."""

from __future__ import annotations

import json
import signal
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import func, select

from kernels.verdict import Verdict
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.fleet.worker_keys import register_key
from server.grading.models import Job, JobState, Result
from server.grading.refusals import recent_refusals
from server.operations.presence import look
from server.standings.service import board
from server.submissions.models import Mode
from tests.server.course import NOW, ACourse, check_result, step_of
from tests.server.databases import ON_POSTGRESQL
from tests.server.grading.processes import House, until
from tests.services.postgres_server import PostgresServer
from tests.services.redis_server import A_WORKER, RedisServer, as_worker
from worker.contract.broker import RECORD_TASK, Sender, StepSender, celery_app, connect_redis
from worker.contract.credential import seal
from worker.contract.messages import CPU_QUEUE, RESULTS_QUEUE, StepMessage, decode, encode

_LONG = pytest.mark.long("the short suite has the whole way once")


@pytest.fixture
def course(database_url):
    """A course in a database made as an operator makes it; its address too."""
    engine = connect(database_url)
    made = sessions(engine)
    with made.begin() as session:
        register_key(session, as_worker("redis://localhost/0"), NOW)
    yield ACourse.make(made), database_url
    engine.dispose()


# what becomes of a step whose process dies is the same in either: the campaigns kill both kinds
on_postgresql = ON_POSTGRESQL


def verdicts(course: ACourse, *jobs: int) -> list[Verdict] | None:
    """Of these jobs, once all have one."""
    with course.sessions.begin() as session:
        found = [session.get_one(Job, job).verdict for job in jobs]
    return [each for each in found if each] if all(found) else None


def once(course: ACourse, count: int) -> None:
    """Each job has one result."""
    with course.sessions.begin() as session:
        assert session.scalar(select(func.count()).select_from(Result)) == count


@pytest.mark.long(
    "the step waits after a refused result; the short suite has it in tests/server/recording/test_origin.py"
)
def test_a_source_that_was_swapped_in_the_queue_is_graded_and_refused(course, redis_url, tmp_path):
    made, url = course
    with House(tmp_path, url, redis_url) as house, connect_redis(redis_url) as redis:
        job = made.job("eve", source=b"// data_race")
        house.serve("dispatcher")
        until(lambda: redis.llen(CPU_QUEUE))
        swap(redis, b"// accepted")
        house.serve("recorder")
        house.slots()
        assert until(lambda: look(redis).distrusted == {"work": 1})
        with made.sessions.begin() as session:
            assert step_of(session, job).attempt == 0
            assert [each.job for each in recent_refusals(session, datetime.now(UTC))] == [job]
        assert until(lambda: verdicts(made, job)) == [Verdict.DATA_RACE]
        once(made, 1)


def test_a_verdict_that_was_forged_with_a_stolen_password_is_refused(course, redis_url, tmp_path):
    made, url = course
    with House(tmp_path, url, redis_url) as house, connect_redis(as_worker(redis_url)) as thief:
        job = made.job("eve", source=b"// data_race")
        house.serve("dispatcher")
        house.serve("recorder")
        _, text = until(lambda: thief.brpop(CPU_QUEUE, 1))
        ticket = message_in(text).ticket
        with made.sessions.begin() as session:
            forged = encode(replace(check_result(session, job), ticket=ticket, measure=None))
        sender = Sender(celery_app(as_worker(redis_url)))
        sender.send(RECORD_TASK, RESULTS_QUEUE, seal(replace(A_WORKER, key="00" * 32), forged))
        sender.close()
        with connect_redis(redis_url) as redis:
            assert until(lambda: look(redis).distrusted == {"signature": 1})
        with made.sessions.begin() as session:
            assert step_of(session, job).attempt == 0
            assert session.get_one(Job, job).verdict is None


def message_in(text: str) -> StepMessage:
    """The message of a step in an entry of the broker."""
    return decode(StepMessage, json.loads(b64decode(json.loads(text)["body"]))[0][0])


def swap(redis, source: bytes) -> None:
    """What a thief with the server's own address can do: put another source into a waiting message."""
    text = str(redis.rpop(CPU_QUEUE))
    message = message_in(text)
    assert message.check is not None
    changed = replace(message, check=replace(message.check, source=b64encode(source).decode()))
    sender = StepSender(celery_app(redis_url_of(redis)))
    sender.send(CPU_QUEUE, changed)
    sender.close()


def redis_url_of(redis) -> str:
    given = redis.connection_pool.connection_kwargs
    return f"redis://:{given['password']}@{given['host']}:{given['port']}/0"


@pytest.mark.long("the short suite has it in the browser, with all processes of one machine")
def test_from_the_portal_to_the_board(course, redis_url, tmp_path):
    made, url = course
    with House(tmp_path, url, redis_url) as house:
        right, wrong = made.job("ada"), made.job("bob", source=b"// data_race")
        house.serve("dispatcher")
        house.serve("recorder")
        house.slots()
        assert until(lambda: verdicts(made, right, wrong)) == [Verdict.ACCEPTED, Verdict.DATA_RACE]
        once(made, 2)
        with made.sessions.begin() as session:
            (row,) = board(session, made.assignment, "h200").rows
            assert (row.name, row.score) == ("ada", 5_000.0)
            step = step_of(session, right)
            assert step.worker == "host-1.test/cpu-0"
        for name in ("dispatcher", "recorder"):
            assert (tmp_path / f"{name}.beat").exists()
            assert house.end(name) == 0, house.log(name)
        assert "Traceback" not in house.log("dispatcher") + house.log("recorder")


@pytest.mark.long("the short suite has the whole way, and slots that are killed")
@on_postgresql
def test_each_process_is_killed_while_work_is_under_way(course, redis_url, tmp_path):
    made, url = course
    go = tmp_path / "go"
    with House(tmp_path, url, redis_url) as house:
        house.serve("dispatcher")
        house.serve("dispatcher", "another")
        house.serve("recorder")
        house.slots()
        held = made.job("ada", source=f"// wait {go}".encode())
        until(lambda: _running(made, held), "the step to run")
        others = [made.job(f"p{i}", source=b"// %d" % i) for i in range(6)]
        house.kill("dispatcher")
        house.kill("recorder")
        house.kill("cpu-0")
        house.slot("cpu", "Checks", "cpu-1")
        house.serve("recorder")
        go.touch()
        assert set(until(lambda: verdicts(made, held, *others))) == {Verdict.ACCEPTED}
        once(made, 7)
        with made.sessions.begin() as session:
            assert step_of(session, held).attempt == 2
            assert {step_of(session, job).attempt for job in others} <= {1, 2}


@_LONG
@on_postgresql
def test_a_frozen_worker_wakes_up_to_nothing(course, redis_url, tmp_path):
    made, url = course
    go = tmp_path / "go"
    with House(tmp_path, url, redis_url) as house:
        house.serve("dispatcher")
        house.serve("recorder")
        house.slot("cpu", "Checks", "cpu-0")
        held = made.job("ada", source=f"// wait {go}".encode(), mode=Mode.CHECK)
        until(lambda: _running(made, held), "the step to run")
        house.send("cpu-0", signal.SIGSTOP)
        until(lambda: _attempt(made, held) == 2, "the step to be given to another")
        go.touch()
        house.slot("cpu", "Checks", "cpu-1")
        assert until(lambda: verdicts(made, held)) == [Verdict.ACCEPTED]
        house.send("cpu-0", signal.SIGCONT)
        last = made.job("bob", mode=Mode.CHECK)
        assert until(lambda: verdicts(made, last)) == [Verdict.ACCEPTED]
        once(made, 2)
        with made.sessions.begin() as session:
            assert step_of(session, held).worker == "host-1.test/cpu-1"


@_LONG
def test_redis_and_postgresql_go_and_come_back(tmp_path):
    with RedisServer(tmp_path / "redis") as redis, PostgresServer(tmp_path / "postgres") as postgres:
        postgres.create_database("tilelab")
        url = postgres.url("tilelab")
        engine = connect(url)
        upgrade(engine)
        made = ACourse.make(sessions(engine))
        with made.sessions.begin() as session:
            register_key(session, redis.worker_url, NOW)
        with House(tmp_path, url, redis.url) as house:
            house.serve("dispatcher")
            house.serve("recorder")
            house.slots()
            first = made.job("ada")
            until(lambda: verdicts(made, first))
            redis.kill()
            waiting = [made.job(f"p{i}") for i in range(3)]
            until(lambda: "the broker is away" in house.log("dispatcher"), "the dispatcher to notice")
            redis.start()
            until(lambda: verdicts(made, *waiting))
            postgres.kill()
            until(lambda: "the database is away" in house.log("dispatcher"), "the dispatcher to notice")
            postgres.start()
            engine.dispose()
            last = made.job("eve")
            assert until(lambda: verdicts(made, last)) == [Verdict.ACCEPTED]
            once(made, 5)
            assert house.log("dispatcher").count("the database is away") == 1
            for name in ("dispatcher", "recorder"):
                assert house.end(name) == 0, house.log(name)
        engine.dispose()


@_LONG
def test_a_recorder_drops_what_is_no_message(tmp_path, sqlite_url, redis_url):
    with House(tmp_path, sqlite_url, redis_url) as house, connect_redis(redis_url) as redis:
        house.serve("recorder")
        redis.lpush(RESULTS_QUEUE, "garbage", b"\xff", '{"body": "bnVsbA=="}')
        until(lambda: house.log("recorder").count("dropped an unreadable result") == 3)
        assert house.end("recorder") == 0


@_LONG
def test_they_wait_for_tables_and_end_when_asked_meanwhile(tmp_path, redis_url):
    with House(tmp_path, f"sqlite:///{tmp_path}/none.db", redis_url) as house:
        for part in ("dispatcher", "recorder"):
            house.serve(part)
            until(partial(_said, house, part, "the database is away"), "it to say so")
            assert house.end(part) == 0


def test_a_setting_that_cannot_be_used_is_told_in_one_line(tmp_path):
    with House(tmp_path, "nonsense", "redis://localhost/0") as house:
        house.serve("dispatcher")
        assert house.processes.pop("dispatcher").wait(60) == 3
        assert house.log("dispatcher").count("\n") == 1


def _said(house: House, part: str, words: str) -> bool:
    return words in house.log(part)


def _running(course: ACourse, job: int) -> bool:
    with course.sessions.begin() as session:
        return session.get_one(Job, job).state is JobState.RUNNING


def _attempt(course: ACourse, job: int) -> int:
    with course.sessions.begin() as session:
        return step_of(session, job).attempt
