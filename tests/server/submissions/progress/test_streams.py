from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from kernels.verdict import Verdict
from server.courses.models import Role
from server.grading.models import Step
from server.grading.queue import place_of, places
from server.submissions.models import Submission
from server.submissions.progress import hub as hub_module
from server.submissions.progress import streams
from server.submissions.progress.hub import Hub, TooMany
from server.submissions.progress.jobs import read_statuses
from server.submissions.progress.phases import Progress
from server.submissions.progress.streams import hub_of
from tests.server.course import NOW, later, step_of
from tests.server.submissions.graded import graded, handed_in, taken
from tests.server.submissions.progress.streaming import Stream, opened
from tests.server.web.signed_in import client_of
from tests.worker.queue.workplaces import message
from worker.contract.broker import connect_redis
from worker.contract.hints import Hints, channel
from worker.contract.messages import StepKind, Ticket
from worker.contract.redis_claims import RedisClaims

LONG = 30.0


def test_a_stream_tells_what_is_what_happens_and_ends(portal, ada):
    name, job = handed_in(portal.course, "ada")
    with opened(ada, name) as stream:
        assert "Waiting" in stream.next()["html"]
        taken(portal.course, job)
        assert "In progress" in stream.next()["html"]
    other, job = handed_in(portal.course, "ada", now=later(60))
    with opened(ada, other) as stream:
        stream.next()
        graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
        told = stream.next()
        while not told["final"]:
            told = stream.next()
        assert stream.next() is None


def test_of_what_is_over_the_stream_says_so_and_ends(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
    with opened(ada, name) as stream:
        assert stream.next()["final"] is True
        assert stream.next() is None


def test_programs_get_the_same_in_their_words(portal):
    name, job = handed_in(portal.course, "ada")
    headers = {"Authorization": f"Bearer {portal.token('ada')}"}
    with opened(portal.client, name, "/api/v1/submissions/{}/events", headers=headers) as stream:
        first = stream.next()
        assert (first["state"], first["verdict"], first["final"]) == ("queued", None, False)
        graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
        told = first
        while not told["final"]:
            told = stream.next()
        assert told["verdict"] == "wrong_answer"


def test_nothing_new_is_told_as_a_heartbeat(portal, ada, monkeypatch):
    monkeypatch.setattr(streams, "BEAT_SECONDS", 0.05)
    name, _ = handed_in(portal.course, "ada")
    with opened(ada, name) as stream:
        pieces = [next(stream.pieces).decode() for _ in range(4)]
    assert pieces[0].startswith("retry: ")
    assert pieces[2] == pieces[3] == "event: beat\ndata: {}\n\n"


def test_a_stream_ends_after_some_minutes(portal, ada, monkeypatch):
    monkeypatch.setattr(streams, "LIFETIME_SECONDS", 0.0)
    name, _ = handed_in(portal.course, "ada")
    with opened(ada, name) as stream:
        assert stream.next() is None


def test_a_server_that_stops_ends_its_streams_at_once(portal, ada):
    name, _ = handed_in(portal.course, "ada")
    stopping = threading.Event()
    hub = hub_of(portal.app)
    hub.end_when(stopping.is_set)
    with opened(ada, name) as stream:
        stream.next()
        begun = time.monotonic()
        stopping.set()
        assert stream.next() is None
        assert time.monotonic() - begun < 5
    assert ada.get(f"/submissions/{name}/events").status_code == 503


def test_there_is_an_end_to_streams_and_a_closed_one_makes_room(portal, ada, monkeypatch):
    hub = hub_of(portal.app)
    monkeypatch.setattr(hub, "_most", 3)
    monkeypatch.setattr(hub, "_most_of_one", 2)
    name, _ = handed_in(portal.course, "ada")
    staff = client_of(portal, "turing", Role.INSTRUCTOR)
    held = [Stream(ada, name), Stream(ada, name)]
    refused = ada.get(f"/submissions/{name}/events")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "10")
    held.append(Stream(staff, name))
    assert client_of(portal, "grace", Role.INSTRUCTOR).get(f"/submissions/{name}/events").status_code == 503
    assert ada.get(f"/submissions/{name}/state").status_code == 200
    for stream in held:
        stream.close()  # none of them was read
    assert hub.streams == 0
    with opened(ada, name) as stream:
        assert stream.next()


def test_a_head_request_takes_no_place(portal, ada):
    name, _ = handed_in(portal.course, "ada")
    ada.head(f"/submissions/{name}/events").close()
    assert hub_of(portal.app).streams == 0


def test_a_database_that_is_away_for_a_while_costs_nothing_but_that(portal, ada, monkeypatch):
    monkeypatch.setattr(hub_module, "_POLL_SECONDS", 0.05)
    name, job = handed_in(portal.course, "ada")
    away, asked = threading.Event(), threading.Semaphore(0)

    def sometimes(*args):
        if away.is_set():
            asked.release()
            raise OperationalError("SELECT", {}, Exception("away"))
        return read_statuses(*args)

    monkeypatch.setattr(hub_module, "read_statuses", sometimes)
    with opened(ada, name) as stream:
        stream.next()
        away.set()
        assert asked.acquire(timeout=LONG)
        taken(portal.course, job)
        assert asked.acquire(timeout=LONG)
        away.clear()
        assert "In progress" in stream.next()["html"]


def written(progress: Progress) -> str:
    return progress.explanation


def test_hints_of_workers_are_told_and_redis_may_come_later(portal, redis_url):
    handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        number, job = session.execute(select(Submission.id, Step.job_id).join(Step, Step.id > 0)).one()
    taken(portal.course, job)
    site = portal.app.extensions["tilelab"]
    hub = Hub(site.readers, redis_url)
    with site.readers.begin() as session:
        found = read_statuses(session, [number], datetime.now(UTC))[number]
    watch = hub.watch(number, 1, found)
    try:
        assert watch.next(written, 1) == ("A worker is compiling and checking it.", False)
        hint = {"step": "check", "attempt": 1, "at": 5.0, "what": "checking 3 of 14: Width=17 real"}
        until = time.monotonic() + LONG
        told = None
        with connect_redis(redis_url) as client:
            while told is None and time.monotonic() < until:
                client.publish(channel(job), json.dumps(hint))
                client.publish(channel(job), "nonsense")
                told = watch.next(written, 0.3)
        assert told == ("3 of 14: Width=17, real numbers", False)
    finally:
        watch.close()
        hub.stop()


def test_a_verdict_is_told_when_it_is_recorded_not_at_the_next_poll(portal, redis_url, monkeypatch):
    monkeypatch.setattr(hub_module, "_POLL_SECONDS", 10 * LONG)
    handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        number, job = session.execute(select(Submission.id, Step.job_id).join(Step, Step.id > 0)).one()
    taken(portal.course, job)
    site = portal.app.extensions["tilelab"]
    hub = Hub(site.readers, redis_url)
    with site.readers.begin() as session:
        found = read_statuses(session, [number], datetime.now(UTC))[number]
    watch = hub.watch(number, 1, found)
    try:
        watch.next(written, 1)
        graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
        until, told = time.monotonic() + LONG, None
        with connect_redis(redis_url) as client:
            while told is None and time.monotonic() < until:
                RedisClaims(client).settle(Ticket(job, StepKind.CHECK, "any"))
                told = watch.next(written, 0.3)
        assert told is not None
        assert told[1], "the last state"
    finally:
        watch.close()
        hub.stop()


def test_a_page_that_is_opened_late_gets_the_output(portal, redis_url):
    handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        number, job = session.execute(select(Submission.id, Step.job_id).join(Step, Step.id > 0)).one()
    taken(portal.course, job)
    with connect_redis(redis_url) as client:
        tell = Hints(client).of(message("ok", job))
        tell("checking 1 of 2: Width=1\nWidth=1\nhi\n")
        tell("counting")
    site = portal.app.extensions["tilelab"]
    hub = Hub(site.readers, redis_url)
    with site.readers.begin() as session:
        found = read_statuses(session, [number], datetime.now(UTC))[number]
    watch = hub.watch(number, 1, found)
    try:
        assert watch.next(output, 1) == ("", False)
        assert watch.next(output, LONG) == ("hi\n", False)
    finally:
        watch.close()
        hub.stop()


def output(progress: Progress) -> str:
    return progress.printed


def test_a_hub_that_is_closed_gives_no_stream(portal):
    handed_in(portal.course, "ada")
    site = portal.app.extensions["tilelab"]
    hub = Hub(site.readers, "redis://127.0.0.1:1/0")
    hub.stop()
    with site.readers.begin() as session:
        number = session.scalars(select(Submission.id)).one()
        found = read_statuses(session, [number], datetime.now(UTC))[number]
    with pytest.raises(TooMany):
        hub.watch(number, 1, found)


@contextmanager
def counted(engine):
    statements = []

    def count(_connection, _cursor, statement, *_):
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", count)
    yield statements
    event.remove(engine, "before_cursor_execute", count)


def test_many_are_asked_for_in_as_many_queries_as_one(portal):
    for number in range(30):
        _, job = handed_in(portal.course, f"student{number % 7}", now=later(60 * number))
        if number % 5 == 0:
            taken(portal.course, job)
    site = portal.app.extensions["tilelab"]
    with site.readers.begin() as session:
        numbers = list(session.scalars(select(Submission.id)))
        with counted(site.engine) as few:
            read_statuses(session, numbers[:1], NOW)
        with counted(site.engine) as many:
            found = read_statuses(session, numbers, NOW)
    assert len(found) == 30
    assert len(many) <= len(few) + 3


def test_places_are_those_that_are_told_one_by_one(portal):
    jobs = [handed_in(portal.course, f"s{n % 3}", now=later(60 * n))[1] for n in range(9)]
    for job in jobs[:2]:
        taken(portal.course, job)
    with portal.course.sessions.begin() as session:
        sent = step_of(session, jobs[2])
        from server.grading.attempts import begin

        begin(session, sent, NOW)
    with portal.course.sessions.begin() as session:
        steps = [step_of(session, job) for job in jobs]
        together = places(session, steps, NOW)
        assert {step.id: place_of(session, step.job, NOW) for step in steps} == dict(together)
