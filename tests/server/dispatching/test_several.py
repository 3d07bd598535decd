"""Several dispatchers and recorders at once, on PostgreSQL and Redis."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from kernels.verdict import Verdict
from server.dispatching import dispatch
from server.dispatching.connections import connections_to
from server.dispatching.dispatch import take
from server.dispatching.dispatcher import Dispatcher
from server.dispatching.step_choice import choose
from server.fleet.worker_keys import register_key
from server.grading.attempts import ticket_of
from server.grading.models import Attempt, AttemptOutcome, Job, Result, Step
from server.recording.record import Recorded, record
from server.settings import Settings
from server.submissions.models import Mode
from tests.server.course import NOW, check_result, later, read_rows
from tests.server.databases import ON_POSTGRESQL
from tests.services.redis_server import as_worker
from worker.contract.broker import connect_redis
from worker.contract.messages import CPU_QUEUE, StepResult

pytestmark = ON_POSTGRESQL

JOBS = 6
ROOM = 2
"""Messages in a queue without known workers."""


@pytest.fixture
def dispatchers(engine, made, redis_url) -> list[Dispatcher]:
    with made.begin() as session:
        # Other tests use this worker's user in the same Redis.
        register_key(session, as_worker(redis_url), NOW)
    return [Dispatcher(engine, connections_to(redis_url), Settings("", "", republish_seconds=1.0)) for _ in range(2)]


def at_once(*works: Callable[[], object]) -> None:
    """Do them in as many threads; raises what one raises."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_each_step_is_sent_once_and_each_result_recorded_once(dispatchers, course, made, redis_url):
    jobs = {course.job(f"p{number}", mode=Mode.CHECK) for number in range(JOBS)}
    taken: list[int] = []
    outcomes: Counter[Recorded] = Counter()

    def note(result: StepResult) -> None:
        outcomes.update([record(made, result)])

    with connect_redis(redis_url) as redis:
        deadline = time.monotonic() + 60
        while len(taken) < JOBS:
            assert time.monotonic() < deadline
            at_once(*(dispatcher.tick for dispatcher in dispatchers))
            assert redis.llen(CPU_QUEUE) <= ROOM
            redis.delete(CPU_QUEUE)
            with made.begin() as session:
                steps = session.scalars(select(Step).where(Step.token.is_not(None)))
                results = [check_result(session, step.job_id, Verdict.DATA_RACE) for step in steps]
            taken += [result.ticket.job for result in results]
            at_once(
                *(lambda result=each: outcomes.update([record(made, result)]) for each in results for _ in range(2))
            )
    assert sorted(taken) == sorted(jobs)
    assert outcomes == {Recorded.FINAL: JOBS, Recorded.REPEATED: JOBS}
    assert read_rows(made, select(func.count()).select_from(Result)) == [JOBS]
    assert set(read_rows(made, select(Attempt.outcome))) == {AttemptOutcome.DONE}


def test_the_room_is_counted_once(course, made, monkeypatch):
    jobs = [course.job(f"p{number}") for number in range(2 * ROOM)]
    with made() as first, made.begin() as second:
        taken = take(first, CPU_QUEUE, 0, 4, later(0))

        def committed_meanwhile(*given: Any) -> Any:
            first.commit()
            return choose(*given)

        monkeypatch.setattr(dispatch, "choose", committed_meanwhile)
        assert take(second, CPU_QUEUE, 0, 4, later(0)) == []
        assert [step.job_id for step in taken] == jobs[:ROOM]


def test_a_lost_message_is_sent_again_by_one_of_them(dispatchers, course, redis_url):
    course.job("ada")
    first, second = dispatchers
    with connect_redis(redis_url) as redis:
        for dispatcher in dispatchers:
            dispatcher.tick(0.0)
        redis.delete(CPU_QUEUE)
        first.tick(5.0)
        assert redis.llen(CPU_QUEUE) == 1
        # A worker has taken it, and will claim it in a moment.
        redis.delete(CPU_QUEUE)
        second.tick(5.0)
        assert redis.llen(CPU_QUEUE) == 0


def test_a_dispatcher_that_is_frozen_while_it_takes_is_replaced_and_harms_nothing(
    dispatchers, course, made, monkeypatch, redis_url
):
    job = course.job("ada")
    monkeypatch.setattr(dispatch, "FROZEN_SECONDS", 0.5)
    frozen = made()
    lost = ticket_of(take(frozen, CPU_QUEUE, 1, 4, later(0))[0])
    other, _ = dispatchers
    with connect_redis(redis_url) as redis:
        other.tick()
        assert redis.llen(CPU_QUEUE) == 0
        deadline = time.monotonic() + 20
        while not redis.llen(CPU_QUEUE):
            assert time.monotonic() < deadline
            other.tick()
            time.sleep(0.05)
    with pytest.raises(Exception, match="terminat"):
        frozen.commit()
    frozen.close()
    with made.begin() as session:
        (attempt,) = session.scalars(select(Attempt)).all()
        assert attempt.token != lost.token
        assert session.get_one(Job, job).steps[0].token == attempt.token
