"""A slot outlives its broker, loses no result over it, and outlives neither its parent nor a bad command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64encode

import pytest

from tests.marks import some_of
from tests.services.processes import alive
from tests.services.redis_server import RedisServer, as_worker
from tests.worker.queue.slots import SCRIPTED, WORKER, Server, Slot, until
from tests.worker.queue.workplaces import message
from worker.contract.broker import BrokerUnavailable
from worker.contract.claims import Claim, Stand
from worker.slots.slot import main

MINE = Claim(Stand.CLAIMED, f"{WORKER}/cpu-0")


@pytest.fixture
def redis_of_our_own(tmp_path):
    with RedisServer(tmp_path / "redis") as redis:
        yield redis


@pytest.fixture
def server(redis_of_our_own):
    server = Server(redis_of_our_own.url)
    yield server
    server.close()


@pytest.fixture
def slot(redis_of_our_own, tmp_path):
    with Slot(redis_of_our_own.url, tmp_path) as slot:
        yield slot


def test_a_result_that_came_while_redis_was_dead_arrives_after(redis_of_our_own, server, slot, tmp_path):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=2.0))
    slot.busy(1)
    redis_of_our_own.kill()
    (tmp_path / "go").touch()
    slot.idle(1)
    until(lambda: slot.logged("keeping them"))
    redis_of_our_own.start()
    result = server.record()
    assert (result.ticket, result.fault) == (ticket, "")
    server.send(message("ok", 2))
    assert server.record().ticket.job == 2, "and the slot takes messages again"
    assert slot.idle(2).failed == 0


def test_a_claim_that_redis_forgot_is_written_anew(redis_of_our_own, server, slot, tmp_path):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=2.0))
    slot.busy(1)
    redis_of_our_own.kill()
    redis_of_our_own.start()
    until(lambda: server.claim(ticket) == MINE)
    (tmp_path / "go").touch()
    assert server.record().ticket == ticket


def test_several_restarts_while_idle(redis_of_our_own, server, slot):
    slot.idle()
    for job in range(3):
        redis_of_our_own.kill()
        redis_of_our_own.start()
        server.send(message("ok", job))
        # the end of the one before may have been forgotten by Redis, so that it comes once more
        until(lambda: server.record().ticket.job == job)  # noqa: B023 - called at once


def test_a_redis_that_hangs_for_longer_than_a_lease_costs_no_result(redis_of_our_own, server, slot, tmp_path):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=4.0))
    slot.busy(1)
    redis_of_our_own.pause()
    (tmp_path / "go").touch()
    slot.idle(1)
    time.sleep(5)
    redis_of_our_own.resume()
    assert server.record().ticket == ticket


@pytest.mark.long("the short suite has restarts while it is idle")
def test_a_slot_that_starts_before_redis_waits_for_it(redis_of_our_own, server, tmp_path):
    redis_of_our_own.kill()
    with Slot(redis_of_our_own.url, tmp_path) as slot:
        slot.idle()
        until(lambda: slot.logged("Cannot connect"))
        redis_of_our_own.start()
        server.send(message("ok"))
        assert server.record().ticket.job == 1
        redis_of_our_own.kill()
        until(lambda: slot.log.read_text().count("Cannot connect") > 1)
        slot.send(signal.SIGTERM)
        assert slot.ended() == 0
    assert redis_of_our_own.url.split(":")[2].split("@")[0] not in slot.log.read_text()


@pytest.mark.long("the short suite sends results again in test_outbox.py")
def test_a_result_that_the_recorder_took_and_lost_comes_again(server, slot):
    server.send(message("ok"))
    lost = until(server.take)
    assert server.record() == lost


@pytest.mark.long("the short suite has it without processes in test_outbox.py")
def test_while_results_wait_to_be_recorded_no_copies_pile_up(server, slot):
    server.send(message("ok"))
    until(lambda: server.waiting("results"))
    time.sleep(4)
    assert server.waiting("results") == 1


@pytest.mark.parametrize(
    "text",
    some_of(
        ["garbage", "{}", '{"body": 1, "properties": {}, "headers": {}}', "[]"],
        4,
        str,
        "the short suite has one such message",
    ),
)
def test_what_is_no_message_at_all_costs_a_start_at_most(server, slot, redis_of_our_own, tmp_path, text):
    server.send(message("ok"))
    until(lambda: server.waiting("results"))
    server.client.lpush("cpu", text)
    server.send(message("ok", 2))
    until(lambda: server.waiting("results") == 2 or slot.process.poll() is not None)
    assert server.record().ticket.job == 1
    with Slot(redis_of_our_own.url, tmp_path, name="cpu-1"):
        assert server.record().ticket.job == 2
    assert slot.process.poll() in {None, 1}


NONSENSE: tuple[tuple[bytes | None, dict[str, object]], ...] = (
    (b"[]", {}),
    (b"null", {}),
    (b"5", {}),
    (b'"args"', {}),
    (b"[[], {}, 5]", {}),
    (b"[5, 5, {}]", {}),
    (None, {"task": ["x"]}),
    (None, {"id": None, "eta": 5, "expires": 5, "retries": "x", "timelimit": 5, "stamps": 5, "stamped_headers": 5}),
)


def test_a_message_of_celery_with_nonsense_in_it_is_gone_and_ends_nothing(server, slot):
    server.send(message("ok"))
    server.record()
    for number, (body, headers) in enumerate(NONSENSE, 3):
        server.send(message("ok", 2), queue="elsewhere")
        envelope = json.loads(server.client.lpop("elsewhere"))
        if body is not None:
            envelope["body"] = b64encode(body).decode()
        envelope["headers"].update(headers)
        server.client.lpush("cpu", json.dumps(envelope))
        server.send(message("ok", number))
        until(lambda: server.waiting("results") or slot.process.poll() is not None)
        assert slot.process.poll() is None, slot.log.read_text()
        until(lambda: server.record().ticket.job == number)  # noqa: B023 - called at once
        until(lambda: not server.client.hlen("unacked"), "it is not kept to come again")


def test_a_slot_whose_redis_is_gone_for_good_ends_when_asked(redis_of_our_own, server, slot, tmp_path):
    server.send(message(f"wait {tmp_path / 'go'}"))
    slot.busy(1)
    redis_of_our_own.kill()
    (tmp_path / "go").touch()
    slot.idle(1)
    slot.send(signal.SIGTERM)
    slot.send(signal.SIGINT)
    assert slot.ended() == 0
    assert slot.logged("could not send")
    with pytest.raises(BrokerUnavailable):
        server.waiting()


def test_a_slot_ends_with_its_parent(server, redis_of_our_own, tmp_path):
    starter = (
        "import os, subprocess, sys, time\n"
        "slot = subprocess.Popen([*sys.argv[1:], '--parent', str(os.getpid())])\n"
        "print(slot.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [
        sys.executable, "-m", "worker.slots.slot", "--name", "cpu-0", "--queue", "cpu", "--worker", WORKER, "--cache",
        str(tmp_path), *SCRIPTED,
    ]  # fmt: skip
    with (tmp_path / "log").open("ab") as log:
        parent = subprocess.Popen(
            [sys.executable, "-c", starter, *command], stdout=subprocess.PIPE, stderr=log, text=True,
            env={**os.environ, "REDIS_URL": redis_of_our_own.worker_url},
        )  # fmt: skip
    assert parent.stdout
    number = int(parent.stdout.readline())
    try:
        ticket = server.send(message(f"wait {tmp_path / 'never'}"))
        until(lambda: server.claim(ticket).stand is Stand.CLAIMED)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    try:
        result = server.record()
        assert result.given_back
        until(lambda: not alive(number))
    finally:
        if alive(number):
            os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize(
    ("url", "arguments", "said"),
    [
        ("", [], "REDIS_URL is not set"),
        ("amqp://user:word@host/", [], "REDIS_URL begins with amqp://"),
        ("redis://host/0", [], "REDIS_URL is not a worker's address"),
        (as_worker("redis://host/0"), ["--queue", "other"], "--queue other: unknown queue"),
        (as_worker("redis://host/0"), ["--queue", "gpu.h200"], "needs --arch"),
        (as_worker("redis://host/0"), ["--worker", "w" * 99], "together exceed"),
    ],
)
def test_a_wrong_call_ends_with_2_and_one_line(url, arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REDIS_URL", url)
    queue = [] if "--queue" in arguments else ["--queue", "cpu"]
    given = ["--name", "cpu-0", "--worker", "w", "--cache", str(tmp_path), *queue, *arguments]
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(given))
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert said in told.splitlines()[-1]
    assert "word" not in told
